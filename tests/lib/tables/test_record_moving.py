"""`record_moving`: the distance by a fresh count, what moves and what stays, and AIM's records closer to its model."""

import itertools

import numpy as np
import pytest

from lib.tables import Domain, Table, aim, moved
from lib.tables import record_moving as moving
from tests.lib.tables.made import dependent

DOMAIN = Domain({"a": 3, "b": 4, "c": 2, "d": 5})
PAIRS = list(itertools.combinations(DOMAIN.attributes, 2))


def independent(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return Table(np.stack([rng.integers(0, size, n) for size in DOMAIN.sizes], axis=1), DOMAIN)


def targets(table=None, noise=0.0):
    """The counts of `table`, by default dependent ones, with noise that leaves the number of records as it is."""
    table, rng, found = table or dependent(DOMAIN, 3000), np.random.default_rng(2), {}
    for pair in PAIRS:
        extra = rng.normal(0, 1, DOMAIN.shape(pair))
        found[pair] = table.marginal(pair) + noise * (extra - extra.mean())
    return found


def distance(table, wanted, weights=None, singles=0.0):
    """F of the module's text, counted anew."""
    weights = weights or dict.fromkeys(wanted, 1.0)
    found = sum(w * ((table.marginal(pair) - wanted[pair]) ** 2).sum() for pair, w in weights.items())
    one = singles * np.mean(list(weights.values()))
    for name in {name for pair in wanted for name in pair}:
        margins = [np.asarray(t).sum(axis=1 - pair.index(name)) for pair, t in wanted.items() if name in pair]
        found += one * ((table.marginal((name,)) - np.mean(margins, axis=0)) ** 2).sum()
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_every_move_lowers_the_distance_and_the_state_stays_true(weighted):
    """With targets for some pairs only, one of them the other way round, and noisy: each sum is compared with a new count."""
    table, rng = independent(), np.random.default_rng(3)
    wanted = {pair: t for pair, t in targets(noise=20.0).items() if pair != ("b", "c")}
    wanted["d", "a"] = wanted.pop(("a", "d")).T
    weights = {pair: 1.0 + 3 * place * weighted for place, pair in enumerate(wanted)}
    state = moving._State(table, moving._pairs(table, wanted, weights), 2.5)
    last = state.distance
    assert last == pytest.approx(distance(table, wanted, weights, 2.5))
    exchanged = 0
    for v, together in itertools.product([0, 1, 2, 3] * 6, [1, 2]):
        state.shuffle(rng)
        before, records = Table(state.records.copy(), DOMAIN), state.records
        state.move(v, together, rng)
        assert state.distance <= last
        if together == 2:
            assert all(np.array_equal(before.marginal((u,)), Table(records, DOMAIN).marginal((u,))) for u in "abcd")
            exchanged += (before.records != records).sum()
        last = state.distance
        assert last == pytest.approx(distance(Table(state.records, DOMAIN), wanted, weights, 2.5))
        for u, others in state.others.items():
            now = Table(state.records, DOMAIN)
            fresh = [now.marginal(names := tuple(DOMAIN.attributes[x] for x in (w, u))) - np.asarray(wanted.get(names, wanted.get(names[::-1], np.zeros((0, 0))).T))
                     for w in others]  # fmt: skip
            assert np.allclose(np.concatenate(fresh), state.residuals[u])
    assert last < 0.2 * distance(table, wanted, weights, 2.5) and exchanged > 100


def test_pairs_come_close_to_targets_that_records_can_meet():
    """From a fifth of all records off to a few of them: a tenth of a sweep moves at once, and the last moves are of single records."""
    table, wanted = independent(), targets()
    for singles in (0.0, 10.0):
        found = moved(table, wanted, rng=np.random.default_rng(4), singles=singles)
        assert distance(found, wanted) < 1e-3 * distance(table, wanted)
        assert len(found) == len(table) and found.domain == DOMAIN


def test_records_that_meet_their_targets_stay_where_they_are():
    table = dependent(DOMAIN, 3000)
    assert np.array_equal(moved(table, targets(), rng=np.random.default_rng(5)).records, table.records)


def test_what_no_target_asks_for_stays():
    table = independent()
    found = moved(table, {("a", "b"): dependent(DOMAIN, 3000).marginal(("a", "b"))}, rng=np.random.default_rng(6))
    assert np.array_equal(found.records[:, 2:], table.records[:, 2:])
    assert not np.array_equal(found.records[:, :2], table.records[:, :2])


def test_the_same_seed_gives_the_same_records_and_the_table_stays():
    table, before = independent(), independent().records
    one, two, other = (moved(table, targets(noise=9.0), rng=np.random.default_rng(seed)).records for seed in (7, 7, 8))
    assert np.array_equal(one, two) and not np.array_equal(one, other) and np.array_equal(table.records, before)


def test_single_attributes_gain_from_their_own_term():
    """Where the pairs' targets disagree by noise: the distance of the single attributes from their mean targets."""
    wanted = targets(noise=15.0)

    def singles(found):
        return distance(found, wanted, singles=1.0) - distance(found, wanted)

    without, with_term = (
        moved(independent(), wanted, rng=np.random.default_rng(9), singles=one) for one in (0.0, 100.0)
    )
    assert singles(with_term) < 0.5 * singles(without)


def test_exchanges_bring_pairs_closer_than_single_moves_if_single_attributes_weigh_much(monkeypatch):
    table, wanted = independent(), targets(noise=15.0)
    with_exchanges = distance(moved(table, wanted, rng=np.random.default_rng(14), singles=1e4), wanted)
    monkeypatch.setattr(moving, "_TURNS", (1, 1, 1))
    assert with_exchanges < 0.8 * distance(moved(table, wanted, rng=np.random.default_rng(14), singles=1e4), wanted)


def test_single_attributes_are_brought_back_at_the_end(monkeypatch):
    wanted = targets(noise=100.0)

    def off(found):
        return moving._State(found, moving._pairs(found, wanted, None), 0.0).off()

    once = moved(independent(), wanted, rng=np.random.default_rng(15), singles=3.0)
    assert off(once) <= moving.OFF
    monkeypatch.setattr(moving, "_LAST", 0)
    without = moved(independent(), wanted, rng=np.random.default_rng(15), singles=3.0)
    assert off(without) > 2 * moving.OFF
    assert distance(once, wanted) < 1.1 * distance(without, wanted)


@pytest.mark.parametrize("singles", [0.0, 3.0])
def test_only_single_attributes_that_are_off_have_last_sweeps(singles, monkeypatch):
    """Targets for more records: no move can mend the mean over the values, which does not count as off."""
    sweeps, shuffle = [], moving._State.shuffle
    monkeypatch.setattr(moving._State, "shuffle", lambda self, rng: sweeps.append(self.one) or shuffle(self, rng))
    noisy = targets(noise=100.0 * (singles == 0))
    if not singles:
        monkeypatch.setattr(moving._State, "off", lambda self: pytest.fail("last sweeps were begun"))
    moved(
        independent(),
        {pair: counts + 60 / counts.size for pair, counts in noisy.items()},
        rng=np.random.default_rng(15),
        singles=singles,
    )
    assert len(sweeps) > 3 and len(set(sweeps)) == 1


def test_the_distance_is_that_of_the_heavier_weight():
    wanted = targets(noise=20.0)
    state = moving._State(independent(), moving._pairs(independent(), wanted, None), 2.5)
    state.weigh(4.0)
    assert state.distance == pytest.approx(distance(independent(), wanted, singles=10.0))


def test_few_records_move_at_once(monkeypatch):
    """At most `_MOST`, and at most `_MOST_CELLS` values of them."""
    parts, changed = [], moving._State._changed
    monkeypatch.setattr(
        moving._State,
        "_changed",
        lambda self, v, rows, *more: parts.append((v, len(rows))) or changed(self, v, rows, *more),
    )
    for name, limit in (("_MOST", 40), ("_MOST_CELLS", 80)):
        with monkeypatch.context() as patch:
            patch.setattr(moving, name, limit)
            moved(independent(), targets(), rng=np.random.default_rng(16), sweeps=2)
        most = {v: max(count for u, count in parts if u == v) for v in range(4)}
        assert all(0 < most[v] <= (limit if name == "_MOST" else limit // DOMAIN.sizes[v]) for v in most)
        parts.clear()


def test_only_records_that_want_each_others_values_exchange_the_best_with_the_best():
    old, new = np.array([0, 1, 0, 2, 1, 1, 0]), np.array([1, 0, 1, 0, 0, 2, 2])
    promised = np.array([-1.0, -5.0, -3.0, -9.0, -2.0, -8.0, -4.0])
    pairs = moving._exchanges(np.arange(7), old, new, promised, 3)
    assert sorted(map(tuple, pairs.tolist())) == [(0, 4), (2, 1), (6, 3)]
    old, new, promised = np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([-1.0, -9.0, -5.0])
    assert moving._exchanges(np.arange(3), old, new, promised, 2).tolist() == [[1, 2]]


def test_a_heavier_pair_comes_closer():
    wanted, pair = targets(noise=40.0), ("a", "b")
    even, heavy = (
        moved(
            independent(),
            wanted,
            rng=np.random.default_rng(10),
            singles=0.0,
            weights={p: w if p == pair else 1.0 for p in PAIRS},
        )
        for w in (1.0, 50.0)
    )
    assert distance(heavy, {pair: wanted[pair]}) < 0.5 * distance(even, {pair: wanted[pair]})


def test_few_records_and_values_that_never_occur():
    table = Table(np.zeros((3, 4), dtype=int), DOMAIN)
    found = moved(table, {("a", "d"): np.full((3, 5), 0.2)}, rng=np.random.default_rng(11))
    assert distance(found, {("a", "d"): np.full((3, 5), 0.2)}) < distance(table, {("a", "d"): np.full((3, 5), 0.2)})


def test_aims_records_come_closer_to_aims_model():
    result = aim(dependent(DOMAIN, 3000), 5.0, 1e-6, rng=np.random.default_rng(12))
    wanted = {pair: result.model.marginal(pair) for pair in PAIRS}
    found = moved(result.synthetic, wanted, rng=np.random.default_rng(13))
    assert distance(found, wanted) < 0.6 * distance(result.synthetic, wanted)


@pytest.mark.parametrize(
    "options, named",
    [
        ({"targets": {}}, "targets must be a mapping with one pair of attributes or more"),
        ({"targets": {("a",): [1.0, 1.0, 1.0]}}, "targets must be for pairs of attributes, got .'a',."),
        ({"targets": {("a", "c"): np.ones((2, 3))}}, r"targets\[\('a', 'c'\)\] must have shape \(3, 2\), got \(2, 3\)"),
        ({"targets": {("a", "c"): np.full((3, 2), np.nan)}}, "must be in .-1e15, 1e15., got nan"),
        ({"targets": {("a", "c"): np.ones((3, 2)), ("c", "a"): np.ones((2, 3))}}, "targets must have each pair once"),
        ({"targets": {("a", "z"): np.ones((3, 2))}}, "attributes must be among"),
        ({"weights": {("a", "b"): 1.0}}, "weights must be a mapping from the pairs of targets"),
        ({"weights": dict.fromkeys(PAIRS, 0.0)}, "must be in .1e-6, 1e6., got 0"),
        ({"singles": -1.0}, "singles must be in .0, 1e6., got -1"),
        ({"sweeps": 0}, r"sweeps must be in \[1, inf\), got 0"),
        ({"rng": 1}, "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_input_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        moved(**{"table": independent(20), "targets": targets(), "rng": np.random.default_rng(1)} | options)
