"""`exact_law`: programs whose law is known by hand, every protocol of the package, leaks that the law shows.

Everything is computed, except for one comparison with random draws, which gives its false-alarm rate.
"""

import importlib
import inspect
import itertools
import math
import pkgutil

import numpy as np
import pytest
from scipy import stats

from lib import local
from lib.attacks import exact_law
from lib.attacks.exact_law import SEEDS, NotEnumerable, exact_loss, report_law
from lib.local import GRR, OLH, ORACLES, SHE, SUE, HadamardResponse, LocalHashing, SubsetSelection
from lib.local.protocol import FrequencyOracle
from notebooks.studies import leaky_oracles
from tests.lib.local.test_frequency_oracles import EVERY


def subclasses(cls) -> set:
    return {cls}.union(*(subclasses(below) for below in cls.__subclasses__()))


def protocols() -> dict:
    """Return every frequency oracle in the modules of `lib.local`, listed or not."""
    for info in pkgutil.iter_modules(local.__path__, "lib.local."):
        importlib.import_module(info.name)
    ours = [cls for cls in subclasses(FrequencyOracle) if cls.__module__.startswith("lib.local.")]
    return {cls.__name__: cls for cls in sorted(ours, key=lambda cls: cls.__name__) if not inspect.isabstract(cls)}


def without_more(cls) -> bool:
    """Return whether k and epsilon are enough to make it."""
    others = list(inspect.signature(cls).parameters.values())[2:]
    return all(other.default is not other.empty or other.kind is other.VAR_POSITIONAL for other in others)


PROTOCOLS = {name: cls for name, cls in protocols().items() if without_more(cls)}


def enumerable(make) -> bool:
    try:
        report_law(make(2, 1.0), 0)
    except NotEnumerable:
        return False
    return True


def test_every_protocol_of_the_package_is_audited():
    assert set(ORACLES.values()) <= set(PROTOCOLS.values())
    for name, cls in protocols().items():
        assert name in PROTOCOLS or subclasses(cls) & set(PROTOCOLS.values()), f"{name} is in no audit"
    assert [name for name in PROTOCOLS if not enumerable(PROTOCOLS[name])] == ["SHE"]


PAIRS = {"SS, d = 2": lambda k, epsilon: SubsetSelection(k, epsilon, d=2)}
_once = {make: name for name, make in reversed((EVERY | PAIRS | PROTOCOLS).items())}  # some have two names
ENUMERABLE = {name: make for make, name in reversed(_once.items()) if enumerable(lambda k, e, make=make: make(3, e))}


# ---- what is sent has the law that is stated


def decoded(report) -> np.ndarray:
    kind, shape, raw = report[:3]
    return np.frombuffer(raw, dtype=kind).reshape(shape)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.4, 2.0])
@pytest.mark.parametrize("name", ENUMERABLE)
def test_every_report_is_sent_as_often_as_the_protocol_states(name, epsilon):
    """The seed is an exception: the stated probabilities hold for a given seed."""
    oracle = ENUMERABLE[name](3, epsilon)
    functions = len(SEEDS) ** 2 if isinstance(oracle, LocalHashing) else 1
    for value in range(3):
        law = report_law(oracle, value)
        stated = oracle.probability(np.concatenate([decoded(report) for report in law]))[:, value]
        assert np.array(list(law.values())) * functions == pytest.approx(stated, rel=1e-11)
        assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)


# Of twenty values, the others have millions of reports.
ON_TWENTY = [
    name
    for name in ENUMERABLE
    if not name.startswith(("SUE", "OUE", "THE")) and name not in ("SS", "SS, d = k - 1", "SubsetSelection")
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, k, epsilon",
    [
        *itertools.product(ENUMERABLE, [3], [0.4, 1.0, 2.0, 3.0, 5.0]),
        *itertools.product(ON_TWENTY, [20], [0.4, 3.0, 5.0]),
    ],
)
def test_no_report_betrays_more_than_is_claimed(name, k, epsilon):
    oracle = ENUMERABLE[name](k, epsilon)
    many = epsilon >= 3 and (k == 20) + (epsilon >= 5)  # buckets of local hashing, and values in each
    found = exact_loss(oracle, seeds=SEEDS[: 4 >> many])
    assert found.loss == pytest.approx(oracle.privacy_loss, rel=1e-9) and not found.refutes(epsilon)


class TellsLargeValues(GRR):
    """Reports values from 16 on without noise."""

    def perturb(self, values, *, rng):
        return np.where(np.asarray(values) >= 16, values, super().perturb(values, rng=rng))


class LiesInItsBlock(HadamardResponse):
    """With more than four blocks, a lie never leaves the own one."""

    def perturb(self, values, *, rng):
        cells = super().perturb(values, rng=rng)
        return cells if self.blocks <= 4 else self._block[np.asarray(values)] * self.size + cells % self.size


class SeedTellsAtLargeEpsilon(LocalHashing):
    """From 3.5 on, the seed's lowest bit is the value's."""

    def perturb(self, values, *, rng):
        reports = super().perturb(values, rng=rng)
        if self.epsilon > 3.5:
            reports[:, 0] = reports[:, 0] & ~np.uint64(1) | (np.asarray(values) % 2).astype(np.uint64)
        return reports


BROKEN = [(TellsLargeValues(20, 1.0), 1.0), (LiesInItsBlock(20, 3.0), 3.0), (SeedTellsAtLargeEpsilon(3, 5.0, g=4), 5.0)]


@pytest.mark.parametrize("broken, epsilon", BROKEN, ids=lambda each: type(each).__name__)
def test_leaks_that_only_many_values_or_a_large_epsilon_show(broken, epsilon):
    assert exact_loss(broken).refutes(epsilon)


class Backwards:
    """Users of one call in the other order: the one who is looked at, whom `exact_law` puts first, is the last."""

    def __init__(self, oracle):
        self.k, self._oracle = oracle.k, oracle

    def perturb(self, values, *, rng):
        return np.asarray(self._oracle.perturb(np.asarray(values)[::-1], rng=rng))[::-1]


FEW_OUTCOMES = {"OUE": 3, "OLH": 3, "SUE": 9}  # for e^epsilon: coins that are whole bytes, four buckets
TWO_USERS = sorted(set(PROTOCOLS) - {"SHE"})
THREE_USERS = sorted(set(TWO_USERS) - {"OUE", "THE", "OLH", "SUE"})  # those have too many outcomes


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, beside", [*((name, [1]) for name in TWO_USERS), *((name, [1, 0]) for name in THREE_USERS)]
)
def test_nor_does_another_users_report(name, beside):
    """The two reports are drawn in the same call."""
    oracle = PROTOCOLS[name](2, math.log(FEW_OUTCOMES.get(name, 9)))
    for each in (oracle, Backwards(oracle)):
        assert exact_loss(each, beside=beside, seeds=SEEDS[:2]).loss == pytest.approx(oracle.privacy_loss, rel=1e-9)


def test_a_third_user_who_repeats_the_first_is_found():
    class Echo(GRR):
        def perturb(self, values, *, rng):
            reports = super().perturb(values, rng=rng)
            return np.append(reports[:2], values[0]) if len(reports) == 3 else reports

    assert not exact_loss(Echo(2, 1.0), beside=[1]).refutes(1.0)
    assert exact_loss(Echo(2, 1.0), beside=[1, 0]).loss == math.inf


def test_a_last_user_who_tells_the_truth_is_found():
    class TrueAtTheEnd(GRR):
        def perturb(self, values, *, rng):
            reports = super().perturb(values, rng=rng)
            return np.append(reports[:-1], values[-1]) if len(reports) > 1 else reports

    assert not exact_loss(TrueAtTheEnd(2, 1.0), beside=[1]).refutes(1.0)
    assert exact_loss(Backwards(TrueAtTheEnd(2, 1.0)), beside=[1]).loss == math.inf


def test_who_counts_the_draws_learns_more_from_some():
    """Bits are drawn by the byte and ties drawn again; a set without the own value takes one draw more."""
    found = {name: exact_loss(PROTOCOLS[name](2, 1.0), with_draws=True) for name in PROTOCOLS if name != "SHE"}
    more = {name for name, one in found.items() if one.refutes(1.0)}
    assert more == {"SUE", "OUE", "THE", "SubsetSelection"}
    assert found["SUE"].loss == pytest.approx(1.2417, abs=1e-4) and found["SubsetSelection"].loss == math.inf


# ---- what the law shows of broken ones


SHOWN = {  # on how many values; the largest log-ratio
    "seed: low bits are the value": (3, math.inf), "seed: parity is the value's": (3, math.inf),
    "seed: made from the value": (3, math.inf), "seed: one in 1,000 is the value": (3, math.inf),
    "seed: its bits decide the lie as well": (3, math.inf), "hashing: lies from too few buckets": (3, math.inf),
    "hashing: odds for two buckets": (3, 1 + math.log(OLH(3, 1.0).g - 1)),
    "GRR: last value unprotected": (3, math.inf), "GRR: lies keep the parity": (3, math.inf),
    "GRR: lies are next to the truth": (4, math.inf), "GRR: epsilon counted twice": (3, 2.0),
    "HR: no noise from value 2 on": (3, math.inf), "SUE: one draw for all bits": (3, math.inf),
    "SUE: noise on the own bit only": (3, math.inf), "SS: own value first": (3, math.inf),
}  # fmt: skip
UNSEEN = {"GRR: one coin for all users", "GRR: more draws for larger values"}  # in one report


@pytest.mark.parametrize("name", SHOWN)
def test_a_leak_shows_in_the_law(name):
    k, loss = SHOWN[name]
    found = exact_loss(leaky_oracles.LEAKS[name](k, 1.0))
    assert found.refutes(1.0) and found.loss == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_a_leak_beside_the_report_shows_where_one_looks(name):
    leaky = leaky_oracles.LEAKS[name]
    assert exact_loss(leaky(3, 1.0)).loss == pytest.approx(1)
    where = dict(beside=[0]) if "users" in name else dict(with_draws=True)
    assert exact_loss(leaky(3, 1.0), **where).loss == math.inf
    assert exact_loss(GRR(3, 1.0), **where).loss == pytest.approx(1)


def test_every_planted_leak_is_accounted_for():
    drawn = {name for name in leaky_oracles.LEAKS if not enumerable(leaky_oracles.LEAKS[name])}
    assert all(issubclass(leaky_oracles.LEAKS[name], SHE) for name in drawn)
    assert set(SHOWN) | UNSEEN | drawn == set(leaky_oracles.LEAKS) and len(leaky_oracles.LEAKS) >= 12


def test_the_pair_that_is_named_is_the_leaking_one():
    assert 2 in exact_loss(leaky_oracles.LEAKS["GRR: last value unprotected"](3, 1.0)).values
    assert 2 in exact_loss(leaky_oracles.LEAKS["HR: no noise from value 2 on"](3, 1.0)).values


# ---- how draws are gone through


class Program:
    """A protocol of one line."""

    k = 2

    def __init__(self, line):
        self.perturb = lambda values, *, rng: line(rng, values)


def law(line, **options) -> dict:
    """Return the probabilities of what a line sends."""
    found = report_law(Program(line), 0, **options)
    return {tuple(decoded(report).ravel().tolist()): chance for report, chance in found.items()}


LINES = [  # what is sent, and its law
    (lambda rng, v: rng.random(1) < 0.3, {(True,): 0.3, (False,): 0.7}),
    (lambda rng, v: 0.3 > rng.random(1), {(True,): 0.3, (False,): 0.7}),
    (lambda rng, v: 0.3 <= rng.random(), {(True,): 0.7, (False,): 0.3}),
    (lambda rng, v: rng.random(2) < [0.5, 1.0], {(True, True): 0.5, (False, True): 0.5}),
    (lambda rng, v: rng.random(1) == 0.5, {(False,): 1.0}),
    (lambda rng, v: rng.integers(3, size=1), {(0,): 1 / 3, (1,): 1 / 3, (2,): 1 / 3}),
    (lambda rng, v: rng.integers(1, 2, size=1, endpoint=True) * 5, {(5,): 0.5, (10,): 0.5}),
    (lambda rng, v: rng.integers([1, 2]), {(0, 0): 0.5, (0, 1): 0.5}),
    (lambda rng, v: rng.integers(1000, size=1) >= 250, {(True,): 0.75, (False,): 0.25}),
    (lambda rng, v: rng.integers(1000, size=1) > 249, {(True,): 0.75, (False,): 0.25}),
    (lambda rng, v: 249 >= rng.integers(1000, size=1), {(True,): 0.25, (False,): 0.75}),
    (lambda rng, v: rng.integers(1000, size=1) != 7, {(True,): 0.999, (False,): 0.001}),
    (lambda rng, v: rng.integers(2**16, size=1, dtype=np.uint16).view(np.uint8)[:1] < 64,
     {(True,): 0.25, (False,): 0.75}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LINES)))
def test_the_law_of_a_line(number):
    line, expected = LINES[number]
    assert law(line) == pytest.approx(expected, rel=1e-12)


def test_what_is_known_of_a_draw_is_not_forgotten():
    def twice(rng, values):
        draw = rng.random(1)
        return np.concatenate([draw < 0.5, draw < 0.25, draw < 0.75, draw[0:1] < 0.6])

    assert law(twice) == pytest.approx(
        {(1, 1, 1, 1): 0.25, (1, 0, 1, 1): 0.25, (0, 0, 1, 1): 0.1, (0, 0, 1, 0): 0.15, (0, 0, 0, 0): 0.25}
    )


def test_large_ranges_come_out_as_the_seeds():
    found = law(lambda rng, v: rng.integers(2**64, size=1, dtype=np.uint64), seeds=[5, 7, 2**63])
    assert found == pytest.approx({(5,): 1 / 3, (7,): 1 / 3, (2**63,): 1 / 3})

    def added(rng, values):
        draws = rng.integers(10, 2**40, size=1)
        draws += 1
        return draws

    assert law(added, seeds=[0, 3]) == pytest.approx({(11,): 0.5, (14,): 0.5})


def test_the_type_and_the_shape_are_part_of_a_report():
    longer = Program(lambda rng, values: np.zeros(1 + values[0]))
    other_type = Program(lambda rng, values: np.zeros(1, dtype=[np.int32, np.uint32][values[0]]))
    assert exact_loss(longer).loss == exact_loss(other_type).loss == math.inf


def test_the_number_of_draws_is_counted():
    found = report_law(Program(lambda rng, values: rng.random(3)[:1] < 0.5), 0, with_draws=True)
    assert [report[3] for report in found] == [3, 3]


@pytest.mark.slow
def test_the_law_is_that_of_numpys_generator():
    """Chi-square on 100,000 reports of each value: a false alarm in at most one of a million seeds."""
    oracle, rng = SUE(3, 1.3), np.random.default_rng(3)
    for value in range(3):
        exact = {decoded(report).tobytes(): chance for report, chance in report_law(oracle, value).items()}
        names, counts = np.unique(oracle.perturb(np.full(100_000, value), rng=rng), axis=0, return_counts=True)
        expected = [exact[name.tobytes()] * 100_000 for name in names]
        assert stats.chisquare(counts, expected).pvalue > 1e-6 / 3


# ---- refusals


@pytest.mark.parametrize("line, word", [
    (lambda rng, v: rng.normal(size=1) > 0, "rng.normal"),
    (lambda rng, v: rng.permutation(3), "rng.permutation"),
    (lambda rng, v: np.log(rng.random(1)) > -1, "compare its real draws"),
    (lambda rng, v: rng.random(1), "compare its real draws"),
    (lambda rng, v: rng.random(out=np.zeros(1)) < 0.5, "without the argument out"),
    (lambda rng, v: rng.integers(2**64, size=2, dtype=np.uint64).__setitem__(0, 1), "not change the arrays"),
])  # fmt: skip
def test_draws_without_a_list_of_outcomes_are_refused(line, word):
    with pytest.raises(NotEnumerable, match=f"^oracle .*must .*{word}"):
        report_law(Program(line), 0)


def test_words_cannot_be_numbers_and_bytes_at_once():
    def both(rng, values):
        words = rng.integers(2**64, size=1, dtype=np.uint64)
        return (words.view(np.uint8) < 5) & (words < 5)

    with pytest.raises(NotEnumerable, match="not both"):
        report_law(Program(both), 0)


def test_too_many_outcomes_are_refused(monkeypatch):
    monkeypatch.setattr(exact_law, "_MOST_RUNS", 1000)
    with pytest.raises(ArithmeticError, match="more than 1000 outcomes"):
        report_law(Program(lambda rng, values: rng.random(50) < 0.5), 0)


@pytest.mark.parametrize("options, named", [
    (dict(value=2), "value"), (dict(value=0.5), "value"), (dict(value=0, beside=[3]), "beside"),
    (dict(value=0, seeds=()), "seeds"), (dict(value=0, seeds=[2**64]), "seeds"), (dict(value=0, seeds=[0.5]), "seeds"),
])  # fmt: skip
def test_bad_input_is_refused(options, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        report_law(GRR(2, 1.0), **options)
    with pytest.raises(ValueError, match="^epsilon must"):
        exact_loss(GRR(2, 1.0)).refutes(-1)
