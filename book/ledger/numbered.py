"""The numbers of the documents' equations, theorems, definitions, algorithms and tables, found in the documents' texts.

    python -m book.ledger.numbered folder-of-texts    prints the lists that are in book/formulas.yml

A text is named after its document, `miura2022-….txt`. For a document without numbers, nothing is found; in
book/formulas.yml, its formulas are counted in order.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml

KINDS = {
    "Definition": "定義|Definition",
    "Theorem": "定理|Theorem",
    "Proposition": "命題|Proposition",
    "Lemma": "補題|Lemma",
    "Algorithm": "Algorithm|アルゴリズム",
    "Table": "表|Table",
}
NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*"
DISPLAYED = r"\\(?:quad|tag) ?[({]+(\d+)[)}]"


def numbers(text: str) -> dict[str, list[str]]:
    """Return the different numbers of each kind that `text` contains, sorted by `order`."""
    found = {kind: set(re.findall(rf"(?:{words}) ?({NUMBER})", text)) for kind, words in KINDS.items()}
    found["Equation"] = set(re.findall(DISPLAYED, text))
    return {kind: sorted(each, key=order) for kind, each in found.items() if each}


def order(number: str) -> list:
    """Return a sort key that puts 2.10 after 2.9, and appendices last."""
    return [(part.isalpha(), int(part) if part.isdigit() else part) for part in number.split(".")]


def main(folder: str) -> None:
    texts = {path.name.partition("-")[0]: path for path in sorted(Path(folder).glob("*-*.txt"))}
    found = {key: numbers(path.read_text(encoding="utf-8")) for key, path in texts.items()}
    print(yaml.safe_dump(found, sort_keys=False, default_flow_style=None, width=1000), end="")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("Say where the texts are: python -m book.ledger.numbered folder", file=sys.stderr)
        sys.exit(2)
    main(sys.argv[1])
