"""Build the book, an edition for each language, from the same executed notebooks.

python -m book.site.build html build/scratch en ja     the HTML, English in that folder's html/, Japanese in html/ja/
python -m book.site.build catalogues build/scratch     brings the catalogues in locale/ up to date with the pages
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import sys
from pathlib import Path
from typing import NoReturn

from jupyter_book.sphinx import build_sphinx

from book.editions import catalogues, edition, sentences
from book.kept import results
from book.ledger import claims, retold, verdicts

ROOT = Path(__file__).resolve().parents[2]


def pages(builder: str, folder: Path, language: str, editions: list[str]) -> int:
    """Read every page, write the output of `builder` into `folder`/language/`builder`, and return Sphinx's status."""
    gc.set_threshold(100_000, 50, 100)  # pages are cycles of objects: searching them less often saves a quarter
    own = folder / language
    edition.begin(language, editions, folder / edition.SOURCE / "doctrees" / "environment.pickle")
    overrides = {"external_toc_path": str(ROOT / "book/_toc.yml"), "latex_individualpages": False, "nitpicky": True}
    if language != edition.SOURCE:
        overrides |= {"language": language, "html_search_language": "en"}  # the project's own search, for any language
        overrides |= {
            "html_title": edition.say("The Differential Privacy Reproduction Compendium"),
            "copyright": edition.say("2026, prose CC BY 4.0, code MIT"),
        }
    return build_sphinx(
        str(ROOT / "book"),
        str(own / builder),
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides=overrides,
        doctreedir=str(own / "doctrees"),
        builder=builder,
        freshenv=True,
        warningiserror=True,
        keep_going=True,
    )


def html(folder: Path, languages: list[str]) -> int:
    """Build the editions, the first in `folder`/html and the others in its subfolders, named by their languages; return
    the status.

    The others are built at the same time; they read each page after the first edition has read it.
    """
    first, *others = languages
    fork = multiprocessing.get_context("fork")
    before = edition.read, edition.begun
    edition.read, edition.begun = fork.Event(), fork.Value("i", 0)
    try:
        beside = [fork.Process(target=_aside, args=(folder, each, languages), daemon=True) for each in others]
        for process in beside:
            process.start()
        status = pages("html", folder, first, languages)
        results.write(catalogues.FOUND, json.dumps(edition.found, ensure_ascii=False, indent=1) + "\n")
        if not edition.read.is_set():  # otherwise the others would wait forever; they end with this process
            return 1
    finally:
        edition.read, edition.begun = before
    for language, process in zip(others, beside, strict=True):
        process.join()
        print((folder / language / "log").read_text(encoding="utf-8"))
        status = status or process.exitcode
    if status:
        return 1
    (folder / first / "html").rename(folder / "html")
    for language in others:
        (folder / language / "html").rename(folder / "html" / language)
    return 0


def _aside(folder: Path, language: str, languages: list[str]) -> NoReturn:
    """Build an edition in a separate process, whose output is kept in a file."""
    (folder / language).mkdir()
    with (folder / language / "log").open("w", encoding="utf-8") as words:
        sys.stdout = sys.stderr = words
        sys.exit(pages("html", folder, language, languages))


def beside_pages() -> dict[str, dict[str, str]]:
    """Return, by catalogue, the messages that belong to no single page: the code's sentences, and the claims with their
    notes."""
    told = retold.messages(claims.load(), verdicts.standings(verdicts.GATHERED, verdicts.FULL))
    return {"words": sentences.everywhere(*retold.JUDGED)} | told


def main(arguments: list[str]) -> int:
    match arguments:
        case ["html", folder, *languages] if languages:
            return html(Path(folder).resolve(), languages)
        case ["catalogues", folder]:
            for name, found in beside_pages().items():
                for language in edition.OTHERS:
                    catalogues.update(name, found, language)
            return int(bool(pages("catalogues", Path(folder).resolve(), edition.SOURCE, [edition.SOURCE])))
    print("Say what to build: python -m book.site.build html FOLDER en ja, or catalogues FOLDER", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
