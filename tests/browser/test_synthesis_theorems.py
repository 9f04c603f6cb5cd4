"""The calculator's list of theorems about Gaussian synthesis is the register's, as are the command's and the reference's."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

from book._ext import reference
from book._ext.pages import FILES, SCRIPTS
from lib.command.costs import of_gaussian_synthesis
from lib.gaussian_synthesis import THEOREMS
from tests.browser import calculator_in_lib, needs

pytestmark = needs.A_BROWSER


@pytest.fixture(scope="module")
def asked(browser):
    """Return what the calculator's script gives for a setting, on an empty page: {row: [name, epsilon]}, and lines of Python."""
    browser.driver.get("about:blank")
    browser.script("\n".join((SCRIPTS / name).read_text(encoding="utf-8") for name in FILES))
    return lambda values: browser.script(
        "const one = compendium.QUESTIONS.synthesis, found = one.compute(arguments[0]);"
        "const rows = one.tables(found, arguments[0])[0].rows;"
        "return [rows.map(({key, name, cells}) => [key, name.replace('′', \"'\"), cells[0]]), one.call(found, arguments[0])]",
        values,
    )


def commanded(guarantee, n, d, sigma, delta):
    """Return the epsilons that the command prints, by theorem."""
    neighbours, covariance = calculator_in_lib.COVERED[guarantee]
    words = dict(
        records=n, attributes=d, sigma=repr(sigma), delta=repr(delta), neighbours=neighbours, covariance=covariance
    )
    said = CliRunner().invoke(of_gaussian_synthesis, [f"--{name}={value}" for name, value in words.items()])
    assert said.exit_code == 0, said.output
    lines = [line.split() for line in said.output.splitlines() if line.startswith("epsilon Theorem")]
    return {f"Theorem {words[2]}": float(words[3]) for words in lines}


def test_the_first_choice_needs_no_assumption(browser, asked):
    options = browser.script("return Object.keys(compendium.QUESTIONS.synthesis.inputs[0].options)")
    assert options == [*calculator_in_lib.COVERED] and options[0] == "regularised"
    assert THEOREMS[0].name == "Theorem H" and THEOREMS[0].assumes == "none"


@pytest.mark.parametrize("guarantee", calculator_in_lib.COVERED)
def test_the_theorems_of_calculator_command_reference_and_register_agree(asked, guarantee):
    rng, covered = np.random.default_rng(36), calculator_in_lib.covered(guarantee)
    described = set(reference.public().values())
    for i in range(5):
        n, d = int(10 ** rng.uniform(3 + i / 2, 5 + i)), int(rng.integers(1, 13))
        sigma, delta = float(10 ** rng.uniform(-2.5, -0.01)), float(10 ** rng.uniform(-12, -2))
        setting = {"guarantee": guarantee, "n": n, "d": d, "sigma": sigma, "alpha": 4, "delta": delta}
        rows, call = asked(setting)
        shown = {}
        for key, name, epsilon in rows:
            epsilon = math.inf if epsilon is None else epsilon  # JSON has no infinity
            shown.setdefault(name.partition(",")[0], []).append(epsilon)
            assert key == "direct" or calculator_in_lib.ROWS[key] == name.partition(",")[0]
        found = {each.name: each.epsilon(n, delta, d, sigma) for each in covered}
        assert [*shown] == [*found], "list a new theorem in book/_scripts/questions.js"
        assert {name: min(values) for name, values in shown.items()} == pytest.approx(found, rel=1e-7, abs=3e-9), (
            setting
        )
        assert commanded(guarantee, n, d, sigma, delta) == pytest.approx(found, rel=1e-5)
        least = min(found.values())
        called = [
            function
            for each in covered
            for function in (each.exact, each.renyi)
            if function and function.__name__ in call
        ]
        assert called and all(f"lib.gaussian_synthesis.{each.__name__}" in described for each in called)
        assert math.isinf(least) or any(found[each.name] <= least * (1 + 1e-9) for each in covered
                                        if {each.exact, each.renyi} & {*called})  # fmt: skip
