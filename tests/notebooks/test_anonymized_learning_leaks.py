"""The counterexamples to Theorem 4, and the attacker who sees all parameters, against simulations."""

import numpy as np
import pytest
from scipy import integrate, stats

from lib.networks.parameterwise import atoms
from notebooks.studies import anonymized_learning_leaks as leaks


def test_the_grid_brackets_increasing_functions():
    bounds = []
    for up in (False, True):
        law = leaks.on_grid(0.1, 0.4, -0.5, 1, 300, up=up)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        bounds.append(law @ np.exp(np.linspace(-0.5, 1, 301)))
    low, high = atoms(0.1, 0.4, -0.5, 1)
    inner = integrate.quad(lambda t: np.exp(t) * stats.laplace.pdf(t, 0.1, 0.4), -0.5, 1, points=[0.1])[0]
    assert bounds[0] < low * np.exp(-0.5) + high * np.e + inner < bounds[1] < 1.01 * bounds[0]


# ---- the counterexample to Theorem 4


def simulated(inputs, epsilon, learning_rate, label, runs, rng, *, small=1.0):
    """Return how often the two changes of the first weight are -1/2 and 1/2: equations 1 to 6 on the four records, run by run.

    small : all inputs but the first are that small in the second batch
    """
    weights, biases = np.zeros((runs, inputs, 2)), np.zeros((runs, 2))
    noisy = lambda change: np.clip(np.clip(change, -0.5, 0.5) + rng.laplace(0, 1 / epsilon, change.shape), -0.5, 0.5)
    seen = np.ones(runs, bool)
    for batch, wanted in zip(leaks.BATCHES, (-0.5, 0.5)):
        change_w, change_b = np.zeros_like(weights), np.zeros_like(biases)
        for value, target in batch:
            x = np.full(inputs, value)
            x[1:] *= small if wanted > 0 else 1
            exponentials = np.exp(np.einsum("i,rij->rj", x, weights) + biases)
            signal = exponentials / exponentials.sum(axis=1, keepdims=True)
            signal[:, label if target is None else target] -= 1
            change_w += x[:, None] * signal[:, None, :]
            change_b += signal
        change_w, change_b = noisy(change_w), noisy(change_b)
        seen &= change_w[:, 0, 0] == wanted
        weights = weights - learning_rate * change_w / 2
        biases = biases - learning_rate * change_b / 2
    return seen.mean()


@pytest.mark.slow
def test_two_batches_against_a_simulation():
    """With 400,000 runs of each neighbour the log ratio has a standard error of about 0.006. Six of these are
    allowed (false alarm below 1e-8)."""
    rng = np.random.default_rng(6)
    runs = 400_000
    first, other = (simulated(2, 1.0, 20.0, label, runs, rng) for label in (0, 1))
    error = np.sqrt((1 / first + 1 / other) / runs)
    bounds = leaks.two_batches(2, 1.0, 20.0)
    assert abs(np.log(first / other) - bounds.low) < 6 * error
    assert bounds.low <= bounds.high < bounds.low + 2e-3


def test_one_epoch_costs_more_than_epsilon_and_tends_to_two():
    losses = [leaks.two_batches(inputs, 1.0, 20.0) for inputs in (1, 4, 16, 64)]
    assert all(1.3 < loss.low < loss.high < 2 + 1e-9 for loss in losses)
    assert np.all(np.diff([loss.low for loss in losses]) > 0) and losses[-1].low > 1.999
    assert leaks.two_batches(1, 1.0, 0.01).low > 1.0015


@pytest.mark.slow
def test_two_of_many_batches_against_a_simulation():
    """The standard error is as above; the estimate also has an error, of about 0.004."""
    rng = np.random.default_rng(7)
    runs = 400_000
    first, other = (simulated(3, 1.0, 20.0, label, runs, rng, small=0.3) for label in (0, 1))
    estimate = leaks.many_batches(3, 1.0, 2, learning_rate=20.0, small=0.3, runs=100_000, rng=rng)
    assert abs(np.log(first / other) - estimate) < 6 * np.sqrt((1 / first + 1 / other) / runs) + 0.02


@pytest.mark.slow
def test_many_batches_cost_nearly_epsilon_each_in_large_networks():
    for batches in (2, 3, 5):
        loss = leaks.many_batches(1000, 0.7, batches, rng=np.random.default_rng(8))
        assert batches - 0.05 < loss / 0.7 < batches + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("inputs", [1, 3, 14])
def test_thresholds_that_follow_the_weights(inputs, epsilon):
    """A label moves each change by half of its interval, so each of inputs + 2 parameters loses half of its epsilon/2."""
    assert leaks.moving_thresholds(inputs, epsilon) == pytest.approx((inputs + 2) * epsilon / 4, rel=1e-12)


# ---- the attacker who sees all parameters


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_one_parameter_is_guessed_by_its_half_of_the_range(epsilon):
    assert leaks.best_guess(1, epsilon) == pytest.approx(1 - np.exp(-epsilon / 2) / 2, abs=1e-3)


def test_the_best_guess_against_a_simulation():
    """The sum of five limited noisy values, compared with its middle; standard error 0.001, false alarm below 1e-8."""
    values = np.clip(np.random.default_rng(9).laplace(0, 1, (200_000, 5)), 0, 1).sum(axis=1)
    assert abs(leaks.best_guess(5, 1.0) - np.mean(values < 2.5)) < 6e-3


# ---- bad input


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: leaks.on_grid(0, 1, 1, 0, 10), "low must be below high, got low 1, high 0"),
        (lambda: leaks.on_grid(0, 1, 0, 1, 0), r"cells must be in \[1, 1e6\], got 0"),
        (lambda: leaks.two_batches(0, 1, 1), r"inputs must be in \[1, 1000\], got 0"),
        (lambda: leaks.two_batches(1, 0, 1), r"epsilon must be in \(0, 10\], got 0"),
        (lambda: leaks.many_batches(1, 1, 1, rng=None), r"batches must be in \[2, 100\], got 1"),
        (lambda: leaks.many_batches(1, 1, 2, small=0, rng=None), r"small must be in \(0, 1e100\], got 0"),
        (lambda: leaks.moving_thresholds(0, 1), r"inputs must be in \[1, 1000\], got 0"),
        (lambda: leaks.best_guess(0, 1), r"parameters must be in \[1, 1e4\], got 0"),
        (lambda: leaks.two_batches(1, 1, 0), r"learning_rate must be in \(0, inf\), got 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
