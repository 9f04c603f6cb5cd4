"""The explorers (book/_scripts/explorers.js) show the same numbers as `lib`, and work by mouse, by keyboard and on a
phone."""

import math

import numpy as np
import pytest
from scipy import stats
from selenium.webdriver.common.keys import Keys
from sklearn.exceptions import ConvergenceWarning

from book._ext.pages import FILES, SCRIPTS
from lib import gaussian_synthesis, local, mechanisms
from lib.microdata import IterativeBayes
from lib.microdata.perturbation import Perturbation, RetentionReplacement
from tests.browser import calculator_in_lib, needs

PAGES = {
    "noise": "notebooks/kiri2019/01_laplace.html",
    "reconstruction": "notebooks/hasegawa2015/02_reconstruction.html",
    "renyi": "notebooks/miura2022/03_beyond.html",
    "local": "notebooks/kiri2019/02_local.html",
    "composition": "notebooks/kiri2019/03_composition.html",
}
BOUNDS = {
    "unbounded": gaussian_synthesis.unbounded_epsilon,
    "bounded": gaussian_synthesis.bounded_epsilon,
    "joint": gaussian_synthesis.bounded_epsilon_joint,
    "both": gaussian_synthesis.bounded_epsilon_both,
    "tight": gaussian_synthesis.unbounded_epsilon_tight,
}
pytestmark = needs.A_BROWSER


@pytest.fixture(scope="module")
def compute(browser):
    """Return the functions of the script, on an empty page."""
    browser.driver.get("about:blank")
    browser.script("\n".join((SCRIPTS / name).read_text(encoding="utf-8") for name in FILES))
    return lambda name, values: browser.script(f"return compendium.{name}(arguments[0])", values)


def agree(shown, expected):
    """Return whether two answers agree to nine digits; JSON has no infinity, and reads it as None."""
    return (math.inf if shown is None else shown) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bound", BOUNDS)
def test_renyi(compute, bound):
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, d = int(10 ** rng.uniform(3, 12)), int(rng.integers(1, 51))
        sigma, alpha, delta = 10 ** rng.uniform(-3, 0), 1 + 10 ** rng.uniform(-2, 3), 10 ** rng.uniform(-12, -2)
        here = compute("renyi", {"bound": bound, "n": n, "d": d, "sigma": sigma, "alpha": alpha, "delta": delta})
        record = float(BOUNDS[bound](n, alpha, d, sigma))
        assert agree(here["record"], record)
        assert agree(here["release"], n * record)
        best = gaussian_synthesis.released_dp(n, delta, d, sigma, bound=BOUNDS[bound])
        assert agree(here["best"], best.epsilon)
        assert here["bestAlpha"] is None if math.isnan(best.alpha) else agree(here["bestAlpha"], best.alpha)
        once = gaussian_synthesis.released_dp(n, delta, d, sigma, bound=BOUNDS[bound], orders=np.array([alpha]))
        assert agree(here["converted"], once.epsilon)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [1_000, 32_561, 10**7, 10**12])
def test_a_release_without_orders(compute, n):
    """Theorem E in the browser. `released_epsilon` may be 1e-9 too large, and counts the error of its quadrature in."""
    rng = np.random.default_rng(n)
    drawn = [(int(rng.integers(1, 51)), 10 ** rng.uniform(-3, -0.01), 10 ** rng.uniform(-12, -2)) for _ in range(6)]
    for d, sigma, delta in [*drawn, (1, 0.99, 1e-5)]:  # the last: Theorem E is above Theorem D, converted
        here = compute("renyi", {"bound": "tight", "n": n, "d": d, "sigma": sigma, "alpha": 2, "delta": delta})
        direct = gaussian_synthesis.released_epsilon(n, delta, d, sigma)
        assert here["direct"] == pytest.approx(direct, rel=1e-7, abs=3e-9)


def test_local(compute):
    names = {"SS": "SubsetSelection", "HR": "HadamardResponse"}
    rng = np.random.default_rng(2)
    for _ in range(40):
        epsilon, k = 10 ** rng.uniform(-1, 0.9), int(10 ** rng.uniform(np.log10(2), 6))
        n, f = int(10 ** rng.uniform(2, 8)), rng.random()
        here = compute("local", {"epsilon": epsilon, "k": k, "n": n, "f": f})["ranking"]
        assert len(here) == 9
        assert [deviation for _, deviation in here] == sorted(deviation for _, deviation in here)
        for name, deviation in here:
            oracle = getattr(local, names.get(name, name))(k, epsilon)
            assert agree(deviation, math.sqrt(oracle.variance(f, n))), name


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mechanism", calculator_in_lib.MECHANISMS)
def test_composition(compute, mechanism):
    rng = np.random.default_rng(3)
    for _ in range(20):
        size, count, delta = 10 ** rng.uniform(-2, 0.47), int(10 ** rng.uniform(0, 3)), 10 ** rng.uniform(-12, -2)
        here = compute("composition", {"mechanism": mechanism, "size": size, "count": count, "delta": delta})["total"]
        expected = calculator_in_lib.repeated(mechanism, size, count, delta, numerically=False)
        assert set(here) == set(expected)
        for name, total in here.items():
            assert expected[name]["epsilon"].fits(total), name


def test_noise(compute):
    rng = np.random.default_rng(4)
    for _ in range(40):
        epsilon, change = 10 ** rng.uniform(-1, 0.9), int(rng.integers(1, 11))
        here = compute("noise", {"epsilon": epsilon, "change": change})
        mechanism = mechanisms.Laplace.calibrated(epsilon, change)
        published = stats.laplace(scale=mechanism.scale)
        assert agree(here["scale"], mechanism.scale)
        assert agree(here["factor"], math.exp(mechanism.epsilon))
        assert published.sf(here["within"]) == pytest.approx(0.025)
        assert agree(here["guess"], published.cdf(change / 2))
        for truth, line in zip((0, change), here["curves"].values(), strict=True):
            at, density = np.array(line).T
            assert density == pytest.approx(published.pdf(at - truth))


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}")
def test_reconstruction(compute):
    strays = np.random.default_rng(2015).standard_normal(12).round(2)
    rng = np.random.default_rng(5)
    for _ in range(20):
        kept, n, steps = rng.uniform(0.02, 0.98), int(10 ** rng.uniform(2, 6)), int(10 ** rng.uniform(0, 2.5))
        here = compute("reconstruction", {"kept": kept, "n": n, "steps": steps})
        truth, seen, estimated = (np.array(here["curves"][name])[:, 1] for name in ("true", "perturbed", "estimated"))
        records = np.repeat(np.arange(len(truth)), here["observed"])
        shares = kept * truth + (1 - kept) / len(truth)
        drawn = n * shares + strays * np.sqrt(n * shares * (1 - shares))
        off = np.delete(np.maximum(drawn, 0) - here["observed"], 3)  # the fourth value takes what the roundings leave
        assert np.abs(off).max() <= 0.5 and len(records) == n and truth.sum() == pytest.approx(1)
        change = Perturbation({"value": RetentionReplacement(len(truth), kept)})
        own = IterativeBayes(change, tol=1e-300, max_iter=steps + 1, accelerated=False).fit(records[:, None])
        assert here["shares"] == pytest.approx(own.shares_, rel=1e-9) and (estimated == here["shares"]).all()
        assert seen == pytest.approx(np.array(here["observed"]) / len(records))
        assert here["errors"] == pytest.approx([np.abs(found - truth).sum() / 2 for found in (seen, own.shares_)])


# ---- on the pages


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_key_moves_the_slider_and_the_numbers(browser, book, name, width):
    browser.open(f"{book}/{PAGES[name]}", width=width)
    place = browser.driver.find_element("css selector", f'.explorer[data-explorer="{name}"]')

    def numbers():
        return [float(cell.get_attribute("data-value")) for cell in place.find_elements("tag name", "td")]

    before, curve = numbers(), place.find_element("tag name", "svg").get_attribute("outerHTML")
    assert before
    for slider in place.find_elements("css selector", "input[type=range]"):
        said = slider.get_attribute("aria-valuetext")
        slider.send_keys(Keys.ARROW_RIGHT)
        assert slider.get_attribute("aria-valuetext") != said
    assert numbers() != before
    assert place.find_element("tag name", "svg").get_attribute("outerHTML") != curve
    assert browser.script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["renyi", "composition"])
def test_costs_are_rounded_up(browser, book, name):
    browser.open(f"{book}/{PAGES[name]}")
    rows = f"document.querySelectorAll('.explorer[data-explorer={name}] tr')"
    texts = browser.script(
        f"return [...{rows}].map(({{cells: [head, cell]}}) => [head.textContent, cell.textContent, cell.dataset.value])"
    )
    costs = [(float(text), float(value)) for head, text, value in texts if head != "the best α"]
    assert len(costs) > 3 and all(text >= value * (1 - 1e-12) for text, value in costs)


def test_a_key_moves_a_whole_number_by_one_at_least(browser, book):
    """On a logarithmic slider a hundredth of the way from 1 is less than one."""
    browser.open(f"{book}/{PAGES['reconstruction']}")
    steps = browser.driver.find_element("css selector", ".explorer input[id$=steps]")
    browser.script("arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input'))", steps)
    said = [steps.get_attribute("aria-valuetext")]
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT):
        steps.send_keys(key)
        said.append(steps.get_attribute("aria-valuetext"))
    assert said == ["1", "2", "3", "2"]


LEAST = """
const [place, epsilon] = [document.querySelector('.explorer[data-explorer="local"]'), arguments[0]];
const slider = place.querySelector('input[id$=epsilon]');
slider.value = Math.log(epsilon);
slider.dispatchEvent(new Event('input'));
return [...place.querySelectorAll('th')].map(head => head.textContent).filter(text => text.includes(','));
"""


def test_protocols_that_are_equal_tie(browser, book):
    """At epsilon 5 and 100 values subset selection sends one value, as GRR does."""
    browser.open(f"{book}/{PAGES['local']}")
    assert sorted(browser.script(LEAST, 5)) == ["GRR, smallest, tied", "SS, smallest, tied"]
    assert browser.script(LEAST, 1) == ["SS, smallest"]


@pytest.mark.full
@pytest.mark.parametrize("name", PAGES)
def test_every_control_has_a_label(browser, book, name):
    browser.open(f"{book}/{PAGES[name]}")
    place = browser.driver.find_element("css selector", f'.explorer[data-explorer="{name}"]')
    controls = place.find_elements("css selector", "input, select")
    labels = {label.get_attribute("for"): label.text for label in place.find_elements("tag name", "label")}
    assert controls
    assert all(labels.get(control.get_attribute("id")) for control in controls)
