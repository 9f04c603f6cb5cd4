"""The parts of the report: every name is shown as it is, every number is that of the release, and pages are complete."""

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from lib.release import escapes, report, schema, uncertainty
from lib.release import synthesizer as release
from lib.tables.table import Table
from tests.lib.release.test_escapes import NAMES

PARTS = (report.distributions, report.pairs, report.numbers, report.uses)
TAGS = frozenset(
    (
        "div",
        "b",
        "svg",
        "text",
        "title",
        "rect",
        "path",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "p",
        "span",
    )
)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        self.text += [value for name, value in attributes if name in ("title", "aria-label")]

    def handle_data(self, data):
        self.text.append(data)


def made(name="age", label="young", n=3000):
    public = schema.Schema((
        schema.Attribute(name, "whole", ("0 to 9", "10 to 59", "missing"), 2, 2, starts=(0.0, 10.0), last=59.0),
        schema.Attribute("group", "values", (label, "old", "other"), 2, 2, 2),
        schema.Attribute("size", "real", ("0 to under 5", "5 to 9"), 2, 0, starts=(0.0, 5.0), last=9.0),
    ))  # fmt: skip
    codes = np.random.default_rng(2).integers(0, [3, 3, 2], (n, 3))
    codes[:, 1] = np.minimum(codes[:, 0], codes[:, 1])
    return public, release.Release.of(release.run(Table(codes, public.domain), 1.0, 1e-9, seed=1), public)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_part_shows_a_name_and_a_label_as_they_are(name):
    public, released = made(name, f"{name} label")
    for part in PARTS:
        page = Page(part(public, released))
        assert set(page.tags) <= TAGS and not {each for each in page.attributes if each.startswith("on")}
        assert "href" not in page.attributes and all(text.isprintable() for text in page.text)
        if part in (report.distributions, report.pairs):
            assert any(escapes.printable(name) in text for text in page.text)
    titled = schema.Schema(public.attributes, name=name)
    assert escapes.printable(name) in "".join(Page(report.head(titled, released, "epsilon 1")).text)


def test_the_matrix_says_what_was_measured_and_how_far_a_count_may_be_off():
    public, released = made()
    assert any(len(each.attributes) > 1 for each in released.measurements)
    inferred = 0
    for names in (("age", "group"), ("age", "size"), ("group", "size")):
        error, measured = report._pair_error(released, names)
        found = uncertainty.count_intervals(released, names)
        assert measured == (found.measured > 0) and error == pytest.approx(
            100 * (found.high - found.low).max() / 2 / released.model.total
        )
        inferred += not measured
    page = report.pairs(public, released)
    assert len(re.findall(r': inferred by the model"', page)) == inferred
    assert len(re.findall(r': measured together"', page)) == 3 - inferred
    alone = release.Release(released.model, released.measurements[:2], "gaussian", None, 1.0)
    assert math.isnan(report._pair_error(alone, ("group", "size"))[0]) and ">?</td>" in report.pairs(public, alone)


def test_the_bars_and_their_intervals_are_those_of_the_release():
    public, released = made()
    page = report.distributions(public, released)
    found = uncertainty.count_intervals(released, ("size",))
    part = page[page.index("<b>size</b>") :]
    scale = (report._WIDTH - report._LABEL - 48) / found.high.max()
    lines = [tuple(map(float, each)) for each in re.findall(r'd="M([\d.]+) [\d.]+H([\d.]+)"', part)]
    for (start, end), low, high in zip(lines, found.low, found.high, strict=True):
        assert (start, end) == pytest.approx(
            (report._LABEL + 4 + low * scale, report._LABEL + 4 + high * scale), abs=0.11
        )


@pytest.mark.slow
def test_the_numbers_are_those_of_queries():
    from lib.release import queries

    public, released = made()
    page = Page(report.numbers(public, released)).text
    answer = queries.ask(released, public, "sd(size)")
    place = page.index("standard deviation of size")
    shown = [float(each) for text in page[place + 1 : place + 4] for each in text.split(" to ")]
    fields = answer.estimate, answer.noise_low, answer.noise_high, answer.low, answer.high
    assert shown == pytest.approx(fields, abs=0.06 * (answer.noise_high - answer.noise_low))
    assert "correlation of age and size" in page or math.isnan(uncertainty.expected_error(released, ("age", "size")))


def test_an_interval_of_years_is_shown_with_its_width():
    public = schema.parse("attributes: {year: {range: [1995, 2003], bins: 9, missing: 1995}}")
    table = Table(np.repeat(np.arange(9), 200)[:, None], public.domain)
    released = release.Release.of(release.run(table, 1.0, 1e-9, size=1, seed=1))
    page = Page(report.numbers(public, released)).text
    estimate, interval, _ = page[page.index("mean of year") + 1 :][:3]
    low, high = map(float, interval.split(" to "))
    assert 1998 < low < float(estimate) < high < 2000


@pytest.mark.parametrize(("far", "word"), [(0.5, "with care"), (20.0, "no")])
def test_counts_that_are_far_off_are_not_recommended(monkeypatch, far, word):
    public, released = made()
    monkeypatch.setattr(report, "_pair_error", lambda release, names: (far, len(names) == 1))
    assert f"<td>{word}</td><td>off by up to {report._percent(far)} % of the records</td>" in report.uses(
        public, released
    )


def test_a_table_of_one_attribute_has_a_report():
    public = schema.parse("attributes: {a: {values: [x, y], missing: x, unseen: x}}")
    released = release.Release.of(release.run(Table([[0], [1]] * 100, public.domain), 1.0, 1e-9, size=1, seed=1))
    said = " ".join(part(public, released) for part in PARTS)
    assert (
        "no pairs" in said
        and "no numbers" in said
        and "Date" not in (undated := report.head(public, released, "epsilon 1"))
    )
    assert "dp-compendium" not in undated  # the version, which differs from one commit to the next
