"""`residual_plan`: the objective by explicit matrices, and reverse water-filling against scipy's optimiser."""

import itertools
import math

import numpy as np
import pytest
import scipy

from lib.tables import residual_plan as plan
from lib.tables.residual_queries import centred, rebuilt, squared_length, squared_mu, squared_mu_of_norms

SIZES = (2, 3, 1, 5)
PAIRS = {pair: 1.0 + sum(pair) for pair in itertools.combinations(range(4), 2)}


def test_stakes_are_the_squared_error_of_the_marginals():
    """Sum of squares of all columns of the matrix from each residual's noise to the marginals that contain it."""
    found = plan.stakes(SIZES, PAIRS, 3.0)
    assert list(found) == [(), (0,), (1,), (3,), (0, 1), (0, 3), (1, 3)]
    weights = dict(PAIRS)
    for v in range(4):
        weights[v,] = 3.0 * np.sum([w for pair, w in PAIRS.items() if v in pair])
    for effect, stake in found.items():
        shape, error = [SIZES[v] for v in effect], 0.0
        for cell in np.ndindex(*shape):
            noise = np.zeros(shape)
            noise[cell] = 1.0
            for clique, weight in weights.items():
                error += weight * (rebuilt({effect: centred(noise)}, clique, SIZES) ** 2).sum()
        assert stake == pytest.approx(error)


def left(added, stakes, inverse, known):
    return (stakes / (inverse + known + added)).sum()


@pytest.mark.parametrize("seed", range(5))
def test_water_filling_is_as_good_as_scipy_finds(seed):
    rng = np.random.default_rng(seed)
    m = 8
    stakes, prices, inverse, known = (rng.exponential(size=m) + low for low in (0.1, 0.1, 0.05, 0.0))
    inverse[:3] *= 30  # small signals
    budget = 2.0
    found = plan.water_filling(stakes, prices, inverse, known, budget)
    assert found.min() == 0 and prices @ found == pytest.approx(budget)
    best = scipy.optimize.minimize(left, np.full(m, budget / prices.sum()), (stakes, inverse, known), "SLSQP", bounds=[(0, None)] * m,
                                   constraints={"type": "eq", "fun": lambda x: prices @ x - budget}, options={"ftol": 1e-12, "maxiter": 2000})  # fmt: skip
    assert best.success and left(found, stakes, inverse, known) <= best.fun * (1 + 1e-9)
    assert np.abs(found - best.x).max() < 1e-3


@pytest.mark.parametrize("seed, singles", list(itertools.product(range(2), (0.0, 6.0))))
def test_a_stage_for_bounded_neighbours_is_nearly_as_good_as_scipy_finds(seed, singles):
    """The bound on the cost becomes linear with a variable for each attribute that is short."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 4)
    stakes = {
        e: s
        for e, s in plan.stakes(sizes, dict.fromkeys(itertools.combinations(range(3), 2), 1.0), singles).items()
        if e
    }
    effects, s = list(stakes), np.array(list(stakes.values()))
    inverse = {e: float(rng.exponential()) if len(e) == 2 else 1e-3 for e in effects}
    known = {e: float(rng.exponential()) for e in effects}
    budget, i, k = 3.0, np.array([inverse[e] for e in effects]), np.array([known[e] for e in effects])

    def cost(x):
        p, slack = dict(zip(effects, x)), x[len(effects) :]
        terms = [2 * p[e] * (1 if len(e) == 1 else 1 - 1 / sizes[e[0]] - 1 / sizes[e[1]]) for e in effects]
        return budget - sum(terms) - 2 * slack.sum()

    def shortfall(x):
        p, slack = dict(zip(effects, x)), x[len(effects) :]
        return [
            slack[v] + p[v,] - sum(p[e] / sizes[sum(e) - v] for e in effects if len(e) == 2 and v in e)
            for v in range(3)
        ]

    best = scipy.optimize.minimize(lambda x: left(x[: len(effects)], s, i, k), np.full(len(effects) + 3, 0.1), method="SLSQP", bounds=[(0, None)] * (len(effects) + 3),
                                   constraints=[{"type": "ineq", "fun": cost}, {"type": "ineq", "fun": shortfall}], options={"ftol": 1e-9, "maxiter": 1000})  # fmt: skip
    assert best.success
    found = plan.added(stakes, sizes, inverse, known, budget, "bounded")
    mine = left(np.array([found.get(e, 0.0) for e in effects]), s, i, k)
    assert best.fun * (1 - 1e-6) <= mine <= best.fun * 1.01


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
@pytest.mark.parametrize("budget", [1e-8, 0.3, 1e6])
def test_a_stage_spends_its_budget_and_no_more(neighbours, budget):
    stakes = plan.stakes(SIZES, PAIRS)
    stakes = stakes if neighbours == "unbounded" else {e: s for e, s in stakes.items() if e}
    signals = {(0, 1): 1e-4, (0, 3): 1e3, (1, 3): 1.0}
    found = plan.added(stakes, SIZES, signals, {(0,): 0.2}, budget, neighbours)
    assert budget * (1 - 1e-9) <= squared_mu(found, SIZES, neighbours) <= budget
    assert ((0, 3) in found) == (budget > 1e5)  # a residual below the water gets nothing


def share_of_singles(signals, budget, known, spent, sizes=(4, 5, 30)):
    """Return the part of all budget that single attributes have after `shared`, and with each limit alone the expected error."""
    pairs = dict.fromkeys(itertools.combinations(range(len(sizes)), 2), 1.0)
    stakes, of_sets = ({e: s for e, s in plan.stakes(sizes, pairs, *more).items() if e} for more in ((1.75,), (0.0,)))
    run = lambda: plan.shared(stakes, of_sets, sizes, signals, known, budget, "unbounded", spent)  # noqa: E731
    found = run()
    assert budget * (1 - 1e-9) <= squared_mu(found, sizes, "unbounded") <= budget
    errors = {}
    for most in plan.MOST_SINGLES:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plan, "MOST_SINGLES", (most,))
            only = run()
        errors[most] = sum(s / (signals.get(e, 0.0) + known.get(e, 0.0) + only.get(e, 0.0)) for e, s in of_sets.items())
    alone = {v: known.get((v,), 0.0) + found.get((v,), 0.0) for v in range(len(sizes))}
    part = sum(p * (1 - 1 / sizes[v]) for v, p in alone.items()) / (spent + budget)
    return part, [errors[most] / errors[0.5] for most in plan.MOST_SINGLES]


@pytest.mark.parametrize(
    "weak, low",
    [(0.3, 0.5), (1.0, 0.6), (3.0, 0.8)],
    ids=["pairs that can be measured", "pairs in between", "pairs nearly lost in the noise"],
)
def test_single_attributes_have_more_than_half_only_where_pairs_hardly_lose(weak, low):
    signals = {(0, 1): weak / 10, (0, 2): weak, (1, 2): weak}
    part, errors = share_of_singles(signals, 1.0, {(0,): 0.1, (1,): 0.02}, 0.25)
    within = [most for most, error in zip(plan.MOST_SINGLES, errors) if error <= 1 + plan.LOSS]
    assert within == list(plan.MOST_SINGLES[: len(within)]) and within[-1] == low
    assert part == pytest.approx(low)


def test_limits_on_single_attributes_do_not_bind_if_they_matter_little_or_neighbours_are_bounded():
    sizes = (4, 5, 30)
    pairs = dict.fromkeys(itertools.combinations(range(3), 2), 1.0)
    stakes, of_sets = ({e: s for e, s in plan.stakes(sizes, pairs, *more).items() if e} for more in ((), (0.0,)))
    few = {e: s if len(e) == 2 else 1e-3 * s for e, s in stakes.items()}
    weak = {(0, 1): 1e-3, (0, 2): 10.0, (1, 2): 10.0}
    for each, neighbours in ((few, "unbounded"), (stakes, "bounded")):
        assert plan.shared(each, of_sets, sizes, weak, {}, 1.0, neighbours, 0.0) == plan.added(each, sizes, weak, {}, 1.0, neighbours)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_shared_stages_do_not_exceed_their_budget_by_a_last_digit(seed):
    rng, sizes = np.random.default_rng(seed), (4, 5, 30, 7)
    stakes, limited = plan.stakes(sizes, dict.fromkeys(itertools.combinations(range(4), 2), 1.0)), 0
    stakes.pop(())
    for _ in range(400):
        budget = math.exp(rng.uniform(-10, 10))
        signals = {e: rng.exponential(3 * budget) for e in stakes if len(e) == 2}
        given = sizes, signals, {(0,): budget * rng.uniform(0, 0.6)}, budget, "unbounded"
        found = plan.shared(stakes, stakes, *given, 0.0)
        limited += found != plan.added(stakes, *given)
        assert budget * (1 - 1e-9) <= squared_mu(found, sizes, "unbounded") <= budget
    assert limited > 300


def test_the_signal_of_a_norm_is_its_square_less_noise_and_error():
    """Of 64 cells with 49 degrees of freedom. The first norm is that of cells which are all off by 10/8."""
    squares = plan.CONCENTRATED / 64
    assert plan.inverse_signal(80.0, 1e-9, 0.0, (8, 8), 0.1) == pytest.approx(
        49 / (plan.CONCENTRATED * 64 * (10 / 8) ** 2)
    )
    assert plan.inverse_signal(10.0, 2.0, 5.0, (8, 8), 0.1) == pytest.approx(49 / ((100 - 25 - 2) * squares))
    lost = [
        plan.inverse_signal(norm, 2.0, error, (8, 8), 0.1) for norm, error in ((-3.0, 0.0), (0.1, 0.0), (9.0, 8.99))
    ]
    assert lost == [pytest.approx(49 / (1.6 * squares))] * 3


@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_norms_share_their_budget_equally(neighbours):
    sizes = (4, 5, 30, 7)
    found = plan.for_norms([(0, 1), (0, 2), (2, 3)], sizes, 2.0, neighbours)
    for pair, precision in found.items():
        alone = squared_mu_of_norms({pair: precision}, sizes, neighbours)
        assert alone == pytest.approx(2 / 3) and alone < squared_mu_of_norms(found, sizes, neighbours) <= 2


def test_triples_are_divided_at_the_largest_cost_for_bounded_neighbours():
    sizes, triples = (2, 3, 5, 4), list(itertools.combinations(range(4), 3))
    rng = np.random.default_rng(7)
    stakes, signals, known = (dict(zip(triples, rng.exponential(size=4))) for _ in range(3))
    parts = [sorted(1 / sizes[v] for v in triple) for triple in triples]
    prices = [2 * (1 - low) * (1 - middle) for low, middle, _ in parts]
    wanted = plan.water_filling(list(stakes.values()), prices, list(signals.values()), list(known.values()), 3.0)
    found = plan.added(stakes, sizes, signals, known, 3.0, "bounded")
    assert [found.get(triple, 0.0) for triple in triples] == pytest.approx(wanted)
    assert squared_mu(found, sizes, "bounded") == pytest.approx(3.0)


def test_a_lost_norm_does_not_make_a_pair_far_from_independence():
    guess = plan.first_signal(1000.0, 64)
    lost = plan.inverse_signal(-3.0, 1e5, 0.0, (8, 8), guess)
    assert lost == pytest.approx(guess / plan.FAR) and plan.fewer_cells(guess, lost) == pytest.approx(1.0)


def test_a_pair_with_records_in_few_cells_counts_as_so_many_fewer_cells():
    """1000 records on the diagonal of 50 x 50 cells: 1/50 of the cells are used, and `FAR` is part of the first guess."""
    table = np.diag(np.full(50, 20.0))
    tau2 = (centred(table) ** 2).sum() / 49**2
    found = plan.fewer_cells(plan.first_signal(1000.0, 50 * 50), 1 / tau2)
    assert found == pytest.approx(50 / plan.FAR, rel=0.03)
    assert plan.fewer_cells(2.0, 2.0) == plan.fewer_cells(2.0, 5.0) == 1.0


def test_equal_residuals_with_equal_prices_share_equally():
    sizes = (4, 4)
    stakes = {(0,): 1.0, (1,): 1.0}
    found = plan.added(stakes, sizes, {}, {(0,): 1.0, (1,): 1.0}, 2.0, "unbounded")
    each = 1 / float(squared_length((0,), sizes))
    assert found == {(0,): pytest.approx(each), (1,): pytest.approx(each)}


def test_a_pair_is_first_expected_to_be_off_by_an_even_cell():
    assert plan.first_signal(1000.0, 50) == pytest.approx(1 / 20**2)
    assert math.isfinite(plan.first_signal(1.0, 10**6))


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: plan.stakes((2, 2, 2), {(0, 1, 2): 1.0}), "one or two sorted positions"),
        (lambda: plan.stakes((2, 2), {(0, 1): -1.0}), r"weight of \(0, 1\) must be in .1e-100, 1e100., got -1"),
        (lambda: plan.stakes((2, 0), {(0,): 1.0}), r"sizes must be in \[1, 1e15\], got 0"),
        (lambda: plan.stakes((2, 2), {(0,): 1.0}, math.nan), "singles must be in .0, 1e100., got nan"),
        (lambda: plan.water_filling([1.0], [0.0], [0.0], [0.0], 1.0), "prices must be in .1e-100, 1e100., got 0"),
        (lambda: plan.water_filling([1.0], [1.0], [0.0], [0.0], 0.0), "budget must be in .0, 1e100., got 0"),
        (
            lambda: plan.water_filling([1.0], [1.0, 1.0], [0.0], [0.0], 1.0),
            r"same shape \(m,\), m >= 1, got \(1,\), \(2,\)",
        ),
        (lambda: plan.first_signal(0.5, 4), r"records must be in \[1, inf\), got 0.5"),
        (lambda: plan.inverse_signal(1.0, 1.0, 0.0, (2, 2), 0.0), "guess must be in .0, 1e150., got 0"),
        (lambda: plan.fewer_cells(1.0, 0.0), "inverse_signal must be in .0, 1e150., got 0"),
    ],
)
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()
