"""Search in English and Japanese.

Sphinx lists a run of Japanese as one word, and finds what is a whole word, or else part of one if it has three letters.
In Japanese two letters are a word, and words stand together unspaced: here any part of a run is found, and a query is
parted at particles between words and where Latin letters begin or end.
"""

import re
import unicodedata

from sphinx.search import SearchEnglish

JAPANESE, KANA = r"\u3005\u3040-\u30ff\u3400-\u9fff", r"\u3040-\u309f"


def border(letter: str) -> str:
    """Where Japanese meets other letters, as a regular expression, in which `letter` is any letter or digit."""
    return f"(?<={letter})(?<![{JAPANESE}])(?=[{JAPANESE}])|(?<=[{JAPANESE}])(?={letter})(?![{JAPANESE}])"


# Beside Sphinx's own search, which also counts no word of two letters when it asks whether all words were found.
IN_THE_BROWSER = r"""
const particles = /(?<=LETTER)(?<![KANA])[のをはがにでと]+(?=LETTER)(?![KANA])/gu;
const borders = /BORDER/gu;
var splitQuery = (query) =>
  query.normalize("NFKC").replace(particles, " ").replace(borders, " ").split(/[^\p{Letter}\p{Number}_]+/u).filter(Boolean);

const termsWith = (word) =>
  /[JAPANESE]/.test(word)
    ? Object.keys({...Search._index.terms, ...Search._index.titleterms}).filter((term) => term.includes(word))
    : [word];
const pagesWithAnyTerm = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = [...words].map((word) =>
    termsWith(word).flatMap((term) => pagesWithAnyTerm(new Set([term]), excluded)));
  return (found[0] ?? []).filter(([page]) => found.every((results) => results.some(([other]) => other === page)));
};
"""


_IN_JAVASCRIPT = {"LETTER": r"[\p{L}\p{N}]", "KANA": KANA, "BORDER": border(r"[\p{L}\p{N}]"), "JAPANESE": JAPANESE}
_BORDER = re.compile(border(r"[^\W_]"))


class SearchEnglishAndJapanese(SearchEnglish):
    js_splitter_code = re.sub("|".join(_IN_JAVASCRIPT), lambda name: _IN_JAVASCRIPT[name[0]], IN_THE_BROWSER)

    def split(self, text: str) -> list[str]:
        """Full-width letters and half-width kana as the usual ones, Latin letters apart, in the index as in the query."""
        return super().split(_BORDER.sub(" ", unicodedata.normalize("NFKC", text)))


def setup(app):
    app.add_search_language(SearchEnglishAndJapanese)  # in the place of "en"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
