"""The order of the Japanese glossary, 五十音順, which is by the reading of each entry. For entries that are not in kana,
locale/ja/terms.yml gives the reading."""

from __future__ import annotations

import unicodedata
from functools import cache

import yaml

from book.editions import catalogues


@cache
def readings(language: str) -> dict[str, str]:
    """Return the readings of entries, for a language in which entries are not sorted by their letters; {} for another
    language."""
    path = catalogues.LOCALE / language / "terms.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")).get("readings", {}) if path.is_file() else {}


def place(reading: str) -> tuple[str, str]:
    """Return the sort key of a reading. Katakana, voiced and small kana count as plain hiragana, and a long-vowel mark
    counts as its vowel; such differences matter only between readings that are otherwise equal."""
    letters = []
    for kana in unicodedata.normalize("NFD", reading):
        name = unicodedata.name(kana)
        if "PROLONGED" in name and letters:
            letters.append(f"HIRAGANA LETTER {letters[-1][-1]}")  # the vowel of the one before
        elif "GANA LETTER" in name or "KANA LETTER" in name:
            letters.append(name.replace("KATAKANA", "HIRAGANA").replace("SMALL ", ""))
    return "".join(map(unicodedata.lookup, letters)), reading
