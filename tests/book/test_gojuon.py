"""The Japanese glossary is in the order of the 五十音, and each of its entries has a reading."""

import re

import pytest
from bs4 import BeautifulSoup

from book.editions import catalogues, gojuon

PAGE = catalogues.ROOT / "build/html/ja/glossary.html"
READINGS = gojuon.readings("ja")
KANA = re.compile("[ぁ-んァ-ヶー・]+")
OTHER = re.compile("[ぁ-んァ-ヶ一-龠]")


def entries() -> list[str]:
    """Return the first Japanese name of each entry in book/glossary.md, or its English one where it has no other."""
    text = (catalogues.ROOT / "book/glossary.md").read_text(encoding="utf-8").partition(":::{glossary}\n")[2]
    terms = [re.findall("^[^ \n].*", entry, re.MULTILINE) for entry in text.partition("\n:::")[0].split("\n\n")]
    return [next(filter(OTHER.search, names), names[0]).split("、")[0] for names in terms]


def test_each_entry_has_a_reading_in_kana():
    assert [name for name in entries() if not KANA.fullmatch(READINGS.get(name, name))] == []
    assert READINGS.keys() <= set(entries())


@pytest.mark.parametrize(
    "words",
    [
        ["あい", "いえ", "かさ", "がさ", "きく"],
        ["かんさ", "かんせつ", "かんど"],
        ["クリーク", "クリッピング"],  # as クリイク
        ["じごしょり", "ジャンクション", "じゅうてん", "しゅうへん"],
        ["ノイズ", "パラメータ", "ひんど", "プライバシー"],
    ],
)
def test_kana_are_put_in_order(words):
    assert sorted(set(words), key=gojuon.place) == words


@pytest.mark.skipif(not PAGE.is_file(), reason="the Japanese edition is not built (make book)")
def test_the_glossary_is_in_that_order():
    """The first name of each entry: it comes behind what explains the one before it."""
    page = BeautifulSoup(PAGE.read_text(encoding="utf-8"), "html.parser")
    names = [
        term.find(string=True).split("、")[0]
        for term in page.select("dl.glossary > dt")
        if (before := term.find_previous_sibling()) is None or before.name == "dd"
    ]
    assert sorted(names) == sorted(entries())
    assert names == sorted(names, key=lambda name: gojuon.place(READINGS.get(name, name)))
