"""Every page of the built book in headless Chromium, with the network cut off.

The checks are tried on small broken pages first: a check that cannot fail proves nothing.
"""

import re
from functools import partial

import pytest

from tests.browser import needs, page
from tests.browser.chromium import BOOK, served

PAGES = sorted(str(path.relative_to(BOOK)) for path in BOOK.rglob("*.html") if "_static" not in path.parts)
LISTINGS = [name for name in PAGES if name.startswith("_modules/")]  # of source
VIEWS = [(1440, False), (390, True)]  # both widths and both modes; layout hangs on the one, contrast on the other

pytestmark = needs.THE_BOOK


# An element, with its classes; or without them, but with the class of what a script fills.
ELEMENT = r'<(\w+)(?: [^>]*?class="([^"]*)")?'
TAG = r'<(\w+)(?: [^>]*?class="([^"]*)"[^>]*>[^<]*</div>)?'


def firsts(names: list[str], pattern: str) -> set[str]:
    """Return the pages that have, as the first of `names`, something of a kind in their articles."""
    known: set = set()
    found = set()
    for name in names:
        kinds = set(re.findall(pattern, (BOOK / name).read_text(encoding="utf-8").partition("<article")[2]))
        found |= {name} if kinds - known else set()
        known |= kinds
    return found


ARTICLES = [name for name in PAGES if name not in LISTINGS]
BY_AXE = firsts(sorted(ARTICLES, key=lambda name: (BOOK / name).stat().st_size), TAG)
# Listings that differ from the others by more than their text, and the one with the longest title.
LISTED = firsts([*ARTICLES, *LISTINGS], ELEMENT).intersection(LISTINGS) | {max(LISTINGS, key=len, default="")}


def views(name: str) -> list:
    """Return how `make test` looks at a page: as at no other of its kind, in both views; the editions of one, in one view each."""
    if name in LISTINGS:
        return VIEWS if name in LISTED else []
    english = name.removeprefix("ja/")
    if f"ja/{english}" not in PAGES or english not in PAGES:
        return VIEWS
    return [VIEWS[(ARTICLES.index(english) + (name != english)) % 2]]


def wrong_with(browser, address: str, looks: list, axe: bool) -> dict:
    """Return what is wrong with a page, by view; it is opened in the first of them, and then turned."""
    wrong = {}
    for number, (width, dark) in enumerate(looks):
        if number == 0:
            browser.open(address, width=width, dark=dark)
        else:
            browser.turn(width=width, dark=dark)
        assert browser.script("return document.documentElement.dataset.theme") == ("dark" if dark else "light")
        sentences = page.problems(browser) + (page.accessibility(browser) if axe and number == 0 else [])
        wrong |= {f"{width} pixels, {'dark' if dark else 'light'}": sentences} if sentences else {}
    return wrong


@pytest.mark.parametrize("name", [name for name in PAGES if views(name)])
def test_page(browser, book, name):
    assert wrong_with(browser, f"{book}/{name}", views(name), axe=name in BY_AXE) == {}


FOLDED = """
const entries = [...document.querySelectorAll('.bd-links a')], shown = name => entries.find(e => e.href.endsWith(name)).checkVisibility();
return [shown('/classroom/project.html'), shown('/changes.html')];
"""


@pytest.mark.parametrize(("name", "open"), [("index.html", False), ("ja/errata.html", False), ("cite.html", True)])
def test_the_sidebar_folds_the_reference_except_on_its_own_pages(browser, book, name, open):
    browser.open(f"{book}/{name}")
    assert browser.script(FOLDED) == [True, open]
    browser.driver.find_element("css selector", ".bd-links details.part > summary").click()
    assert browser.script(FOLDED) == [True, not open]


@pytest.mark.full
@pytest.mark.parametrize("name", PAGES)
def test_page_in_its_other_views(browser, book, name):
    """The test also looks at what axe finds on each view."""
    rest = [view for view in VIEWS if view not in views(name)]
    assert wrong_with(browser, f"{book}/{name}", rest or VIEWS[:1], axe=True) == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "glossary.html", "cite.html"])
def test_menus_headers_and_links(browser, book, name, dark):
    """Their colours are the same on every page."""
    browser.open(f"{book}/{name}", dark=dark)
    assert page.accessibility(browser, colours=True) == []


SIGNS = """
const seen = new Set();
for (const e of document.querySelectorAll('math :is(mi, mn, mo)')) {
  const sign = e.localName + e.textContent;
  if (e.textContent.trim() && !seen.has(sign) && e.checkVisibility()) { seen.add(sign); e.dataset.sign = ''; }
}
return seen.size;
"""


def test_formulas_of_the_source_are_on_the_page_in_the_pages_font(browser, book):
    """`mathematics` finds nothing on a page without formulas: a page with many must show as many."""
    counts = {name: (BOOK / name).read_text(encoding="utf-8").count('class="math ') for name in PAGES}
    name = max(counts, key=counts.get)
    assert counts[name] > 0
    browser.open(f"{book}/{name}")
    assert browser.script("return document.querySelectorAll('.math math').length") >= counts[name]
    kinds = browser.script(SIGNS)
    root = browser.command("DOM.getDocument")["root"]["nodeId"]
    found = browser.command("DOM.querySelectorAll", nodeId=root, selector="[data-sign]")["nodeIds"]
    browser.command("CSS.enable")
    assert len(found) == kinds > 50
    for sign in found:  # a sign that the page's own font lacks looks otherwise or, on a phone, is not there
        fonts = browser.command("CSS.getPlatformFontsForNode", nodeId=sign)["fonts"]
        assert all(font["isCustomFont"] for font in fonts), (fonts, browser.command("DOM.getOuterHTML", nodeId=sign))


PRINTED = """
const shown = query => [...document.querySelectorAll(query)].filter(e => e.checkVisibility());
return [shown('article pre').filter(e => e.scrollWidth > e.clientWidth + 1).length, shown('.cell details.hide').length,
  shown('article figure').filter(e => getComputedStyle(e).breakInside !== 'avoid').length];
"""


def test_a_printed_chapter_cuts_no_code_shows_no_bars_and_keeps_figures_whole(browser, book):
    browser.open(f"{book}/notebooks/kiri2019/04_floating_point.html", width=760)
    assert min(browser.script(PRINTED)) > 0  # on a screen it is otherwise
    browser.command("Emulation.setEmulatedMedia", media="print")
    try:
        assert browser.script(PRINTED) == [0, 0, 0]
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")


# ---- the checks themselves

GOOD = (
    '<p>Text <span class="math"><math><mi>ε</mi><mo>=</mo><mn>1</mn></math></span></p><img src="dot.svg" alt="A dot">'
)
BROKEN = {
    "formula with an error": (
        page.mathematics,
        '<span class="math"><math><merror>x</merror></math></span>',
        "TeX error",
    ),
    "formula left as TeX": (page.mathematics, '<span class="math">\\(x^1^2\\)</span>', "not typeset"),
    "dollars in the text": (page.mathematics, "<p>costs $\\varepsilon$ each</p>", "raw TeX"),
    "wide block": (page.overflow, '<div id="w" style="width: 2000px">wide</div>', "sticks out: div#w"),
    "content cut off": (
        page.overflow,
        '<div style="width: 2rem; overflow: hidden; white-space: nowrap">a long line</div>',
        "cut off",
    ),
    "wide table": (
        page.columns,
        '<div style="width: 9rem; overflow-x: auto"><table><tr><td><div style="width: 20rem">wide</div></td></tr></table></div>',
        "pixels of a table are out of sight, and nothing says so: wide",
    ),
    "wide table in what is folded": (
        page.columns,
        '<details><summary>2 claims</summary><table><tr><td><div style="width: 40rem">wide</div></td></tr></table></details>',
        "out of sight, and nothing says so: wide",
    ),
    "long text in a narrow column": (
        page.columns,
        f'<table><tr><td><div style="width: 4rem">{"long text " * 7}</div></td></tr></table>',
        "a long text is 6",
    ),
    "long text behind the edge": (
        page.columns,
        f'<div style="width: 9rem; overflow-x: auto"><table><tr><td><div style="width: 20rem">{"long text " * 7}</div></td></tr></table></div>',
        "pixels of a text are out of sight: long text",
    ),
    "verdict that must be scrolled to": (
        page.columns,
        '<div style="width: 9rem; overflow-x: auto"><div style="width: 20rem; text-align: right"><b class="verdict">differs</b></div></div>',
        "out of sight: b.verdict differs",
    ),
    "picture without alt": (page.pictures, '<img src="dot.svg">', "no alternative text"),
    "file name for alt": (page.pictures, '<img src="dot.svg" alt="_images/dot.svg">', "a file name"),
    "missing picture": (page.pictures, '<img src="none.png" alt="A plot">', "broken picture"),
    "plot on a dark ground": (
        page.pictures,
        '<div style="background: #222"><img src="dot.svg" alt="A dot"></div>',
        "dark ground",
    ),
    "output that is nothing": (
        page.objects,
        '<div class="cell_output"><pre>&lt;IPython.core.display.Markdown object&gt;</pre></div>',
        "instead of what it shows: <IPython.core.display.Markdown object>",
    ),
    "claims as plain text": (
        page.objects,
        '<div class="cell_output"><pre>1 claim: 1 differs\nkiri2019.a.b  printed 1  here 2  differs</pre></div>',
        "instead of what it shows: kiri2019.a.b",
    ),
    "grey on white": (
        page.contrast,
        '<table><tr><td style="color: #999">17</td></tr></table>',
        "contrast 2.85 of '17'",
    ),
    "faint by opacity": (page.contrast, '<p style="opacity: .4">faint</p>', "'faint'"),
    "faint formula": (page.contrast, '<p style="color: #bbb"><math><mi>x</mi></math></p>', "'a formula'"),
    "console error": (page.console, "<script>console.error('it broke')</script>", "it broke"),
    "script that throws": (page.console, "<script>const a = 1; const a = 2;</script>", "already been declared"),
    "request to another host": (
        page.network,
        '<script src="http://cdn.example/x.js"></script>',
        "remote request: http://cdn.example",
    ),
    "too much to load": (page.weight, '<script src="heavy.js"></script>', "the page weighs 2."),
    "too much to lay out": (page.elements, "<b></b>" * page.MOST_ELEMENTS, "the page has 12"),
    "link without a name": (page.names, '<a href="dot.svg"><img src="dot.svg" alt=""></a>', "without a name: a"),
    "field without a label": (page.names, '<input type="text" id="x">', "without a name: input#x"),
    "button without a name": (page.accessibility, "<button></button>", "critical, button-name"),
    "faint menu": (
        partial(page.accessibility, colours=True),
        '</article><nav style="color: #aaa">Faint</nav><article>',
        "serious, color-contrast",
    ),
    "request that fails": (page.network, '<link rel="stylesheet" href="none.css">', "failed request: 404"),
}


@pytest.fixture(scope="module")
def small_page(tmp_path_factory):
    """Provide a function that writes a page with a given body, and returns its address."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "heavy.js").write_text("/" * page.MOST_BYTES)
    (folder / "dot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
    )
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title><link rel="icon" href="dot.svg"></head>'
    with served(folder) as address:

        def write(body: str) -> str:
            (folder / "page.html").write_text(f"{head}<body><article>{body}</article></body></html>")
            return f"{address}/page.html"

        yield write


def test_a_good_page_has_no_problems(browser, small_page):
    browser.open(small_page(f"<main><h1>A page</h1>{GOOD}</main>"), width=390)
    assert page.problems(browser) + page.accessibility(browser) == []


FADES = '<div style="width: 9rem; overflow-x: auto; mask-image: linear-gradient(red, transparent)" data-more="right">{}</div>'
WIDE = '<table><tr><td><div style="width: 20rem">wide</div></td></tr></table>'


def test_a_table_may_scroll_where_its_box_shows_it_and_not_on_a_desktop(browser, small_page):
    browser.open(small_page(FADES.format(WIDE)), width=390)
    assert page.columns(browser) == []
    browser.open(small_page(FADES.format(WIDE)), width=1440)
    assert "pixels of a table are cut: wide" in "; ".join(page.columns(browser))


def test_what_was_folded_is_folded_after_the_checks(browser, small_page):
    browser.open(small_page("<details><summary>1</summary>a</details><details open><summary>2</summary>b</details>"))
    assert page.columns(browser) == []
    assert browser.script("return [...document.querySelectorAll('details')].map(e => e.open)") == [False, True]


def test_the_other_view_is_another_width_and_mode(browser, small_page):
    """Without being opened again."""
    browser.open(small_page("<p>Text</p>"), width=1440)
    browser.script("window.here = true")
    browser.turn(width=390, dark=True)
    seen = browser.script("return [here, innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]")
    assert seen == [True, 390, True]


def test_all_that_is_wrong_with_a_page_is_said_at_once(browser, small_page):
    """By what judges the pages of the book; some of it hides other faults, or ends the article."""
    alone = {fault for fault, (check, body, _) in BROKEN.items() if check is page.accessibility or "</article>" in body}
    together = [each for fault, each in BROKEN.items() if fault not in alone]
    assert len(together) > 20
    browser.open(small_page(GOOD + "".join(body for _, body, _ in together)), width=390)
    said = "; ".join(page.problems(browser))
    assert [sentence for *_, sentence in together if sentence not in said] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", BROKEN)
def test_the_checks_see(browser, small_page, fault):
    check, body, sentence = BROKEN[fault]
    browser.open(small_page(GOOD + body), width=390)
    assert sentence in "; ".join(check(browser))


def test_the_checks_see_what_is_only_wrong_in_dark_mode(browser, small_page):
    address = small_page(
        "<style>@media (prefers-color-scheme: dark) { p { color: #888; background: #777 } }</style><p>dim</p>"
    )
    browser.open(address)
    assert page.contrast(browser) == []
    browser.open(address, dark=True)
    assert "'dim'" in "; ".join(page.contrast(browser))
