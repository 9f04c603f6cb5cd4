"""`lbfgs` on functions whose minimum is known."""

import numpy as np
import pytest

from lib.numerics import lbfgs
from lib.numerics.lbfgs import minimise


def quadratic(scales, rotation, centre, tolerance):
    hessian = rotation @ np.diag(scales) @ rotation.T

    def evaluate(x):
        gradient = hessian @ (x - centre)
        return 0.5 * gradient @ (x - centre), gradient, 1 / np.diag(hessian), np.abs(gradient).max() < tolerance

    return evaluate


@pytest.mark.parametrize("memory", [1, 12, 60])
def test_it_finds_the_minimum_of_an_ill_conditioned_quadratic(memory, monkeypatch):
    monkeypatch.setattr(lbfgs, "_MEMORY", memory)
    rng = np.random.default_rng(1)
    rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    centre = rng.normal(size=20)
    x, evaluations, reached = minimise(quadratic(np.geomspace(1, 1e3, 20), rotation, centre, 1e-6), np.zeros(20))
    assert reached and np.allclose(x, centre, atol=1e-5) and evaluations < 3000


def test_with_the_inverse_hessian_given_one_step_is_enough():
    scales, centre = np.geomspace(1e-3, 1e3, 20), np.arange(20.0)
    x, evaluations, reached = minimise(quadratic(scales, np.eye(20), centre, 1e-9), np.zeros(20))
    assert reached and evaluations == 2 and np.allclose(x, centre)


def test_it_shortens_a_step_that_overshoots_even_to_infinity():
    def evaluate(x):  # sum of cosh: a Newton-like step by the slope alone overflows
        with np.errstate(over="ignore"):
            return np.cosh(x).sum(), np.sinh(x), np.full(x.shape, 1e3), np.abs(np.sinh(x)).max() < 1e-8

    x, _, reached = minimise(evaluate, np.array([3.0, -2.0]))
    assert reached and np.abs(x).max() < 1e-8


def test_it_says_so_when_it_gives_up():
    evaluate = quadratic(np.geomspace(1, 1e6, 10), np.eye(10), np.ones(10), 0.0)
    assert minimise(evaluate, np.zeros(10), max_evaluations=1)[1:] == (1, False)
