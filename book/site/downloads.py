"""The built book's downloads: the site in one file, and the PDF once it has been printed.

    python -m book.site.downloads zip build/html                          compendium-site.zip in that folder
    python -m book.site.downloads pdf build/html build/compendium.pdf     the PDF beside the pages, or beside those in build/html/ja

The page take-away.html then has a link in place of the instructions to make the file.
"""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from pathlib import Path

import yaml

from book.editions import edition
from book.editions.edition import say

ROOT = Path(__file__).resolve().parents[2]
SITE, PDF = "compendium-site.zip", "compendium.pdf"
PAGE = "take-away.html"


def pack(site: Path) -> None:
    """Write all files of the built site into one archive, without the downloads and the source maps."""
    kept = [path for path in sorted(site.rglob("*")) if path.is_file() and path.suffix != ".map"]
    unfinished = site / f"{SITE}.unfinished"
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
        for path in kept:
            if path.name not in (SITE, PDF, unfinished.name):
                packed.write(path, Path("compendium", path.relative_to(site)))
    unfinished.replace(site / SITE)
    for page in (site / PAGE, *site.glob(f"*/{PAGE}")):  # of each edition
        offer(page, site / SITE)


def print_beside(site: Path, pdf: Path) -> None:
    shutil.copyfile(pdf, site / PDF)
    offer(site / PAGE, site / PDF)


def offer(page: Path, file: Path) -> None:
    """Put a link to the file, with its size, on the `page` of downloads."""
    address = "../" * (page.parent != file.parent) + file.name
    link = f'<a href="{address}" download>{file.name}</a>, {file.stat().st_size / 1e6:.0f} MB'
    place = rf'(<span class="offer" data-file="{re.escape(file.name)}">).*?(</span>)(?=</p></td>|</td>)'
    text, count = re.subn(place, rf"\g<1>{link}\g<2>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE} must have one place for {file.name}, got {count}")
    page.write_text(text, encoding="utf-8")


def title_page() -> dict:
    """Return, in the edition's language, the texts of the printed book's title page and others that are on no page."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    year, month, day = map(int, cited["date-released"].split("-"))
    date = say("{year}-{month}-{day}", year=year, month=f"{month:02}", day=f"{day:02}")
    return {
        "name": say("The Differential Privacy Reproduction Compendium"),
        "lines": [
            cited["abstract"].strip()
            if edition.language == edition.SOURCE
            else say("Five Japanese papers on differential privacy, reproduced"),
            ", ".join(author["name"] for author in cited["authors"]),
            say("Version {version}, {date}", version=cited["version"], date=date),
            say("Prose CC BY 4.0, code MIT"),
        ],
        "contents": say("Contents"),
        "sliders": say("In the browser, the book has sliders here."),
    }


def main(arguments: list[str]) -> int:
    match arguments:
        case ["zip", site] if Path(site, PAGE).is_file():
            pack(Path(site))
        case ["pdf", site, pdf] if Path(site, PAGE).is_file() and Path(pdf).is_file():
            print_beside(Path(site), Path(pdf))
        case _:
            print(
                "Give a built site: python -m book.site.downloads zip SITE, or pdf SITE FILE",
                file=sys.stderr,
            )
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
