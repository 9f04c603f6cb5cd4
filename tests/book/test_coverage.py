"""Every sentence of a document has the claims that cover it, or says why there are none."""

import pytest

from book.ledger import claims, coverage

LEDGER = claims.load()
TEXT = r"""# 題名

**概要：**これは $a. b$ の概要である。二文目は
ページの終わりで

図 1 絵の説明。

<sup>1</sup>脚注 e.g. を一つ。

切れる。それを示す?はい.

## 2.1 式

次が成り立つ。

$$x = 1.$$

が成り立つ。ここで $x$ は数であり、

$$y = 2$$

と書く。

**定義 2.2** (組). $y$ とする。

表 1 数

名	甲	乙
行	0.5 $\pm$ 0.1	-
末	2	3

- 一つ目。説明。
- 二つ目

**Algorithm 1** 手順

1: $x \leftarrow 1$

2: **return** $x$

### 参考文献

- [1] A. Author, et al. Title. 2001.
- [2] B. Author.
"""
SPLIT = """題名|概要：これはa.bの概要である。
題名|二文目はページの終わりで切れる。
題名|図1絵の説明。
題名|1脚注e.g.を一つ。
題名|それを示す?
題名|はい.
2.1|次が成り立つ。
2.1|x=1.が成り立つ。
2.1|ここでxは数であり、y=2と書く
2.1|定義2.2(組).yとする。
2.1|表1数
2.1|0.5pm0.1行
2.1|-行
2.1|2末
2.1|3末
2.1|一つ目。説明。
2.1|二つ目
Algorithm 1|Algorithm1手順
Algorithm 1|1:xleftarrow1
Algorithm 1|2:returnx
参考文献|[1]A.Author,etal
参考文献|[2]B.Author."""


def test_a_text_is_split_as_documented():
    assert [f"{each.section}|{each.words}" for each in coverage.split(TEXT)] == SPLIT.split("\n")


def lines(document: str) -> list[dict]:
    """Return the lines of a document's file, which each document with an available text needs."""
    if not (coverage.FOLDER / f"{document}.yml").is_file():
        if coverage.text(document) is not None:
            pytest.fail(f"fill in what python -m book.ledger.coverage {document} prints")
        pytest.skip(f"{document} has no file yet, and its text is not in {coverage.papers()}")
    return coverage.load(document)


@pytest.mark.parametrize("document", LEDGER.documents)
def test_every_claim_covers_a_sentence_and_every_sentence_names_claims_or_a_reason(document):
    named = {id for line in lines(document) for id in line.get("claims", [])}
    own = {id for id, claim in LEDGER.claims.items() if claim.document == document}
    assert named == own, f"not in the file: {sorted(own - named)}; not in the ledger: {sorted(named - own)}"


@pytest.mark.parametrize("document", LEDGER.documents)
def test_the_lines_are_the_sentences_of_the_document(document):
    listed, text = lines(document), coverage.text(document)
    if text is None:
        pytest.skip(f"the documents' texts are not ours to publish, and there are none in {coverage.papers()}")
    found = [(each.section, each.words) for each in coverage.split(text)]
    assert [(line["at"], line["words"]) for line in listed] == found


@pytest.mark.parametrize(
    "second",
    [
        "{n: 3, at: '1', words: b, claims: [doc.one]}",
        "{n: 2, at: '1', words: b, claims: []}",
        "{n: 2, at: '1', words: b, no claim: '-'}",
        "{n: 2, at: '1', words: b}",
        "{n: 2, at: '1', words: b, claims: [doc.one], no claim: both are said}",
        f"{{n: 2, at: '1', words: {'b' * 17}, claims: [doc.one]}}",
    ],
)
def test_a_malformed_line_is_refused(second, tmp_path):
    first = "- {n: 1, at: '1', words: a, no claim: a greeting}\n"
    (tmp_path / "doc.yml").write_text(f"{first}- {{n: 2, at: '1', words: b, claims: [doc.one]}}\n", encoding="utf-8")
    assert len(coverage.load("doc", tmp_path)) == 2
    (tmp_path / "doc.yml").write_text(f"{first}- {second}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="doc, line 2"):
        coverage.load("doc", tmp_path)


def test_filling_in_keeps_what_is_there(tmp_path, monkeypatch):
    (tmp_path / "doc-text.txt").write_text("# 章\n\n同じ。同じ。違う。\n\n[1] Author.\n", encoding="utf-8")
    monkeypatch.setenv("COMPENDIUM_PAPERS", str(tmp_path))
    kept = "- {n: 1, at: 章, words: 古い。, no claim: it is gone}\n- {n: 2, at: 章, words: 同じ。, claims: [doc.one]}\n"
    (tmp_path / "doc.yml").write_text(kept, encoding="utf-8")
    assert coverage.skeleton("doc", tmp_path).splitlines() == [
        "- {n: 1, at: 章, words: 同じ。, claims: [doc.one]}",
        "- {n: 2, at: 章, words: 同じ。, claims: []}",
        "- {n: 3, at: 章, words: 違う。, claims: []}",
        "- {n: 4, at: 章, words: '[1]Author.', no claim: a reference}",
    ]
    with pytest.raises(ValueError, match="must be one whose text is in"):
        coverage.skeleton("other", tmp_path)
