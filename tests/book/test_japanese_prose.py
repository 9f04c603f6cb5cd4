"""No page of the Japanese edition has English prose.

The test leaves out what is rightly in English: code, formulas, what cells print as text, and the bibliography. In the rest it looks for
four English words in a row, with no Japanese between them, and for a paragraph, cell, title or label of English words only.
"""

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import sphinx_copybutton
from bs4 import BeautifulSoup, Comment

from book._ext import editions

BOOK = Path(__file__).resolve().parents[2] / "build/html/ja"
PAGES = sorted(path.relative_to(BOOK).as_posix() for path in BOOK.rglob("*.html"))

LEFT_OUT = (
    "script, style, pre, code, .math, [lang=en], div.citation,"
    " a[href*='references.html#'], dl.glossary dt, details.hide > summary"  # the first words of what it hides
)
BLOCKS = "p, h1, h2, h3, h4, h5, h6, li, td, th, dt, dd, figcaption, summary, caption, label, option, button, div, text, title"
SAID = ("alt", "title", "aria-label", "placeholder")
JAPANESE = re.compile("[ぁ-んァ-ヶー一-龠々、。（）「」『』：；]+")
WORD = re.compile(r"(?<![\w./=_^-])[A-Za-z][a-z]+(?![\w/=_^(-]|\.\w)")
# What is left of English, and rightly so.
IN_ENGLISH = {
    # lines of commands, and of JupyterLab's menu
    "classroom/instructors.html": [
        "git clone …",
        "make assignments STUDENTS=../names.txt SECRET=../secret.txt",
        "make grade SUBMISSIONS=../class VARIANTS=build/assignments/variants.csv",
        "Allow updating records that have been modified more recently in Moodle than in the spreadsheet",
    ],
    "classroom/students.html": ["Kernel → Restart Kernel and Run All Cells"],
    # names and titles
    "data.html": ["Bank Marketing"],
    "hasegawa2015/index.html": ["Efficient Reconstruction Algorithm for Multivariate Statistics"],
    "miura2022/index.html": ["On Rényi Differential Privacy in Synthetic Data Generation"],
    "miura2025/index.html": ["Evaluation of Synthetic Data by Adaptive and Iterative Mechanism"],
    "sei2017/index.html": ["Building Neural Network Models for Privacy-Preserving Deep Learning"],
    # what the documents and a commit say, word by word
    "errata.html": [
        "Prasser Fabian, Kohlmayer Florian, Lautenschlaeger Ronald, and A. Kuhn Klaus",
        "Proceedings of the VLDB Endowment",
        "fix: l2 loss stddev scaling",
        "◦ -anonymity consists of two methods",
    ],
    "scorecard.html": [
        "How Much Is Enough? Choosing ε for Differential Privacy",
        "Output: Estimated data distribution ◦ ; return ◦",
        "Random Response Random Response",
    ],
    # a formula in letters
    "machine-checked.html": ["Pr[M(x) in event] <= e^eps Pr[M(x') in event]"],
    # names in tables of results, of data sets and of attributes, commands, and questions to a released table
    "notebooks/yours/release.html": [
        "pip install sdv==2.0.0; python with_sdv.py wages.csv synthetic.csv",
        "pip install smartnoise-synth==1.0.8; python with_snsynth.py wages.csv synthetic.csv",
        "git clone https://github.com/ryan112358/mbi; git -C mbi checkout 361705d7f05f; sed -i s/potentials=potentials/warm_start=potentials/ mbi/mechanisms/aim.py; pip install mbi==2.0.0 pandas matplotlib; python with_mbi.py wages.csv synthetic.csv",
        "pip install dpmm==0.1.9; python with_dpmm.py wages.csv synthetic.csv",
        "git clone …; pip install .[data]; python with_compendium.py wages.csv synthetic.csv",
        "proportion(death = 1) where sex = M - proportion(death = 1) where sex = F",
        "correlation(kappa, lambda)",
        "mean(futime) where death = 1",
        "count where sample.yr <= 1996",
        "mean(wage) where ethnicity = cauc - mean(wage) where ethnicity = afam",
        "correlation(education, wage)",
        "mean(wage) where region = south",
        "count where education >= 16",
        "mean(arr_delay) where origin = EWR - mean(arr_delay) where origin = LGA",
        "mean(dep_delay) where carrier = AS",
        "count where carrier = AS",
    ],
    "notebooks/miura2025/04_beyond.html": ["credit_cards, fair, mortgages, titanic"],
    "notebooks/miura2025/05_details.html": [
        "contact – month",
        "education – occupation",
        "job – education",
        "job – marital",
        "job – month",
        "month – poutcome",
        "relationship – sex",
        "workclass – occupation",
    ],
}
BUILT = pytest.mark.skipif(not PAGES, reason="the Japanese edition is not built (make book)")


def texts(html: str):
    """Yield the texts of a page, block by block, and those of its attributes."""
    html = re.sub(r"(?s)<(script|style|pre|math)\b.*?</\1>", " ◦ ", html)  # which parsing takes its time for
    body = BeautifulSoup(html, "html.parser").body
    for element in body.select(LEFT_OUT):
        element.replace_with(" ◦ ")
    for comment in body.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for element in body.find_all(True):
        yield from (element[name] for name in SAID if name in element.attrs)
    for block in reversed(body.select(BLOCKS)):  # what is within another comes before it, and out of it
        yield " ".join(block.get_text().split())
        block.replace_with(" ◦ ")
    yield " ".join(body.get_text().split())


def english(html: str) -> list[str]:
    """Return what is English of a page."""
    found = []
    for text in texts(html):
        pieces = JAPANESE.split(text)
        enough = 4 if len(pieces) > 1 else 2
        found += [piece.strip() for piece in pieces if len(WORD.findall(piece)) >= enough]
    return found


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    return {page: english((BOOK / page).read_text(encoding="utf-8")) for page in PAGES}


@pytest.mark.slow
@BUILT
def test_no_japanese_page_has_english_prose(found):
    known = {page: IN_ENGLISH.get(page, []) + IN_ENGLISH["scorecard.html"] for page in PAGES}  # which has the claims
    assert [(page, text) for page in PAGES for text in found[page] if text not in known[page]] == []


@pytest.mark.slow
@BUILT
def test_each_exception_is_one(found):
    assert [(page, text) for page in IN_ENGLISH for text in IN_ENGLISH[page] if text not in found.get(page, [])] == []


@pytest.mark.slow
@BUILT
@pytest.mark.parametrize(
    "planted",
    [
        "<p>A paragraph that nobody has translated.</p>",
        "<p>訳のない、 which nobody has ever translated、文。</p>",
        "<h2>The title</h2>",
        "<table><tr><th>Other words</th></tr></table>",
        "<figure><img alt='The curve falls'><figcaption>図</figcaption></figure>",
        "<button>Show code</button>",
        "<table><tr><td title='age, sex: measured together'>1</td></tr></table>",
        "<svg aria-label='The values of age'></svg>",
        "<svg><text>of the records</text></svg>",
    ],
)
def test_planted_english_is_seen(found, planted):
    for page in PAGES[:: len(PAGES) // 4]:
        html = (BOOK / page).read_text(encoding="utf-8").replace("</article>", f"{planted}</article>", 1)
        assert len(english(html)) == len(found[page]) + 1


def test_what_is_rightly_in_english_is_not():
    said = '<pre>a line of some code</pre><p>次の<code>x of the y</code>は<span class="math">a b c d</span>、AIMとRényi DP。</p>'
    assert english(f"<body>{said}<div class='output'><pre>what a cell has shown</pre></div></body>") == []


@pytest.mark.parametrize("page", PAGES)
def test_bold_words_and_exercises_stand_as_in_japanese(page):
    text = (BOOK / page).read_text(encoding="utf-8")
    assert editions.close_up(text) == text and editions.entitle(text) == text
    assert "練習" not in text  # of the extension; the book says 演習


def test_spaces_of_markdown_go_where_japanese_stands_on_both_sides():
    close_up = editions.close_up
    assert close_up("値が <strong>変わる</strong> ことである") == "値が<strong>変わる</strong>ことである"
    assert close_up('表の <a href="x"><span class="std std-term">感度</span></a> が') == (
        '表の<a href="x"><span class="std std-term">感度</span></a>が'
    )
    assert close_up('と <a href="x"><span class="xref std std-term">感度</span></a> が') == (
        'と<a href="x"><span class="xref std std-term">感度</span></a>が'
    )
    assert (
        close_up('章と <a href="x"><span class="doc">章</span></a>')
        == '章と<a href="x"><span class="doc">章</span></a>'
    )
    assert close_up('<em>例。</em> <a href="x">表</a>') == '<em>例。</em><a href="x">表</a>'
    assert close_up("<span>定理 </span>（例） 掲載： 値 （注）") == "<span>定理</span>（例） 掲載：値（注）"
    verdicts = '<span class="verdict">相違</span> <span class="judged-read">目視確認</span> <a href="x">定理 3</a>'
    assert close_up(verdicts) == verdicts
    assert (
        close_up("掲載： 値<pre>値 （注）\n掲載： 値</pre>値 （注）")
        == "掲載：値<pre>値 （注）\n掲載： 値</pre>値（注）"
    )
    kept = "値は <strong>AIM</strong> が <code>x</code> から <span class='math'>k</span> までの"
    assert close_up(kept) == kept


def test_titles_of_exercises_are_in_the_order_of_the_language(monkeypatch):
    monkeypatch.setattr(editions, "say", lambda text, **values: text.replace("{title}", "{title}!").format(**values))
    exercise = '<p class="admonition-title"><span class="caption-number">演習 25 </span> (a (b))</p>'
    assert editions.entitle(exercise) == '<p class="admonition-title">Exercise 25: a (b)!</p>'
    solution = '<p class="admonition-title">解答<a href="#x"> 演習 25 (a (b))</a></p>'
    titled = '<p class="admonition-title"><a href="#x">Solution to exercise 25: a (b)!</a></p>'
    assert editions.entitle(solution) == titled


def test_buttons_that_copy_code_are_in_the_language(monkeypatch, tmp_path):
    (tmp_path / "_static").mkdir()
    script = tmp_path / "_static/copybutton.js"
    shutil.copy(Path(sphinx_copybutton.__file__).with_name("_static") / "copybutton.js_t", script)
    monkeypatch.setattr(editions.edition, "language", "ja")
    monkeypatch.setattr(editions, "say", lambda text: f"訳「{text}」")
    editions.retell_copies(SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html")), None)
    words = re.search(r"'en': \{(.*?)\}", script.read_text(encoding="utf-8"), re.S)[1]
    assert len(re.findall(r': "', words)) == words.count(":") == 4, words
