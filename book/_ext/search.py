"""Search in English and Japanese.

Sphinx lists a run of Japanese as one word, and finds what is a whole word, or else part of one if it has three letters.
In Japanese two letters are a word, and words stand together unspaced: here any part of a run is found, and a query is
parted at particles between words and where Latin letters begin or end.
"""

import re
import unicodedata

from sphinx.search import SearchEnglish

# Beside Sphinx's own search, which also counts no word of two letters when it asks whether all words were found.
IN_THE_BROWSER = r"""
const particles = /(?<=[\p{Script=Han}\p{Script=Katakana}ー\p{Script=Latin}\d])[のをはがにでと]+(?=[\p{Script=Han}\p{Script=Katakana}\p{Script=Latin}])/gu;
const borders = /(?<=[\p{Script=Latin}\d])(?=[\u3040-\u30ff\u3400-\u9fff])|(?<=[\u3040-\u30ff\u3400-\u9fff])(?=[\p{Script=Latin}\d])/gu;
var splitQuery = (query) =>
  query.normalize("NFKC").replace(particles, " ").replace(borders, " ").split(/[^\p{Letter}\p{Number}_]+/u).filter(Boolean);

const termsWith = (word) =>
  /[\u3005\u3040-\u30ff\u3400-\u9fff]/.test(word)
    ? Object.keys({...Search._index.terms, ...Search._index.titleterms}).filter((term) => term.includes(word))
    : [word];
const pagesWithAnyTerm = Search.performTermsSearch;
Search.performTermsSearch = (words, excluded) => {
  const found = [...words].map((word) =>
    termsWith(word).flatMap((term) => pagesWithAnyTerm(new Set([term]), excluded)));
  return (found[0] ?? []).filter(([page]) => found.every((results) => results.some(([other]) => other === page)));
};
"""


_JAPANESE = r"[\u3040-\u30ff\u3400-\u9fff]"
_BORDER = re.compile(rf"(?<=[^\W_])(?<!{_JAPANESE})(?={_JAPANESE})|(?<={_JAPANESE})(?=[^\W_])(?!{_JAPANESE})")


class SearchEnglishAndJapanese(SearchEnglish):
    js_splitter_code = IN_THE_BROWSER

    def split(self, text: str) -> list[str]:
        """Full-width letters and half-width kana as the usual ones, Latin letters apart, in the index as in the query."""
        return super().split(_BORDER.sub(" ", unicodedata.normalize("NFKC", text)))


def setup(app):
    app.add_search_language(SearchEnglishAndJapanese)  # in the place of "en"
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
