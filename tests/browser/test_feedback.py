"""Pages of grading, and replies on pages of the book, in a browser: what others wrote runs nothing, loads nothing, and
stays in its place."""

from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest
import yaml

from book._ext import formulas
from book.ledger import cards, claims
from notebooks.assignments import assignment, confinement, feedback, grade
from tests.browser import needs
from tests.browser.chromium import served

pytestmark = needs.A_BROWSER

NAME = "gaussian_records"
COVER = "position:fixed;top:0;left:0;width:100vw;height:100vh;background-image:url(AWAY/style.png)"
ATTACKS = [
    "<script>document.title = 'hacked'; fetch('AWAY/script')</script>",
    "<img src=x onerror=\"document.title = 'hacked'\"><img src=AWAY/image.png>",
    f'<a href="javascript:document.title=1" style="{COVER}">hacked</a>',
    f"<div style='{COVER}'>hacked</div><style>body {{ background: url(AWAY/body.png) }}</style>",
    "<svg onload=\"document.title = 'hacked'\"><image href='AWAY/svg.png'/></svg>",
    "<math><mtext><a href='javascript:document.title=1'>x</a></mtext></math>",
    "<iframe srcdoc='<script>parent.document.title = 1</script>'></iframe><base href='AWAY/'><meta http-equiv=refresh content='0;url=AWAY/refresh'>",
    "<form action='AWAY/form'><button>send</button></form><link rel=stylesheet href='AWAY/link.css'>",
    "![](AWAY/markdown.png) [x](javascript:document.title=1) <http://a.b> [x](AWAY/link)",
    "<noscript><p title='</noscript><img src=x onerror=document.title=1>'></noscript>",
    rf'$\mmlToken{{mtext}}[href="javascript:document.title=1" style="{COVER}"]{{hacked}}$',
    rf"$\bbox[{COVER}]{{x}}$ $\href{{javascript:document.title=1}}{{x}}$ $\style{{{COVER}}}{{x}}$ $\require{{html}}\class{{a}}{{x}}$",
    r"$\text{<img src=x onerror=document.title=1>}$ $\eqref{a}$ $\begin{equation}x\label{a}\end{equation}$",
    r"$\hspace{-5em}$" * 30 + r"$\text{full marks}\raisebox{9em}{hacked}\kern-99em\rule{99em}{99em}$",
    r"$\def\x{" + "x" * 900 + "}" + r"\x" * 90 + "$",
    "</div></div></body></html><h1>hacked</h1>",
    "-->]]><!--",
]


def record(text: str, student: str) -> dict:
    """Return the record of a submission with `text` wherever a student's text appears."""
    forms = {"text/html": text, "text/markdown": text, "text/latex": text, "text/plain": text}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "error", "ename": "", "evalue": "", "traceback": [text]},
        *({"output_type": "display_data", "data": {form: forms[form]}, "metadata": {}} for form in forms),
        {"output_type": "display_data", "data": {"image/png": f'x" onerror="{text}'}, "metadata": {}},
    ]
    question = {"out_of": 3.0, "part": text, "text": text}
    found = {
        "student": f"{student} {text}", "assignment": NAME, "file": text, "called": text, "language": "en", "walls": confinement.way(),
        "problems": [text], "noted": [text], "variant": "default",
        "questions": [
            question | {"id": "gaussian-test-more", "by_hand": False, "points": 0.0, "note": text},
            question | {"id": "gaussian-explain-size", "by_hand": True, "points": None, "note": ""},
        ],
        "plan": [
            {"id": "x", "kind": "solution", "type": "code", "shown": text * 20, "points": 0.0, "outcome": {"outputs": outputs, "error": text}},
            {"id": "y", "kind": "own", "type": "markdown", "shown": text, "points": 0.0, "outcome": None},
        ],
    }  # fmt: skip
    return found | {"shown": feedback.parts(found)}


LOOK = """
const head = document.querySelector('h1').getBoundingClientRect(), own = 'a[href]:not([href^="feedback/"])';
return {
  title: document.title,
  active: [...document.querySelectorAll(`script, ${own}, iframe, form, embed, svg, base, link, img:not([src^="data:"])`)].map(e => e.outerHTML),
  head: document.elementFromPoint(head.left + 5, head.top + head.height / 2).tagName,
  open: [...document.querySelectorAll('.text, .answer, .out, .claim-reply')].filter(e => getComputedStyle(e).contain !== 'paint').length,
};
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Provide the address and the folder of the pages of a class in which each student tries one attack."""
    folder = tmp_path_factory.mktemp("pages")
    with served(folder) as address:
        found = [record(text.replace("AWAY", f"{address}/away"), str(number)) for number, text in enumerate(ATTACKS)]
        grade.write(found, {NAME: assignment.key(NAME)}, folder)
        yield address, folder


def look(browser, address: str) -> None:
    browser.open(address)
    seen = browser.script(LOOK)
    assert not [url for url in browser.requests if "/away" in url]
    assert (seen["active"], seen["head"], seen["open"]) == ([], "H1", 0) and "hacked" not in seen["title"][:20]


def test_the_instructors_pages_run_and_load_nothing_that_students_wrote(browser, pages):
    address, folder = pages
    for page in ("by-hand.html", "class.html"):
        look(browser, f"{address}/{page}")
        assert "hacked" in (folder / page).read_text(), "the attacks are there, as texts"


def test_pages_fit_the_width_of_a_phone(browser, pages):
    address, folder = pages
    [path] = (folder / "feedback").glob("0 */*.html")
    for page in ("by-hand.html", "class.html", quote(str(path.relative_to(folder)))):
        browser.open(f"{address}/{page}", width=390)
        assert browser.script("return document.documentElement.scrollWidth") <= 390, page


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(ATTACKS)))
def test_a_page_of_feedback_runs_and_loads_nothing_that_a_student_wrote(browser, pages, number):
    address, folder = pages
    [path] = (folder / "feedback").glob(f"{number} */*.html")
    look(browser, f"{address}/{quote(str(path.relative_to(folder)))}")


def test_a_reply_on_a_page_of_the_book_runs_and_loads_nothing(browser, pages, monkeypatch):
    address, folder = pages
    monkeypatch.setattr(formulas.logging, "getLogger", lambda name: SimpleNamespace(warning=lambda told: None))
    told = [text.replace("AWAY", f"{address}/away") for text in ATTACKS]
    replies = [dict(claim="a.b", by=text, date=text, text=f"hacked {text}", answer=text) for text in told]
    (folder / "replies.yml").write_text(yaml.safe_dump(replies))
    made = "".join(map(cards._reply, cards.replies(folder / "replies.yml")["a.b"]))
    css = (Path(claims.__file__).parents[1] / "_static/compendium.css").read_text()
    (folder / "replies.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>x</title><style>{css}</style><h1>Replies</h1><div class="claim">{formulas.typeset(made)}</div>'
    )
    look(browser, f"{address}/replies.html")
    assert browser.script("return document.body.textContent").count("hacked") > len(ATTACKS)


def test_the_page_itself_forbids_what_the_cleaner_might_let_through(browser, pages):
    address, folder = pages
    raw = "\n".join(text.replace("AWAY", f"{address}/away") for text in ATTACKS if "refresh" not in text)
    (folder / "raw.html").write_text(feedback.PAGE.format(title="raw", body=raw, language="en"))
    browser.open(f"{address}/raw.html")
    assert browser.script("return document.title") == "raw"
    asked = [url for url in browser.requests if "/away" in url]
    assert asked and not [each for each in browser.failures if "404" in each], (
        "the server was not asked for any of them"
    )
