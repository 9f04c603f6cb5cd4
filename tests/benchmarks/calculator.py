"""Measure the time from a new setting of the calculator until Chromium shows its numbers, for random settings."""

from urllib.parse import urlencode

import numpy as np

from tests.benchmarks import measure
from tests.browser.chromium import BOOK, BROWSERS, DRIVERS, chromium, found, served
from tests.browser.test_calculator import SETTINGS, drawn

CASES = [f"calculator.{question}" for question in SETTINGS]

ANSWER = """
const done = arguments[1], start = performance.now();
window.addEventListener('hashchange', () => done(performance.now() - begun), {once: true});
let begun = start;
window.addEventListener('hashchange', () => { begun = performance.now(); }, {once: true, capture: true});
location.hash = arguments[0];
"""


def lines(case, folder):
    """Yield a line with the median, the 95th percentile and the maximum, in milliseconds."""
    if not (BOOK / "calculator.html").exists() or None in (found(BROWSERS), found(DRIVERS)):
        raise measure.Absent("the book is not built (make book), or there is no Chromium")
    question = case.rpartition(".")[2]
    with served(BOOK) as address, chromium() as browser:
        browser.open(f"{address}/calculator.html")
        inputs = browser.script("return compendium.QUESTIONS[arguments[0]].inputs", question)
        taken = [
            browser.driver.execute_async_script(ANSWER, f"{question}?{urlencode(setting)}")
            for setting in drawn(inputs, 110, seed=7)
        ][10:]  # the first ones are compiled
    median, most, all_of_them = np.percentile(taken, [50, 95, 100])
    yield {
        "settings": len(taken),
        "median_ms": round(median, 1),
        "p95_ms": round(most, 1),
        "most_ms": round(all_of_them, 1),
    }
