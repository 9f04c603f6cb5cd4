"""AIM's last fit: what each step is given, how the entropy is weighted, and that the fit serves its purpose."""

import numpy as np
import pytest

from lib.tables import last_fit
from lib.tables.graphical_model import Measurement, fit_reconciled
from lib.tables.reconciliation import Reconciliation
from lib.tables.table import Domain

DOMAIN = Domain({"a": 3, "b": 4, "c": 2})
SHARES = [np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.8, 0.2])]
LINKED = np.array([[1.0, -1.0, 0.5, -0.5], [-1.0, 1.0, -0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])


def known(rng, sigma=30.0, records=5000.0, link=150.0):
    """Return measurements of all single attributes and pairs; only the first pair, a and b, interacts."""
    reconciliation = Reconciliation(DOMAIN.sizes)
    for clique in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        truth = records * np.ones(())
        for v in clique:
            truth = np.multiply.outer(truth, SHARES[v])
        if clique == (0, 1):
            truth = truth + link * LINKED
        reconciliation.add(clique, truth + rng.normal(0, sigma, truth.shape), sigma)
    return reconciliation


def test_each_step_is_held_to_the_one_before_and_the_model_tells_of_all(monkeypatch):
    fits = []

    def fitted(domain, reconciliation, tau, tolerance, start, *, centre=None):
        fits.append((fit_reconciled(domain, reconciliation, tau, tolerance, start, centre=centre), tau, start, centre))
        evaluations.append(fits[-1][0].evaluations)
        return fits[-1][0]

    evaluations = []
    monkeypatch.setattr(last_fit, "fit_reconciled", fitted)
    reconciliation = known(np.random.default_rng(1))
    begun = fit_reconciled(DOMAIN, reconciliation, 0.01, 0.1)
    model = last_fit.fit(DOMAIN, reconciliation, 30.0, "adaptive", begun)
    models = [fit[0] for fit in fits]
    assert len(models) == len(last_fit.TOLERANCES) > 1 and models[-1] is model
    assert [fit[2] for fit in fits] == [begun, *models[:-1]] and [fit[3] for fit in fits] == [None, *models[:-1]]
    for (one, tau, _, centre), tolerance in zip(fits, last_fit.TOLERANCES):
        assert one.converged and one.gap <= tolerance * sum(values.size for values in one.potentials.values()) / 2
        assert tau == last_fit.entropies(DOMAIN, reconciliation, centre)
    assert model.evaluations == sum(evaluations)


def test_a_model_of_which_one_step_did_not_converge_says_so(monkeypatch):
    def fitted(domain, reconciliation, tau, tolerance, start, *, centre=None):
        return fit_reconciled(domain, reconciliation, tau, tolerance, start, 10_000 if centre else 2, centre=centre)

    monkeypatch.setattr(last_fit, "fit_reconciled", fitted)
    assert not last_fit.fit(DOMAIN, known(np.random.default_rng(1)), 30.0, "adaptive").converged


def test_a_plain_fit_weighs_the_entropy_by_the_last_scale_alone():
    reconciliation = known(np.random.default_rng(1))
    model = last_fit.fit(DOMAIN, reconciliation, 25.0, "plain")
    same = fit_reconciled(DOMAIN, reconciliation, 0.03 / 25, 0.001)
    assert all(np.array_equal(model.potentials[clique], same.potentials[clique]) for clique in model.cliques)


def test_the_weights_of_the_entropy_are_those_of_the_formula():
    reconciliation = Reconciliation((2,))
    reconciliation.add((0,), np.array([60.0, 40.0]), 3.0)
    assert last_fit.entropies(Domain({"a": 2}), reconciliation) == {(0,): pytest.approx(1.5 / 3)}
    pair = Reconciliation((2, 2), 100)
    pair.add((0, 1), np.array([[50.0, 10.0], [20.0, 20.0]]), 3.0)
    strength = (4 * (50 - 60 * 70 / 100)) ** 2 / (4 * 3**2)
    expected = 2 / 3 + 4 * 25 / 9 / (strength - 1)
    assert last_fit.entropies(Domain({"a": 2, "b": 2}), pair)[0, 1] == pytest.approx(expected)


def test_the_entropy_is_heavier_beside_what_stands_out_less():
    reconciliation = known(np.random.default_rng(2))
    weights = last_fit.entropies(DOMAIN, reconciliation)
    assert weights[0, 1] < min(weights[0, 2], weights[1, 2]) / 5
    far = last_fit.entropies(DOMAIN, known(np.random.default_rng(2), link=300.0))
    assert far[0, 1] < weights[0, 1]


def test_a_model_that_contradicts_a_faint_interaction_makes_it_stand_out():
    """By the measurement a and c are independent. A model that links them must see this, though the measurement
    exceeds its noise no more than before."""
    reconciliation = known(np.random.default_rng(3), sigma=60.0)
    linked = last_fit.fit(DOMAIN, _linking_a_and_c(), 1.0, "plain")
    before, after = (last_fit.entropies(DOMAIN, reconciliation, centre) for centre in (None, linked))
    assert after[0, 2] < before[0, 2] / 5
    assert all(after[effect] == before[effect] for effect in [(0,), (1,), (2,)])


def _linking_a_and_c():
    reconciliation = Reconciliation(DOMAIN.sizes)
    reconciliation.add((0, 2), np.array([[3500.0, 0.0], [400.0, 600.0], [100.0, 400.0]]), 1.0)
    for clique in [(0, 1), (1, 2)]:
        reconciliation.add(clique, 5000 * np.multiply.outer(*(SHARES[v] for v in clique)), 50.0)
    return reconciliation


def test_an_attribute_with_equal_counts_keeps_them_beside_strong_pairs():
    """Two strong pairs shift the counts of their common attribute by a tenth if its own measurement has no say."""
    rng, domain = np.random.default_rng(6), Domain({"a": 16, "b": 3, "c": 3})
    counts = rng.multinomial(400, [0.8, 0.15, 0.05], 16), rng.multinomial(400, [0.1, 0.1, 0.8], 16)
    reconciliation = Reconciliation(domain.sizes)
    reconciliation.add((0,), 400 + rng.normal(0, 4, 16), 4.0)
    for clique, pair in zip([(0, 1), (0, 2)], counts):
        reconciliation.add(clique, pair + rng.normal(0, 12, pair.shape), 12.0)
    model = last_fit.fit(domain, reconciliation, 12.0, "adaptive")
    assert np.abs(model.counts((0,)) - 400).mean() < 1.5


def test_what_is_noise_is_followed_less_than_by_a_plain_fit():
    """40 tables, four linked counts and much noise: the mean squared error of all pairs. The standard error of the ratio is some 0.02."""
    errors = dict.fromkeys(last_fit.KINDS, 0.0)
    rng = np.random.default_rng(4)
    for _ in range(40):
        reconciliation = known(rng, sigma=100.0)
        for kind in errors:
            model = last_fit.fit(DOMAIN, reconciliation, 100.0, kind)
            for clique in [(0, 1), (0, 2), (1, 2)]:
                truth = 5000 * np.multiply.outer(*(SHARES[v] for v in clique)) + 150 * (
                    LINKED if clique == (0, 1) else 0
                )
                errors[kind] += ((model.counts(clique) - truth) ** 2).sum()
    assert errors["adaptive"] < 0.9 * errors["plain"], errors


@pytest.mark.parametrize("sigma", [1e-6, 1e6])
def test_no_and_much_noise_end_in_a_model(sigma):
    for kind in last_fit.KINDS:
        model = last_fit.fit(DOMAIN, known(np.random.default_rng(5), sigma=sigma), sigma, kind)
        assert model.converged and all(np.isfinite(model.marginal(["a", "b"]).ravel()))


def test_measurements_of_one_value_and_none_at_all_are_fitted():
    domain = Domain({"a": 1, "b": 2})
    reconciliation = Reconciliation(domain.sizes)
    assert last_fit.fit(domain, reconciliation, 1.0, "adaptive").total == 1
    for measurement in [
        Measurement(("a",), np.array([10.0]), 1.0),
        Measurement(("a", "b"), np.array([[4.0, 6.0]]), 1.0),
    ]:
        reconciliation.add(*measurement.checked(domain))
    assert last_fit.fit(domain, reconciliation, 1.0, "adaptive").converged
