"""The order of the Japanese glossary, 五十音順: by the reading of each entry, which locale/ja/terms.yml has where kana do not say it."""

from __future__ import annotations

import unicodedata
from functools import cache

import yaml

from book.editions import catalogues


@cache
def readings(language: str) -> dict[str, str]:
    """Of each entry how it is read, in languages that are not put in order by their letters."""
    path = catalogues.LOCALE / language / "terms.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")).get("readings", {}) if path.is_file() else {}


def place(reading: str) -> tuple[str, str]:
    """By what kana are put in order: voiced, small and long ones as their plain ones, and only among equals as they are."""
    letters = []
    for kana in unicodedata.normalize("NFD", reading):
        name = unicodedata.name(kana)
        if "PROLONGED" in name and letters:
            letters.append(f"HIRAGANA LETTER {letters[-1][-1]}")  # the vowel of the one before
        elif "GANA LETTER" in name or "KANA LETTER" in name:
            letters.append(name.replace("KATAKANA", "HIRAGANA").replace("SMALL ", ""))
    return "".join(map(unicodedata.lookup, letters)), reading
