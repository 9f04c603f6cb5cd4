"""The document's mirror descent against `graphical_model.fit` and against its own definition."""

import numpy as np
import pytest

from lib.tables.entropic_mirror_descent import mirror_descent
from lib.tables.graphical_model import Measurement, fit
from lib.tables.marginal_oracle import MarginalOracle
from lib.tables.table import Domain

DOMAIN = Domain({"a": 2, "b": 3, "c": 2})


def measurements(rng):
    return [
        Measurement(names, rng.normal(100, 20, DOMAIN.shape(names)), sigma)
        for names, sigma in ((("a", "b"), 5.0), (("c", "b"), 3.0), (("a", "c"), 8.0), (("b",), 4.0), (("a", "b"), 9.0))
    ]


def loss_of(model, noisy):
    return sum(np.sum((model.marginal(m.attributes) - m.values) ** 2) / (2 * m.sigma**2) for m in noisy)


@pytest.mark.slow
def test_it_reaches_the_loss_of_the_dual_method():
    noisy = measurements(np.random.default_rng(1))
    descent = mirror_descent(DOMAIN, noisy, 600.0, steps=3000)
    dual = fit(DOMAIN, noisy, 600.0, tau=1e-6, tolerance=1e-8)
    assert descent.losses[-1] == pytest.approx(loss_of(dual, noisy), rel=1e-5)
    for names in (("a", "b"), ("b", "c"), ("a", "c")):
        assert np.allclose(descent.model.marginal(names), dual.marginal(names), atol=0.1)


def test_losses_fall_and_belong_to_the_model():
    noisy = measurements(np.random.default_rng(2))
    descent = mirror_descent(DOMAIN, noisy, 600.0, steps=50)
    assert descent.losses.shape == (51,) and (np.diff(descent.losses) <= 1e-9).all()
    assert descent.losses[-1] == pytest.approx(loss_of(descent.model, noisy))


def test_one_step_is_the_one_of_algorithm_1():
    """On one clique: mu proportional to exp(-eta (mu_0 - y)), with equal weights."""
    y = np.array([10.0, 20.0, 60.0])
    model, losses, calls = mirror_descent(
        Domain({"a": 3}), [Measurement(("a",), y, 2.0)], 90.0, steps=1, step_size=0.01, weights="equal"
    )
    mu = np.exp(-0.01 * (30.0 - y))
    assert np.allclose(model.marginal(("a",)), 90 * mu / mu.sum())
    assert losses[0] == pytest.approx(np.sum((30 - y) ** 2) / 2)
    assert calls.tolist() == [1, 2]  # to start with, and after a step of given size


def test_it_counts_the_calls_of_the_oracle(monkeypatch):
    """The calls of the line search count as well; the very last call belongs to the model that is returned."""
    seen, call = [], MarginalOracle.__call__
    monkeypatch.setattr(MarginalOracle, "__call__", lambda self, theta: seen.append(1) or call(self, theta))
    descent = mirror_descent(DOMAIN, measurements(np.random.default_rng(5)), 600.0, steps=20)
    assert descent.calls.shape == (21,) and descent.calls[-1] == len(seen) - 1 > 21
    assert descent.calls[0] == 1 and (np.diff(descent.calls) >= 1).all()


@pytest.mark.parametrize("weights, power", [("inverse-variance", 2), ("inverse-deviation", 1), ("equal", 0)])
def test_weights(weights, power):
    noisy = measurements(np.random.default_rng(3))
    losses = mirror_descent(DOMAIN, noisy, 600.0, steps=1, weights=weights).losses
    uniform = [np.sum((600 / DOMAIN.size(m.attributes) - m.values) ** 2) / 2 / m.sigma**power for m in noisy]
    assert losses[0] == pytest.approx(sum(uniform))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"total": 0}, "total"), ({"steps": 0}, "steps"), ({"step_size": -1}, "step_size"), ({"weights": "x"}, "weights"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused(arguments, message):
    noisy = measurements(np.random.default_rng(4))
    with pytest.raises(ValueError, match=f"{message} must be"):
        mirror_descent(**{"domain": DOMAIN, "measurements": noisy, "total": 600.0} | arguments)
    with pytest.raises(ValueError, match="must include a measurement of an attribute"):
        mirror_descent(DOMAIN, [], 10.0)


def test_a_measurement_of_the_total_changes_nothing_as_the_total_is_given():
    domain = Domain({"a": 2, "b": 3})
    of_a = Measurement(("a",), np.array([60.0, 40.0]), 1.0)
    both = [Measurement((), np.array(80.0), 1.0), of_a]
    one, other = (mirror_descent(domain, measured, 100.0, steps=5) for measured in ([of_a], both))
    assert np.array_equal(one.losses, other.losses)
    with pytest.raises(ValueError, match="must include a measurement of an attribute"):
        mirror_descent(domain, both[:1], 100.0)
