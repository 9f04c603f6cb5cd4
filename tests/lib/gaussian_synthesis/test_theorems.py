"""The register of theorems: complete, in the order of its bounds, true of pairs of tables, and falling in the number of records."""

import inspect

import numpy as np
import pytest

from lib import gaussian_synthesis as gs
from lib.accounting import divergence
from lib.accounting.hockey_stick import hockey_stick_gaussian, hockey_stick_pair
from lib.gaussian_synthesis import THEOREMS, bounds, releases
from lib.gaussian_synthesis.releases import extremal_pair, regularised_pair

BY_NAME = {theorem.name: theorem for theorem in THEOREMS}


def test_every_bound_is_registered_once():
    functions = [function for theorem in THEOREMS for function in (theorem.renyi, theorem.exact) if function]
    assert len(BY_NAME) == len(THEOREMS) and len(set(functions)) == len(functions)
    stated = {
        value for module in (bounds, releases) for name, value in vars(module).items()
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__ == module.__name__
        and name.endswith(("epsilon", "_tight", "_joint", "_both", "_centred"))
    }  # fmt: skip
    assert stated == set(functions)
    for theorem in THEOREMS:
        assert theorem.neighbours in ("unbounded", "bounded") and theorem.renyi or theorem.exact
        assert set(theorem.covariance) <= {"plain", "regularised"}
        assert (theorem.assumes == "none") == ("plain" not in theorem.covariance)
        if theorem.source.startswith("bounded_") or theorem.source.startswith("regularised_"):
            assert "Proof." in getattr(bounds, theorem.source).__doc__


def setting(rng):
    """Return n, d, sigma and alpha for which most bounds are finite."""
    d, sigma = int(np.exp(rng.uniform(0, 4))), float(np.exp(rng.uniform(np.log(1e-3), np.log(0.99))))
    alpha = 1 + float(np.exp(rng.uniform(-4, 4)))
    return int(alpha * 4 * d / sigma * np.exp(rng.uniform(-1, 8))) + 2, d, sigma, alpha


@pytest.mark.slow
def test_all_bounds_on_random_settings_are_in_the_order_of_their_theorems():
    rng, finite = np.random.default_rng(11), dict.fromkeys(BY_NAME, 0)
    for _ in range(150):
        n, d, sigma, alpha = setting(rng)
        found = {theorem.name: theorem.renyi(n, alpha, d, sigma) for theorem in THEOREMS if theorem.renyi}
        for name, epsilon in found.items():
            assert epsilon > 0
            finite[name] += np.isfinite(epsilon)
        slack = 1 + 1e-9
        assert found["Theorem D"] <= found["Theorem 3.1"] * slack
        assert found["Theorem G'"] <= found["Theorem G"] * slack
        assert found["Theorem B"] <= found["Theorem A"] * slack and found["Theorem A"] <= found["Theorem 3.2"] * slack
        for theorem in THEOREMS:
            if theorem.attained and theorem.renyi:
                try:
                    assert theorem.attained(n, alpha, d, sigma) <= found[theorem.name] * slack, theorem.name
                except ValueError as error:  # no pair is known
                    assert "sigma must be" in str(error) or "n must be large enough" in str(error)
        # noise instead of an assumption costs little, and never less than the noise alone would show
        assert found["Theorem H"] >= gs.regularised_epsilon_attained(n, alpha, d, sigma)
    assert all(count > 75 for name, count in finite.items() if name != "Theorem E"), finite


@pytest.mark.slow
def test_all_epsilons_at_a_delta_are_above_what_is_attained():
    rng = np.random.default_rng(12)
    for _ in range(4):
        n, d, sigma, _ = setting(rng)
        d = min(d, 4)
        delta, size = float(10 ** rng.uniform(-12, -2)), int(np.exp(rng.uniform(np.log(200), np.log(n + 200))))
        found = {name: each.epsilon(n, delta, d, sigma, size=size) for name, each in BY_NAME.items()}
        slack = 1 + 1e-6
        attained = gs.released_epsilon_attained(n, delta, d, sigma, size=size)
        assert attained <= min(found[name] for name in ("Theorem 3.1", "Theorem D", "Theorem E")) * slack
        assert gs.regularised_released_epsilon_attained(n, delta, d, sigma, size=size) <= found["Theorem H"]
        through_orders = gs.released_dp(n, delta, d, sigma, size=size, bound=gs.regularised_epsilon).epsilon
        assert found["Theorem H"] <= through_orders * slack + 2e-9
        assert found["Theorem G'"] <= found["Theorem G"] * slack


def neighbours_of(rng, kind):
    """Return two neighbours in the cube, at random or extreme."""
    n, d = int(np.exp(rng.uniform(2, 6))), int(rng.integers(1, 4))
    if rng.random() < 0.5:
        common = np.where(rng.random((n, d)) < rng.uniform(0.05, 0.6, d), 1.0, -1.0)
    else:
        common = np.clip(rng.uniform(0, 1) * rng.normal(size=(n, d)) + rng.uniform(-1, 1, d), -1, 1)
    y = rng.choice([-1.0, 1.0], d) if rng.random() < 0.7 else rng.uniform(-1, 1, d)
    if rng.random() < 0.2:
        common = np.tile(-np.sign(y), (n, 1))
    if kind == "unbounded":
        pair = [common, np.vstack([common, y])]
        return pair if rng.random() < 0.5 else pair[::-1]
    x = [-y, common.mean(axis=0), rng.uniform(-1, 1, d)][rng.integers(3)]
    return [np.vstack([common, x]), np.vstack([common, y])]


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["plain", "regularised"])
@pytest.mark.parametrize("kind", ["unbounded", "bounded"])
def test_each_theorem_holds_for_the_pairs_that_it_covers(kind, covariance):
    rng, checked, nearest = np.random.default_rng(13), 0, {}
    for _ in range(70):
        first, second = neighbours_of(rng, kind)
        smaller = min(first, second, key=len)
        laws = [gs.fit(first), gs.fit(second)]
        added = float(np.exp(rng.uniform(-5, 0))) if covariance == "regularised" else 0.0
        laws = [(mean, cov + added * np.eye(len(mean))) for mean, cov in laws]
        least = {
            "first": gs.smallest_eigenvalue(first),
            "smaller": gs.smallest_eigenvalue(smaller),
            "both": min(map(gs.smallest_eigenvalue, (first, second))),
        }
        if not added and least["both"] < 1e-3:
            continue
        alpha, size, epsilon = 1 + np.exp(rng.uniform(-3, 1)), int(rng.integers(20, 60)), 0.1
        for theorem in THEOREMS:
            if theorem.neighbours != kind or covariance not in theorem.covariance:
                continue
            sigma = added or min(least[theorem.assumes], 0.999)
            if theorem.renyi:
                bound = theorem.renyi(len(smaller), alpha, smaller.shape[1], sigma)
                true = divergence.renyi_gaussian(*laws[0], *laws[1], alpha)
                assert true <= bound * (1 + 1e-9), (theorem.name, len(smaller), alpha, sigma)
            elif checked % 10 == 0:  # E
                true = hockey_stick_gaussian(*laws[0], *laws[1], epsilon, size, tolerance=1e-5)
                bound = gs.released_delta(len(smaller), epsilon, smaller.shape[1], sigma, size=size, tolerance=1e-5)[1]
                true = true.delta - true.error
                assert true <= bound
            if np.isfinite(bound) and bound > 0:
                nearest[theorem.name] = max(nearest.get(theorem.name, 0), true / bound)
            checked += 1
    assert checked > 50
    expected = {each.name for each in THEOREMS if each.neighbours == kind and covariance in each.covariance}
    assert set(nearest) == expected
    assert max(nearest.values()) > 0.7, nearest


@pytest.mark.parametrize("n, sigma, gap", [(10**7, 0.01, 1.2e-2), (10**5, 0.5, 5e-3), (10**9, 0.01, 1.2e-4)])
def test_with_noise_theorem_g_needs_no_assumption_and_is_nearly_attained(n, sigma, gap):
    """n - 1 equal records in one corner; the last one moves from there to the opposite corner."""
    d, alpha = 6, 4.0
    kappa, mean = (n - 1) * 4 * d / sigma / n**2, 4 * d / sigma / n**2
    pair = [0.0, np.sqrt(mean), 1.0, 1 + kappa]
    true = max(divergence.renyi_gaussian(pair[0], pair[2], pair[1], pair[3], alpha),
               divergence.renyi_gaussian(pair[1], pair[3], pair[0], pair[2], alpha))  # fmt: skip
    bound = gs.bounded_epsilon_both(n, alpha, d, sigma)
    assert true <= bound <= true * (1 + gap)


# ------------------------------------------------- this many records or more


@pytest.mark.slow
@pytest.mark.parametrize("size", [12, 1000])
@pytest.mark.parametrize("d, sigma", [(1, 4.0), (1, 0.02), (6, 0.01), (20, 3.0)])
def test_more_records_cost_no_more_by_theorem_h(d, sigma, size):
    epsilons, deltas = np.array([0.0, 0.05, 0.5, 2.0]), []
    sizes = [1, 2, 3, 5, 9, 40, 300, 10**4, 10**6]
    for n in sizes:
        try:
            deltas.append(releases._regularised_delta(n, epsilons, d, sigma, size, 1e-5))
        except ArithmeticError:
            deltas.append(np.ones(4))
    deltas = np.array(deltas)
    assert np.all(deltas[1:] <= deltas[:-1] * (1 + 1e-4) + 1e-13)
    alpha = 1.3
    costs = gs.regularised_epsilon(np.arange(1, 3000), alpha, d, sigma)
    assert np.all(costs[1:] <= costs[:-1] * (1 + 1e-13))


@pytest.mark.parametrize("d, sigma", [(1, 0.99), (1, 0.9999), (1, 0.3), (2, 0.999), (3, 0.99), (8, 0.01)])
def test_a_cost_falls_from_the_n_that_its_theorem_gives(d, sigma):
    """For D and E the first n with n + 1 >= 2 R / (R - 1), R the largest radius; the Rényi epsilons fall from there on."""
    s, steps = np.sqrt(1 - sigma), np.append(np.arange(60), [100, 10**4, 10**7])
    radius = d * (1 + s) / (1 - s)
    for theorem in THEOREMS:
        start = theorem.falls_from(d, sigma)
        if theorem.name in ("Theorem D", "Theorem E"):
            assert (
                start >= max(2 * radius / (radius - 1) - 1, 1) * (1 - 1e-12)
                and start - 1 < 2 * radius / (radius - 1) - 1 + 1e-9
            )
        else:
            assert start == (2 if theorem.neighbours == "bounded" else 1)
        for alpha in (1.01, 2.0, 30.0):
            if theorem.renyi:
                costs = theorem.renyi(start + steps, alpha, d, sigma)
                # the logarithms of Theorem 3.2 cancel at orders near 1
                assert np.all(costs[1:] <= costs[:-1] * (1 + (1e-9 if theorem.name == "Theorem 3.2" else 1e-13)))


@pytest.mark.slow
@pytest.mark.parametrize("d, sigma", [(1, 0.99), (1, 0.5), (2, 0.9), (3, 0.99), (6, 0.01)])
def test_more_records_cost_no_more_by_theorems_d_and_e_from_the_proof_on(d, sigma):
    radius = float(gs.largest_radius(d, sigma))
    start = int(np.ceil(2 * radius / (radius - 1))) - 1
    s = np.sqrt(1 - sigma)
    assert start == (np.ceil(1 / s) if d == 1 else start) and start <= (2 if d > 2 else 3 if d == 2 else 1 / s + 1)
    n = np.arange(start, start + 300)
    for alpha in (1.01, 1.5, 3.0, 20.0):
        costs = gs.unbounded_epsilon_tight(n, alpha, d, sigma)
        assert np.all(costs[1:] <= costs[:-1] * (1 + 1e-13))
    for size in (30,):
        deltas = np.array(
            [releases._upper_delta(k, np.array([0.0, 0.1, 1.0]), d, sigma, size, None, 1e-6) for k in n[:12]]
        )
        assert np.all(deltas[1:] <= deltas[:-1] * (1 + 1e-5) + 1e-12)


@pytest.mark.slow
def test_a_larger_difference_of_means_is_easier_to_see():
    """The lemma, for variances that shrink, stay and grow, in both directions."""
    for t in (-0.6, -0.1, 0.0, 0.2, 3.0):
        for size in (20, 60):
            deltas = []
            for m in (0.0, 0.1, 0.2, 0.5, 1.0):
                zero = np.zeros(1)
                pair = divergence.GaussianPair(np.array([m]), np.array([t]), zero, zero)
                epsilons = np.array([-1.0, 0.0, 0.3, 2.0])
                both = [hockey_stick_pair(each, epsilons, size, tolerance=1e-8) for each in (pair, pair.swapped())]
                deltas.append([each.delta for each in both])
            assert np.all(np.diff(deltas, axis=0) >= -1e-9)


@pytest.mark.parametrize("d, sigma", [(1, 0.5), (6, 0.01)])
def test_the_scaling_of_the_proof_leaves_means_that_are_large_enough(d, sigma):
    for n, more in ((3, 4), (10, 11), (10, 1000), (1000, 10**6)):
        for before, after in (
            (regularised_pair(n, d, sigma), regularised_pair(more, d, sigma)),
            (
                extremal_pair(n, d + 1, gs.largest_radius(d, sigma)),
                extremal_pair(more, d + 1, gs.largest_radius(d, sigma)),
            ),
        ):
            square = after.t[0] / before.t[0]
            assert 0 < square <= 1 and np.sqrt(square) * before.m[0] >= after.m[0]
            assert np.all(after.t[1:] / before.t[1:] <= 1)
