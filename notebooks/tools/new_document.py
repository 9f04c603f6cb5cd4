"""Scaffold a new document: `make document KEY=smith2026`, with TITLE="…" and AUTHORS="Smith and Jones" if known.

    python -m notebooks.tools.new_document smith2026 --title "On Counting" --authors "Smith and Jones"

The parts are an entry and a first claim in book/claims.yml, a citation in book/documents.bib, a row in the README, the
pages in the table of contents, and a chapter that runs and judges the claim. The texts come from notebooks/templates.
Parts that only a person can write are marked FILL IN, and a test fails until they are filled in. All parts are made, or none.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book.ledger import claims

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "notebooks/templates"
KEY = re.compile(r"([a-z]+)((?:19|20)\d\d)[a-z]?")
# A file, the block of lines behind which the new document goes, and the template of what goes there.
WHOLE = r"(?s)\A.*\Z"
INSERTIONS = [
    ("book/claims.yml", r"^documents:\n(?:  .*\n)*", "document.yml"),
    ("book/_toc.yml", r"^- caption: The documents\n(?:  .*\n)*", "contents.yml"),
    ("book/documents.bib", WHOLE, "entry.bib"),
    ("README.md", r"^\| Key \|.*\n(?:\|.*\n)*", "row.md"),
    ("README.ja.md", r"^\| キー \|.*\n(?:\|.*\n)*", "row.md"),
    ("book/claims.yml", WHOLE, "claim.yml"),
]
# Marks of Markdown, LaTeX and YAML, which a title would have to escape differently in each file.
UNFIT = r"\{}$`|<>*_[]^~@" + '"'


def values(key: str, title: str = "", authors: str = "") -> dict[str, str]:
    """Return the values for the templates. Raises ``ValueError`` if an argument is unusable."""
    match = KEY.fullmatch(key)
    if match is None:
        raise ValueError(f"KEY must be the author in lower-case letters and the year, such as smith2026, got {key!r}")
    title, authors = title or "FILL IN, the title", authors or match[1].capitalize()
    for name, text in (("TITLE", title), ("AUTHORS", authors)):
        if text != " ".join(text.split()) or not text.isprintable() or any(mark in text for mark in UNFIT):
            raise ValueError(f"{name} must be one line without any of {UNFIT}, got {text!r}")
    names = authors.replace(" and ", ", ").split(", ")
    return {
        "key": key,
        "title": title,
        "authors": authors,
        "year": match[2],
        "cited": claims.Document(key, title, authors, int(match[2]), "").cited,
        "title_bib": re.sub("[&%#]", r"\\\g<0>", title),
        "authors_bib": " and ".join(f"{{{name}}}" if " " in name else name for name in names),
    }


def filled(name: str, words: dict[str, str]) -> str:
    """Return the template called `name` with `words` in place of its @marks@."""
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)


def chapter(text: str):
    """Return a notebook from Markdown: each ```python block is a cell of code, and the word after `python` is its
    tag."""
    cells = []
    for number, piece in enumerate(re.split(r"(?ms)^(```python.*?^```\n)", text)):
        name, code = f"cell-{number}", re.fullmatch(r"(?s)```python ?([\w-]*)\n(.*)```\n", piece)
        if code:
            metadata = {"tags": [code[1]]} if code[1] else {}
            cells.append(new_code_cell(code[2].strip(), metadata=metadata, id=name))
        elif piece.strip():
            cells.append(new_markdown_cell(piece.strip(), id=name))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def executed(notebook, ledger: str) -> str:
    """Run `notebook` with `ledger` in place of claims.yml, and return its text as it is committed."""
    with tempfile.TemporaryDirectory() as folder:
        known, source, output = (Path(folder) / name for name in ("claims.yml", "01_first.ipynb", "executed.ipynb"))
        known.write_text(ledger, encoding="utf-8")
        nbformat.write(notebook, source)
        command = [
            sys.executable,
            ROOT / "notebooks/tools/run.py",
            source,
            "-o",
            output,
            "--failed",
            known.with_name("failed"),
        ]
        told = os.environ | {"COMPENDIUM_CLAIMS": str(known)}
        done = subprocess.run(command, env=told, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"the chapter in notebooks/templates does not run: {done.stderr.strip()}")
        made = nbformat.read(output, as_version=4)
    del made.metadata["compendium"]
    return nbformat.writes(made) + "\n"


def plan(key: str, title: str = "", authors: str = "") -> dict[Path, str]:
    """Return every file to write, with its text. Raises ``ValueError`` if the words are unfit, or the key is taken."""
    words = values(key, title, authors)
    notebook = ROOT / "notebooks" / key / "01_first.ipynb"
    pages = [ROOT / "book" / key / name for name in ("index.md", "summary.md")]
    old = {ROOT / name: (ROOT / name).read_text(encoding="utf-8") for name, *_ in INSERTIONS}
    cited = ROOT / "book/references.bib"  # where two entries of a name would stop the build
    texts = old | {cited: cited.read_text(encoding="utf-8")}
    taken = [path for path, text in texts.items() if re.search(rf"[ {{`]{key}[:,/`]", text)]
    for path in [*taken, *(folder for folder in (notebook.parent, pages[0].parent) if folder.exists())]:
        raise ValueError(f"KEY must be new, but {path.relative_to(ROOT)} already contains {key}")
    files = old | {path: filled(path.name, words) for path in pages}
    for name, block, template in INSERTIONS:
        place = re.search(block, files[ROOT / name], flags=re.MULTILINE)
        if place is None:
            raise ValueError(f"{name} must contain lines that match {block!r}, to insert the new document after them")
        before, behind = place.string[: place.end()], place.string[place.end() :]
        files[ROOT / name] = before + filled(template, words) + behind
    files[notebook] = executed(chapter(filled("chapter.md", words)), files[ROOT / "book/claims.yml"])
    return files


def put(files: dict[Path, str]) -> None:
    """Write all of `files`, or leave everything unchanged."""
    old = {path: path.read_text(encoding="utf-8") if path.exists() else None for path in files}
    try:
        for path, text in files.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except BaseException:
        for path, text in old.items():
            if text is not None:
                path.write_text(text, encoding="utf-8")
            elif path.parent.exists():  # a new file is in a folder of its own
                shutil.rmtree(path.parent)
        raise


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("key")
    parser.add_argument("--title", default="")
    parser.add_argument("--authors", default="")
    asked = parser.parse_args(arguments)
    try:
        files = plan(asked.key, asked.title, asked.authors)
        put(files)
    except (ValueError, OSError) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    for path, text in files.items():
        print(f"{path.relative_to(ROOT)}: {text.count('FILL IN')} to fill in")
    print("Next, run `make book` to see the pages, and replace each FILL IN; `make check` lists those that remain.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
