"""What the built book offers to take away: the site in one file, and the PDF once it has been printed.

    python -m book.site zip build/html                          compendium-site.zip in that folder
    python -m book.site pdf build/html build/compendium.pdf     the PDF beside the pages

The page take-away.html then has a link where it said how to make the file.
"""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from pathlib import Path

SITE, PDF = "compendium-site.zip", "compendium.pdf"
PAGE = "take-away.html"


def pack(site: Path) -> None:
    """All files of the built site in one, but for those that are offered here and what only browsers' developers read."""
    kept = [path for path in sorted(site.rglob("*")) if path.is_file() and path.suffix != ".map"]
    unfinished = site / f"{SITE}.unfinished"
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in kept:
            if path.name not in (SITE, PDF, unfinished.name):
                packed.write(path, Path("compendium", path.relative_to(site)))
    unfinished.replace(site / SITE)
    offer(site, SITE)


def print_beside(site: Path, pdf: Path) -> None:
    shutil.copyfile(pdf, site / PDF)
    offer(site, PDF)


def offer(site: Path, name: str) -> None:
    """A link to the file `name` on the page of what can be taken away, with its size."""
    link = f'<a href="{name}" download>{name}</a>, {(site / name).stat().st_size / 1e6:.0f} MB'
    page = site / PAGE
    place = rf'(<span class="offer" data-file="{re.escape(name)}">).*?(</span>)(?=</p></td>|</td>)'
    text, count = re.subn(place, rf"\g<1>{link}\g<2>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE} must have one place for {name}, got {count}")
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["zip", site] if Path(site, PAGE).is_file():
            pack(Path(site))
        case ["pdf", site, pdf] if Path(site, PAGE).is_file() and Path(pdf).is_file():
            print_beside(Path(site), Path(pdf))
        case _:
            print("Say what to offer: python -m book.site zip SITE, or pdf SITE FILE, of a built site", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
