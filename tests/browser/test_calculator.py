"""The calculator (book/_scripts): the page shows the numbers of `lib`, and its controls work.

A hundred settings are drawn; SETTINGS=1000 in the environment draws a thousand, which takes minutes.
"""

import csv
import io
import math
import os
import re
import time
from urllib.parse import urlencode

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from lib.attacks.membership_inference import tpr_bound
from tests.browser import calculator_in_lib, needs
from tests.browser.calculator_in_lib import Between, risks
from tests.browser.chromium import chromium

ALL = int(os.environ.get("SETTINGS", "100"))
SETTINGS = {name: ALL * share // 20 for name, share in dict(synthesis=5, composition=5, local=5, aim=3, sgd=2).items()}
FEW = {
    "composition": 1 + ALL // 40,
    "sgd": 1 + ALL // 125,
}  # are added up by `lib`, which takes seconds for each

# What stands in the tables, after the page has read a new setting from its address.
READ = """
const done = arguments[1];
const collect = () => {
  const rows = {}, written = {};
  for (const row of document.querySelectorAll('.calculator tr[data-row]')) {
    const cells = rows[row.dataset.row] = {};
    for (const cell of row.querySelectorAll('td'))
      [cells[cell.dataset.key], (written[row.dataset.row] ??= {})[cell.dataset.key]] =
        [[cell.dataset.value, Boolean(cell.querySelector('.winner'))], cell.firstChild.textContent];
  }
  const text = key => document.querySelector(`[data-text="${key}"]`)?.textContent;
  done({rows, written, statement: text('statement'), call: text('call'), all: document.querySelector('.calculator').textContent,
    budgets: [...document.querySelectorAll('.calculator tr[data-row]')].filter(row => row.querySelector('[data-key=advantage]'))
      .map(row => row.dataset.row)});
};
window.addEventListener('hashchange', () => setTimeout(collect), {once: true});
location.hash = arguments[0];
"""

pytestmark = needs.THE_BOOK


@pytest.fixture(scope="module")
def calculator(browser, book):
    """Return a function that sets the page to a question and its values, and returns what the page then shows."""
    browser.open(f"{book}/calculator.html")

    def ask(question, values):
        return browser.driver.execute_async_script(READ, f"{question}?{urlencode(values)}")

    ask.inputs = browser.script(
        "return Object.fromEntries(Object.entries(compendium.QUESTIONS).map(([name, {inputs}]) => [name, inputs]))"
    )
    return ask


def drawn(inputs, count, seed):
    """Yield settings over all of the permitted ranges, an end of each range one time in six."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        setting = {}
        for one in inputs:
            if one["kind"] == "choice":
                setting[one["name"]] = str(rng.choice(list(one["options"])))
                continue
            low, high, end = one["low"], one["high"], rng.integers(12)
            share = rng.random()
            value = low * (high / low) ** share if one.get("log") else low + (high - low) * share
            value = low if end == 0 else high if end == 1 else min(max(value, low), high)
            setting[one["name"]] = round(value) if one.get("whole") else float(value)
        yield setting


def differences(shown, expected):
    """Return what does not agree, in words."""
    wrong = []
    for row, columns in expected.items():
        for column, wanted in columns.items():
            value = float(shown["rows"][row][column][0])
            if not wanted.fits(value):
                wrong.append(f"{row}, {column}: {value!r} and not {wanted}")
    return wrong


@pytest.mark.parametrize("question", SETTINGS)
def test_every_number_is_that_of_lib(calculator, question):
    fresh = 0
    for i, setting in enumerate(drawn(calculator.inputs[question], SETTINGS[question], seed=2026)):
        shown = calculator(question, setting)
        more = {}
        if question in FEW and (question == "sgd" or setting["mechanism"] == "laplace"):
            quick = setting.get("steps", 0) <= 3_000
            quick &= float(shown["rows"]["numerical"]["epsilon"][0]) > 0.05  # a small epsilon needs a fine grid
            more["numerically"] = fresh < FEW[question] and quick
            fresh += more["numerically"]
        expected = calculator_in_lib.QUESTIONS[question](**setting, **more)
        delta = setting.get("delta", 0.0) if question != "local" else 0.0
        for row in shown["budgets"]:
            epsilon = float(shown["rows"][row]["epsilon"][0])
            none = dict.fromkeys(("advantage", *calculator_in_lib.PRIORS), Between(0, 0))
            expected[row] = expected.get(row, {}) | (none if math.isnan(epsilon) else risks(epsilon, delta))
        assert differences(shown, expected) == [], setting
        compared = {(row, column) for row, columns in expected.items() for column in columns}
        there = {(row, column) for row, columns in shown["rows"].items() for column in columns}
        assert there - compared <= ({("numerical", "epsilon"), ("rdp", "epsilon")} if question == "sgd" else set())
        assert "NaN" not in shown["all"] and "undefined" not in shown["all"], (i, setting)
        assert winners_are_the_least(shown, question), setting
        assert promised(shown) >= least(shown, question), setting


@pytest.mark.full
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_few_records_are_sampled(calculator, neighbours):
    """One in a hundred runs takes part at all: the loss is nearly an atom."""
    setting = {"neighbours": neighbours, "sigma": 1.0, "q": 0.001, "steps": 10, "delta": 1e-5}
    assert differences(calculator("sgd", setting), calculator_in_lib.sgd(**setting)) == []


def steps(address, settings) -> list[int]:
    """Return how often a block of the page's code is entered for each of `settings`, counted by a browser that has not run it before."""
    with chromium() as browser:
        browser.command("Profiler.enable")
        browser.command("Profiler.startPreciseCoverage", callCount=True, detailed=True)
        browser.open(address)
        return [_blocks_entered(browser, setting) for setting in settings]


def _blocks_entered(browser, setting) -> int:
    browser.command("Profiler.takePreciseCoverage")  # from here on
    browser.script("compendium.QUESTIONS.sgd.compute(arguments[0])", setting)
    scripts = browser.command("Profiler.takePreciseCoverage")["result"]
    return sum(block["count"] for script in scripts for function in script["functions"] for block in function["ranges"])


@pytest.mark.full
def test_dp_sgd_answers_after_few_steps(calculator, book):
    """Nineteen settings of twenty within five million: a busy core took ten nanoseconds for each, fifty milliseconds in all."""
    settings = list(drawn(calculator.inputs["sgd"], 60, seed=2027))
    taken = steps(f"{book}/calculator.html", settings)
    assert min(taken) > 10_000  # it counts
    assert sum(each > 5e6 for each in taken) <= len(settings) / 20


LESS = {"epsilon", "record", "release", "converted", "deviation", "bits"}
MORE = {"rho"}
ALONE = {"report", "table"}  # nothing to compare with


def winners_are_the_least(shown, question):
    """In each column with a choice only the smallest value (of rho, the largest) is marked, with those that equal it up to rounding."""
    tables = {}
    for row, columns in shown["rows"].items():
        for column, (value, marked) in columns.items():
            tables.setdefault(column, {})[row] = (float(value), marked)
    right = True
    for column, rows in tables.items():
        rows = {row: pair for row, pair in rows.items() if row not in ALONE}
        values = [value for value, _ in rows.values() if math.isfinite(value)]
        if column in LESS | MORE and len(rows) > 1 and values:
            best = (min if column in LESS else max)(values)
            right &= all(marked == math.isclose(value, best, rel_tol=1e-12) for value, marked in rows.values())
        else:
            right &= not any(marked for _, marked in rows.values())
    return right


def least(shown, question):
    """Return the smallest epsilon of all rows that have one."""
    values = [float(columns["epsilon"][0]) for columns in shown["rows"].values() if "epsilon" in columns]
    return min(value for value in values if not math.isnan(value))


def promised(shown):
    """Return the epsilon of the sentence for a privacy statement; inf where it says that there is none."""
    if "No theorem" in shown["statement"]:
        return math.inf
    found = re.search(r"\(ε = ([\d.e+-]+),|is ([\d.e+-]+)-locally", shown["statement"])
    return float(found[1] or found[2])


CALLED = {
    "synthesis": [{"guarantee": each} for each in calculator_in_lib.COVERED],
    "composition": [{"mechanism": each} for each in ("laplace", "response", "gaussian")]
    + [{"size": 3, "count": 1}, {"size": 5, "count": 10_000}],
    "local": [{}, {"k": 2, "epsilon": 3}, {"k": 5000}],
    "aim": [{}],
    "sgd": [
        {},
        {"neighbours": "bounded", "steps": 100},
        {"sigma": 0.5, "q": 0.5, "steps": 10**6},
        {"neighbours": "bounded", "sigma": 0.5, "q": 1e-4, "steps": 1},
        {"neighbours": "bounded", "q": 1},
    ],
}


@pytest.mark.parametrize("question", CALLED)
def test_the_lines_of_python_give_the_number_that_is_marked(calculator, question, capsys):
    for changes in CALLED[question]:
        setting = {
            one["name"]: one.get("start", next(iter(one.get("options", {None: None}))))
            for one in calculator.inputs[question]
        }
        shown = calculator(question, setting | changes | {"again": time.time()})
        exec(shown["call"].replace("dp_compendium", "lib"), {})
        printed = float(capsys.readouterr().out)
        column = {"local": "deviation", "aim": "rho"}.get(question, "epsilon")
        marked = [float(columns[column][0]) for columns in shown["rows"].values() if columns.get(column, (0, False))[1]]
        above = 0.05 if re.search(r"import epsilon|numerical", shown["call"]) else 0.0  # an upper bound
        assert any(value * (1 - 1e-7) <= printed <= value * (1 + 1e-7 + above) for value in marked)


WRONG = {
    "n": ["", "abc", "0x3e9", "10,00", "999", "2e12", "1000.5", "-5", "NaN", "Infinity"],
    "delta": ["0", "1", "1e-13"],
    "sigma": ["0", "1", "1,5"],
    "alpha": ["1,5", "0x10"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_what_is_out_of_range_is_said_beside_the_field(calculator, browser, name, text):
    shown = calculator("synthesis", {name: text, "again": time.time()})
    field = browser.driver.find_element("id", f"calculator-{name}")
    said = browser.driver.find_element("id", f"calculator-{name}-wrong")
    assert field.get_attribute("aria-invalid") == "true" and field.get_attribute(
        "aria-describedby"
    ) == said.get_attribute("id")
    assert re.match(r"This must be an? (integer|number) from [\d.,e-]+ to [\d.,e-]+", said.text)
    assert shown["rows"] == {} and "NaN" not in shown["all"].replace(text or "NaN", "") and "∞" not in shown["all"]


def test_a_field_takes_what_people_write(calculator, browser):
    wanted = calculator("synthesis", {"n": "20000000"})["rows"]
    assert (
        calculator("synthesis", {"n": "20,000,000"})["rows"] == wanted == calculator("synthesis", {"n": "2e7"})["rows"]
    )


def test_names_that_every_object_has_are_no_questions(calculator):
    for name in ("toString", "constructor"):
        calculator("local", {})
        assert "basic" in calculator(name, {"again": time.time()})["rows"]
        assert "basic" in calculator("composition", {"mechanism": name})["rows"]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 5.0, 30.0, 40.0, 40_775.0, math.inf])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.01])
def test_the_line_of_errors_is_the_bound_on_true_positives(calculator, browser, epsilon, delta):
    call = f"return compendium.tradeOff({'Infinity' if math.isinf(epsilon) else epsilon}, {delta})"
    xs, ys = zip(*browser.script(call))
    assert list(xs) == sorted(xs)
    corner = xs[1]
    for fpr in (corner / 2, corner, (corner + 1) / 2, 0.3, 1.0):
        if fpr > 0:
            assert np.interp(fpr, xs, ys) == pytest.approx(1 - tpr_bound(fpr, epsilon, delta), abs=1e-12)


def test_equals_are_both_the_least(calculator):
    """At d = 1, subset selection is GRR."""
    shown = calculator("local", {"epsilon": 5, "k": 100})
    for column in ("deviation", "bits"):
        assert [name for name, cells in shown["rows"].items() if cells.get(column, (0, False))[1]] == ["GRR", "SS"]
    assert shown["all"].count("smallest, tied") == 4 and "the same deviation by SubsetSelection\n" in shown["call"]
    alone = calculator("local", {"epsilon": 1, "k": 100})
    assert "tied" not in alone["all"] and "smallest" in alone["all"] and "the same" not in alone["call"]


SAID = [
    ("synthesis", {"n": 1000, "d": 1, "sigma": 0.5}, "1,000 synthetic records, a number fixed in advance"),
    ("synthesis", {"n": 1000, "d": 1, "sigma": 0.5}, "at least 1,000 real records, with or without that record"),
    ("synthesis", {}, "for any data with 6 attributes in [−1, 1] and 0.01 added to each variance (Theorem H)"),
    ("synthesis", {"guarantee": "bounded"}, "There are 10,000,000 real records, and this number is public"),
    ("synthesis", {"guarantee": "public"}, "There are 10,000,000 real records, and this number is public"),
    ("composition", {}, "private when one record is added or removed."),
    ("composition", {"neighbours": "bounded"}, "private when one record is replaced."),
    ("aim", {"neighbours": "bounded"}, "private when one record is replaced."),
]


@pytest.mark.parametrize(("question", "changes", "words"), SAID)
def test_a_statement_says_for_whom(calculator, question, changes, words):
    assert words in calculator(question, changes | {"again": time.time()})["statement"]


COSTS = {"epsilon", "record", "release", "converted", "rho", "advantage", *calculator_in_lib.PRIORS}


def number(text):
    """Return a number as the page writes it; inf where there is no guarantee, NaN where there is no number."""
    return math.inf if text.startswith("∞") else math.nan if text == "none" else float(text.replace(",", ""))


@pytest.mark.parametrize("question", SETTINGS)
def test_costs_are_rounded_up_and_a_table_and_the_statement_give_the_same(calculator, question):
    for setting in ({}, *drawn(calculator.inputs[question], 5, seed=2028)):
        shown = calculator(question, setting | {"again": time.time()})
        costs = {
            (row, key): (number(text), float(shown["rows"][row][key][0]))
            for row, columns in shown["written"].items()
            for key, text in columns.items()
            if key in COSTS
        }
        low = {name: pair for name, pair in costs.items() if pair[0] < pair[1] * (1 - 1e-12)}
        assert costs and low == {}, setting
        least = min(text for (_, key), (text, _) in costs.items() if key == "epsilon" and not math.isnan(text))
        assert promised(shown) == least, setting
        if found := re.search(r"satisfy ([\d.e+-]+)-zCDP", shown["statement"]):
            assert float(found[1]) == max(text for (_, key), (text, _) in costs.items() if key == "rho")


def quiet_address(browser):
    """Return the page's address, when it has been written."""
    time.sleep(0.5)
    return browser.driver.current_url


def test_it_opens_on_many_releases_and_warns_of_a_cost_that_guarantees_little(browser, book):
    for address, question, warned in (("", "composition", False), ("#synthesis?n=20000", "synthesis", True)):
        browser.open(f"{book}/calculator.html{address}")
        assert browser.driver.find_element("css selector", f"input[value={question}]").is_selected()
        cautions = [each.text for each in browser.driver.find_elements("css selector", ".caution")]
        assert [each.startswith("This ε guarantees almost nothing") for each in cautions] == [True] * warned
        statement = browser.driver.find_element("css selector", "[data-text=statement]").text
        assert all(each in statement for each in cautions)


@pytest.mark.full
def test_a_slider_that_is_drawn_along_writes_one_address(browser, book):
    browser.open(f"{book}/calculator.html#composition")
    written = browser.driver.execute_async_script("""
    const [done, replace, slider] = [arguments[0], history.replaceState, document.querySelector('.calculator input[type=range]')];
    let count = 0;
    history.replaceState = function (...words) { count += 1; return replace.apply(this, words); };
    for (let position = 0; position < 300; position++) {
      slider.value = Math.log(0.01) + position / 300;
      slider.dispatchEvent(new Event('input'));
    }
    setTimeout(() => { history.replaceState = replace; done(count); }, 600);
    """)
    shown = browser.driver.find_element("id", "calculator-size").get_attribute("value")
    assert written == 1 and f"size={shown}&" in browser.driver.current_url


@pytest.mark.full
def test_keys_move_numbers_and_address(browser, book):
    browser.open(f"{book}/calculator.html#composition?size=0.2&count=50")
    number = browser.driver.find_element("id", "calculator-count")
    assert number.get_attribute("value") == "50"
    slider = number.find_element("xpath", "preceding-sibling::input[@type='range']")
    before = browser.driver.find_element("css selector", "[data-row=basic] td").get_attribute("data-value")
    slider.send_keys(Keys.ARROW_RIGHT)
    moved = number.get_attribute("value")
    assert int(moved) > 50 and f"count={moved}" in quiet_address(browser)
    assert browser.driver.find_element("css selector", "[data-row=basic] td").get_attribute("data-value") != before
    number.clear()
    number.send_keys("1000")
    assert browser.driver.find_element("css selector", "[data-row=basic] td").get_attribute("data-value") == "200"
    picked = browser.driver.find_element("css selector", "input[value=composition]")
    picked.send_keys(Keys.ARROW_RIGHT)
    assert "#synthesis?" in quiet_address(browser)  # the next question


ENTRIES = """
return Object.fromEntries([...document.querySelectorAll('.calculator .row :is(select, input[type=text])')]
  .map(field => [field.id.replace('calculator-', ''), field.value]))
"""


@pytest.fixture
def fields(browser, book):
    """Return a newly opened page: `enter` writes into a field, `pick` opens a question and returns the content of its fields."""
    browser.open(f"{book}/calculator.html#synthesis")

    class Fields:
        def enter(self, name, text):
            field = browser.driver.find_element("id", f"calculator-{name}")
            if field.tag_name == "input":
                field.clear()
            field.send_keys(text)

        def pick(self, question):
            browser.script(f"document.querySelector('.picks input[value={question}]').click()")
            return self.now()

        def now(self):
            return browser.script(ENTRIES)

    return Fields()


def test_entries_come_back_with_their_question_and_go_along_where_they_mean_the_same(fields):
    for name, text in {"n": "2000000", "d": "9", "sigma": "0.05", "alpha": "7", "delta": "1e-7"}.items():
        fields.enter(name, text)
    composition = fields.pick("composition")
    assert composition["delta"] == "1e-7" and composition["count"] == "100"
    fields.enter("count", "30")
    fields.enter("neighbours", "replaced")
    aim = fields.pick("aim")
    assert (aim["delta"], aim["d"], aim["neighbours"]) == ("1e-7", "9", "bounded")
    assert (aim["alpha"], aim["epsilon"]) == ("0.9", "1")  # a share, and no order
    fields.enter("epsilon", "2.5")
    local = fields.pick("local")
    assert (local["n"], local["epsilon"]) == ("2000000", "2.5")
    sgd = fields.pick("sgd")
    assert (sgd["sigma"], sgd["delta"], sgd["neighbours"]) == ("1", "1e-7", "bounded")  # noise, and no eigenvalue
    fields.enter("delta", "1e-8")
    assert fields.pick("composition")["count"] == "30"
    back = fields.pick("synthesis")
    assert {name: back[name] for name in ("n", "d", "sigma", "alpha", "delta")} == {
        "n": "2000000", "d": "9", "sigma": "0.05", "alpha": "7", "delta": "1e-8",
    }  # fmt: skip


def test_what_nobody_entered_is_as_a_question_has_it(fields):
    assert fields.now()["delta"] == "0.00001" and fields.pick("aim")["delta"] == "1e-9"
    assert fields.pick("local")["n"] == "100000" and fields.pick("synthesis")["n"] == "10000000"


@pytest.mark.parametrize("text", ["1e12", "many", ""])
def test_an_entry_that_another_question_does_not_permit_stays_behind(fields, text):
    fields.enter("n", text)
    assert fields.pick("local")["n"] == "100000"
    assert fields.pick("synthesis")["n"] == (text if text == "1e12" else "10000000")


def test_the_address_alone_tells_the_state(fields, calculator, browser):
    """Fields that an address leaves out have their default values, whatever was entered before."""
    fields.enter("delta", "1e-7")
    fields.pick("sgd")
    address, there = quiet_address(browser), fields.now()
    assert there["delta"] == "1e-7" and all(f"{name}=" in address for name in there)
    browser.open(address)
    assert fields.now() == there
    calculator("composition", {"size": "0.2"})
    assert fields.now()["delta"] == "0.00001" and fields.pick("sgd")["delta"] == "0.00001"


def test_an_address_that_is_followed_is_not_replaced_by_the_one_before_it(fields, browser):
    """What a field gives is written to the address a moment later, and a link may have been followed in between."""
    shown = browser.driver.execute_async_script("""
    const [done, later] = [arguments[0], window.setTimeout];
    let write;
    window.setTimeout = (run, time) => time === 300 ? (write = run) : later(run, time);
    document.querySelector('.picks input[value=sgd]').click();
    window.setTimeout = later;
    window.addEventListener('hashchange', () => setTimeout(() => done(document.querySelector('.picks :checked').value)));
    location.hash = 'composition?count=7';
    write();
    """)
    assert shown == "composition" and "#composition?count=7" in browser.driver.current_url


def test_the_curve_is_what_the_page_shows(calculator, browser):
    """A line for each point, and at the setting's own place the table's numbers."""
    text = browser.script(
        "const values = {mechanism: 'laplace', size: 0.1, delta: 1e-5, count: 100};"
        "return compendium.csv(compendium.QUESTIONS.composition, values)"
    )
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 17 and "NaN" not in text
    assert [rows[0]["releases"], rows[-1]["releases"]] == ["1", "10000"]
    ends = browser.script(
        "return ['synthesis', 'local', 'aim'].map(name => { const grid = compendium.QUESTIONS[name].curve.grid();"
        " return [grid[0], grid[grid.length - 1]]; })"
    )
    assert ends == [[1.01, 1e4], [0.1, 8], [0.01, 20]]
    for row in rows[::5]:
        shown = calculator(
            "composition", {"mechanism": "laplace", "size": 0.1, "delta": 1e-5, "count": row["releases"]}
        )["rows"]
        titles = {"zcdp": "zCDP", "rdp": "RDP"}
        assert {name: row[titles.get(name, name)] for name in shown} == {
            name: cells["epsilon"][0] for name, cells in shown.items()
        }


@pytest.mark.full
def test_the_page_works_from_a_file(browser):
    browser.open((needs.BOOK / "calculator.html").as_uri() + "#sgd?steps=100")
    assert browser.console == []
    assert browser.driver.find_element("id", "calculator-steps").get_attribute("value") == "100"
    assert len(browser.driver.find_elements("css selector", ".calculator tr[data-row]")) == 3


@pytest.mark.full
@pytest.mark.parametrize("width", [1440, 375])
def test_it_fits_and_every_control_has_a_label(browser, book, width):
    for question in SETTINGS:
        browser.open("about:blank", width=width)
        browser.open(f"{book}/calculator.html#{question}", width=width)
        assert browser.script("return document.documentElement.scrollWidth") <= width
        unnamed = browser.script(
            "return [...document.querySelectorAll('.calculator :is(input, select, button)')].filter(e => !e.labels?.length"
            " && !e.ariaLabel && !e.textContent).map(e => e.outerHTML)"
        )
        assert unnamed == []
        assert browser.driver.find_elements("css selector", ".calculator [aria-live=polite] table")
