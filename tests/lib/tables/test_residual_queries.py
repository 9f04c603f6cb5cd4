"""`residual_queries`: brute force over all records, marginals rebuilt, and the cost of a stage for both kinds of neighbours."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lib.accounting import gaussian_delta, hockey_stick_gaussian
from lib.mechanisms.noise import gaussian
from lib.tables import residual_queries as queries
from lib.tables.residual_queries import centred, rebuilt, sigma_for, squared_length, squared_mu

SIZES = (2, 3, 1, 4)
RECORDS = list(itertools.product(*map(range, SIZES)))
EFFECTS = [effect for k in range(4) for effect in itertools.combinations(range(len(SIZES)), k)]


def counts(records, effect, sizes=SIZES):
    table = np.zeros([sizes[v] for v in effect])
    for record in records:
        table[tuple(record[v] for v in effect)] += 1
    return table


def apart(one, other, precisions, sizes=SIZES):
    """The squared distance of the residuals of two lists of records, in units of their noise."""
    return math.fsum(
        p * ((centred(counts(one, e, sizes)) - centred(counts(other, e, sizes))) ** 2).sum()
        for e, p in precisions.items()
    )


def drawn(seed, sizes=SIZES, singles=1.0):
    """Random precisions, half of those of pairs 0."""
    rng = np.random.default_rng(seed)
    found = {}
    for k in range(3):
        for effect in itertools.combinations(range(len(sizes)), k):
            found[effect] = float(rng.exponential() * (singles if k == 1 else rng.integers(2) if k == 2 else 1))
    return found


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_every_record_adds_the_same_length(effect):
    before = [RECORDS[3], RECORDS[3], RECORDS[10]]
    for record in RECORDS:
        change = centred(counts([*before, record], effect)) - centred(counts(before, effect))
        assert (change**2).sum() == pytest.approx(float(squared_length(effect, SIZES)), abs=1e-14)


def test_a_marginal_is_rebuilt_from_residuals():
    rng = np.random.default_rng(1)
    records = [RECORDS[i] for i in rng.integers(len(RECORDS), size=50)]
    everything = [e for k in range(4) for e in itertools.combinations(range(len(SIZES)), k)]
    residuals = {effect: centred(counts(records, effect)) for effect in everything}
    for clique in everything:
        assert np.allclose(rebuilt(residuals, clique, SIZES), counts(records, clique))


@pytest.mark.parametrize("effect", EFFECTS, ids=str)
def test_a_multiple_of_a_residual_is_an_integer_of_known_length(effect):
    """It is n_a n_b x_ab - n_a x_a - n_b x_b + N, and how far each record moves it."""
    scale = math.prod(SIZES[v] for v in effect)
    before = scale * centred(counts([RECORDS[3], RECORDS[3], RECORDS[10]], effect))
    assert np.abs(before - np.rint(before)).max() < 1e-12
    for record in RECORDS:
        after = np.rint(scale * centred(counts([RECORDS[3], RECORDS[3], RECORDS[10], record], effect)))
        moved_by = after - np.rint(before)
        assert (moved_by**2).sum() == math.prod(SIZES[v] * (SIZES[v] - 1) for v in effect)


def test_a_shift_of_discrete_gaussian_noise_costs_at_most_half_its_square():
    """Renyi divergences of two shifted laws by their sums, for several orders and small scales, where they differ most."""
    for sigma, shift, order in itertools.product((0.4, 1.0, 3.7), (1, 2, 5), (1.5, 2.0, 7.3)):
        places = np.arange(-200, 201)
        one = -(places**2) / (2 * sigma**2)
        other = -((places - shift) ** 2) / (2 * sigma**2)
        total = np.logaddexp.reduce(one)
        divergence = (np.logaddexp.reduce(order * other + (1 - order) * one) - total) / (order - 1)
        assert divergence <= order * shift**2 / (2 * sigma**2) * (1 + 1e-12)


def test_a_residual_sums_to_nothing_along_each_axis_and_is_its_own_residual():
    table = np.random.default_rng(2).normal(size=(3, 4))
    residual = centred(table)
    assert np.abs(residual.sum(axis=0)).max() < 1e-14 and np.abs(residual.sum(axis=1)).max() < 1e-14
    assert np.allclose(centred(residual), residual) and centred(7.0) == 7.0


@pytest.mark.parametrize("seed", range(3))
def test_the_cost_is_that_of_every_record_added(seed):
    precisions = drawn(seed)
    for record in RECORDS:
        assert apart([RECORDS[5], record], [RECORDS[5]], precisions) == pytest.approx(
            squared_mu(precisions, SIZES, "unbounded")
        )


@pytest.mark.slow
@pytest.mark.parametrize("singles", [0.0, 0.3, 1.0, 5.0])
def test_the_cost_bounds_that_of_every_record_replaced(singles):
    """It is attained if at most one attribute is asked about less than its pairs reveal of it."""
    attained = exceeded = 0
    for seed in range(12):
        sizes = (2, 3, 3)
        precisions = drawn(seed, sizes, singles)
        records = list(itertools.product(*map(range, sizes)))
        worst = max(apart([one], [other], precisions, sizes) for one, other in itertools.combinations(records, 2))
        cost = squared_mu(precisions, sizes, "bounded")
        assert worst <= cost * (1 + 1e-12)
        short = [
            sum(precisions[min(u, v), max(u, v)] / sizes[u] for u in range(3) if u != v) > precisions[v,]
            for v in range(3)
        ]
        if sum(short) <= 1:
            assert worst == pytest.approx(cost)
            attained += 1
        exceeded += cost > worst * (1 + 1e-9)
        assert cost <= 4 * squared_mu({e: p for e, p in precisions.items() if e}, sizes, "unbounded")
    assert attained if singles >= 1 else exceeded or not singles


@pytest.mark.parametrize("sizes", [(2, 3, 3), (2, 2, 2), (5, 3, 4), (3, 1, 2), (17, 3, 12)], ids=str)
def test_the_cost_of_a_triple_bounds_that_of_every_record_replaced(sizes):
    """Alone, it is attained by records that differ in the attribute of fewest values. Together with others, it is a bound."""
    records = list(itertools.product(*map(range, sizes)))
    together = {e: p for e, p in zip(EFFECTS, np.random.default_rng(5).exponential(size=99)) if 3 not in e}
    for precisions in ({(0, 1, 2): 0.7}, together | {(0, 1, 2): 2.0}):
        worst = max(apart(records[:1], [other], precisions, sizes) for other in records)  # any first one gives the same
        cost = squared_mu(precisions, sizes, "bounded")
        assert worst <= cost * (1 + 1e-12)
        assert len(precisions) > 1 or cost == pytest.approx(worst)


def test_costs_are_rounded_up():
    for seed, neighbours in itertools.product(range(20), ("unbounded", "bounded")):
        sizes = (7, 3, 11)
        precisions = drawn(seed, sizes, 9.0)
        part = [Fraction(1, size) for size in sizes]
        exact = Fraction(0)
        for effect, p in precisions.items():
            if neighbours == "unbounded":
                exact += Fraction(p) * math.prod(1 - part[v] for v in effect)
            elif effect:
                exact += 2 * Fraction(p) * (1 if len(effect) == 1 else 1 - part[effect[0]] - part[effect[1]])
        if neighbours == "bounded":
            for v in range(3):
                others = sum(Fraction(p) * part[sum(e) - v] for e, p in precisions.items() if len(e) == 2 and v in e)
                exact += 2 * max(others - Fraction(precisions[v,]), 0)
            exact = min(
                exact, 4 * sum(Fraction(p) * math.prod(1 - part[v] for v in e) for e, p in precisions.items() if e)
            )
        assert exact <= Fraction(squared_mu(precisions, sizes, neighbours)) <= exact * (1 + Fraction(1, 10**14))


def test_the_noise_is_never_below_its_precision():
    for precision in np.exp(np.random.default_rng(3).uniform(-300, 300, 500)).tolist():
        sigma = sigma_for(precision)
        assert Fraction(sigma) ** 2 * Fraction(precision) >= 1
        assert Fraction(sigma * (1 - 2**-51)) ** 2 * Fraction(precision) < 1


def test_an_answer_is_the_residual_plus_the_residual_of_the_noise():
    table = np.arange(6.0).reshape(2, 3)
    noise = gaussian((2, 3), 1.5, rng=np.random.default_rng(4))
    assert np.allclose(queries.answer(table, 1.5, rng=np.random.default_rng(4)), centred(table) + centred(noise))


def test_two_stages_cost_what_their_joint_gaussian_laws_cost():
    """Against the hockey-stick divergence of all answers together, in coordinates of the space of each residual."""
    sizes, stages = (2, 3), [{(0,): 0.2, (0, 1): 0.5, (): 0.1}, {(1,): 0.4, (0, 1): 0.3}]
    means, noise = [], []
    for precisions in stages:
        for effect, precision in precisions.items():
            centring = np.ones((1, 1))
            for v in effect:
                centring = np.kron(centring, np.eye(sizes[v]) - 1 / sizes[v])
            values, vectors = np.linalg.eigh(centring)
            basis = vectors[:, values > 0.5]  # the noise centring @ z has the covariance basis' basis / p in it
            means.append(basis.T @ centring @ counts([(1, 2)], effect, sizes).ravel())
            noise += [1 / precision] * basis.shape[1]
    mean = np.concatenate(means)
    mu = math.sqrt(sum(squared_mu(precisions, sizes, "unbounded") for precisions in stages))
    joint = hockey_stick_gaussian(mean, np.diag(noise), np.zeros(len(mean)), np.diag(noise), 0.7)
    assert gaussian_delta(1 / mu, 0.7) == pytest.approx(float(joint.delta), rel=1e-9)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: centred(np.zeros((0, 2))), "table must not be empty"),
        (lambda: centred([1.0, np.nan]), "table must be in .-1e150, 1e150., got nan"),
        (lambda: squared_mu({(0, 1, 2, 3): 1.0}, (2,) * 4, "unbounded"), r"at most three sorted positions in \[0, 4\), got \(0, 1, 2, 3\)"),
        (lambda: squared_mu({(1, 0): 1.0}, (2, 2), "unbounded"), r"sorted positions in \[0, 2\), got \(1, 0\)"),
        (lambda: squared_mu({(0,): -1.0}, (2, 2), "unbounded"), r"precision of \(0,\) must be in \[0, 1e150\], got -1"),
        (lambda: squared_mu({(0,): 1.0}, (0, 2), "unbounded"), r"sizes must be in \[1, 1e15\], got 0"),
        (lambda: squared_mu({(0,): 1.0}, (2,), "near"), "neighbours must be one of 'unbounded', 'bounded', got 'near'"),
        (lambda: sigma_for(0.0), r"precision must be in \[1e-150, 1e150\], got 0"),
        (lambda: queries.answer([1.0], 0.0, rng=np.random.default_rng(1)), r"sigma must be in \(0, 1e150\], got 0"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
