"""`report_audit`: every protocol of the package passes, at every value; every planted leak is caught.

Seeds are fixed. Audits at CONFIDENCE accuse an honest protocol in at most one of 100,000 seeds.
"""

import dataclasses
import types

import numpy as np
import pytest

from lib.attacks import audit, report_audit
from lib.attacks.report_audit import audit_reports, examine, features, uneven_draws
from lib.local import GRR, OLH, OUE, SHE, SUE, HadamardResponse
from notebooks.studies import leaky_oracles
from tests.lib.attacks.test_exact_law import PROTOCOLS

CONFIDENCE = 1 - 1e-5
GRID = 2.0**-20  # real reports are rounded to multiples of it: see the test of last digits


def audited(oracle, seed=21, trials=4000, **options):
    return audit_reports(oracle, trials=trials, rng=np.random.default_rng(seed), confidence=CONFIDENCE, **options)


# ---- who is honest is not accused


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_raw_reports_of_no_protocol_tell_more_than_it_claims(name, epsilon):
    found = audited(PROTOCOLS[name](16, epsilon), trials=int(4000 / epsilon), grid=GRID)
    assert not found.refutes(epsilon)
    assert found.epsilon_lower > epsilon / 5  # nor does the audit sleep


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_nor_on_forty_values(name):
    """Some protocols are enumerated on three values only; this test sees what happens from the seventeenth value on."""
    assert not audited(PROTOCOLS[name](40, 1.0), trials=500, grid=GRID).refutes(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_number_of_draws_tells_no_value(name):
    assert uneven_draws(PROTOCOLS[name](16, 1.0), trials=40, rng=np.random.default_rng(22)) == ()


@pytest.mark.slow
def test_how_often_an_honest_protocol_is_accused():
    """At confidence 0.9, of 200 audits at most 20 are false alarms on average; more than 38 in 1 of 10,000 seeds."""
    rng = np.random.default_rng(23)
    found = [audit_reports(GRR(3, 1.0), trials=200, rng=rng, confidence=0.9) for _ in range(200)]
    assert sum(one.refutes(1.0) for one in found) <= 38
    assert sum(one.refutes(0.1) for one in found) > 100


@pytest.mark.slow
def test_nothing_is_found_in_noise():
    """At confidence 0.5, on average at most 10 of 20 audits find anything; more than 17 do in 1 of 4,900 seeds.

    One of 240 pairs of values may by chance look different by one of 800 features. The same runs must not judge it.
    """

    class Noise:
        k = 16

        def perturb(self, values, *, rng):
            return rng.random((len(values), 40)) < 0.5

        def supports(self, reports):
            return np.zeros((len(reports), self.k))

    rng = np.random.default_rng(31)
    assert sum(audit_reports(Noise(), trials=160, rng=rng, confidence=0.5).refutes(0) for _ in range(20)) <= 17


def test_a_score_is_that_of_the_report_wherever_it_stands():
    """If sums were rounded, the score would depend on the row of a matrix product, hence on the value, and GRR would be accused."""
    rng, learning = np.random.default_rng(24), 100
    lesson = rng.random((331, learning * 16)) < np.tile(np.linspace(0.1, 0.9, 16), learning)
    same = np.repeat(rng.random((331, 30)) < 0.5, 16, axis=1)  # what all 16 values send
    scores = report_audit._scores(np.concatenate([lesson, same], axis=1), 16, learning)[learning * 16 :]
    scores = scores.reshape(30, 16, 16)
    assert np.unique(scores).size > 100 and (scores == scores[:, :1]).all()


@pytest.mark.slow
def test_the_last_digits_of_she_name_values_that_it_is_not():
    """A sum that includes a 1 is a multiple of 2^-53, and a small number alone need not be."""
    found = audited(SHE(16, 1.0))
    assert found.refutes(1.0) and found.epsilon_lower > 2
    reports = SHE(4, 1.0).perturb(np.tile(np.arange(4), 5000), rng=np.random.default_rng(26)).reshape(5000, 4, 4)
    off = np.ldexp(reports, 53) % 1 != 0
    own = np.eye(4, dtype=bool)
    assert not off[:, own].any() and 0.1 < off[:, ~own].mean() < 0.2


# ---- who leaks is caught


CAUGHT = {  # by what: enumeration of a report on 3 values, of two users' reports, learning from runs, count of draws
    "seed: low bits are the value": {"law", "runs"},
    "seed: parity is the value's": {"law", "runs"},
    "seed: made from the value": {"law", "runs"},
    "seed: one in 1,000 is the value": {"law"},
    "seed: its bits decide the lie as well": {"law", "runs"},
    "hashing: odds for two buckets": {"law", "runs"},
    "hashing: lies from too few buckets": {"law"},
    "GRR: last value unprotected": {"law", "runs"},
    "GRR: lies keep the parity": {"law", "runs"},
    "GRR: lies are next to the truth": {"runs"},
    "GRR: epsilon counted twice": {"law", "runs"},
    "GRR: one coin for all users": {"together"},
    "GRR: more draws for larger values": {"draws"},
    "HR: no noise from value 2 on": {"law", "runs"},
    "SUE: one draw for all bits": {"law", "runs"},
    "SUE: noise on the own bit only": {"law", "runs"},
    "SS: own value first": {"law", "runs"},
    "SHE: same noise in all cells": {"runs"},
    "SHE: half the noise": {"runs"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", leaky_oracles.LEAKS)
def test_every_planted_leak_is_caught(name):
    rng = np.random.default_rng(27)
    found = examine(leaky_oracles.LEAKS[name], 1.0, trials=4000, rng=rng, confidence=CONFIDENCE, grid=GRID)
    assert CAUGHT[name] <= set(found.caught_by(1.0))
    assert ("draws" in found.caught_by(1.0)) == ("draws" in CAUGHT[name])


@pytest.mark.parametrize("name", ["seed: low bits are the value", "seed: parity is the value's", "GRR: last value unprotected",
                                  "HR: no noise from value 2 on", "GRR: more draws for larger values"])  # fmt: skip
def test_the_audit_by_stated_probabilities_misses_some_of_them(name):
    oracle = leaky_oracles.LEAKS[name](16, 1.0)
    old = audit.audit_oracle(oracle, trials=20_000, rng=np.random.default_rng(28), confidence=CONFIDENCE)
    assert not old.refutes(1.0)


@pytest.mark.slow
def test_honest_protocols_are_caught_by_nothing():
    for make in (GRR, OLH, SUE):
        epsilon = np.log(9)  # where the coins of SUE are whole bytes, and so have few outcomes
        found = examine(make, epsilon, trials=400, rng=np.random.default_rng(29), confidence=CONFIDENCE)
        assert found.caught_by(epsilon) == () and found.law.loss == pytest.approx(epsilon) == found.together.loss


@pytest.mark.slow
@pytest.mark.parametrize("make", [SUE, OUE])
def test_bits_that_are_shown_from_the_seventeenth_value_on_are_found(make):
    class ShownFrom16(make):
        def perturb(self, values, *, rng):
            own = np.asarray(values)[:, None] == np.arange(self.k)
            return super().perturb(values, rng=rng) | own & (np.arange(self.k) >= 16)

    assert not audited(ShownFrom16(16, 1.0), trials=500).refutes(1.0)
    assert audited(ShownFrom16(40, 1.0), trials=500).refutes(1.0)


@pytest.mark.parametrize("bare", range(8))
def test_whichever_value_is_unprotected_it_is_found(bare):
    class Unprotected(GRR):
        def perturb(self, values, *, rng):
            return np.where(np.asarray(values) == bare, values, super().perturb(values, rng=rng))

    found = audited(Unprotected(8, 1.0), trials=1000)
    assert found.refutes(1.0) and bare in found.values


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("bit", [0, 1, 2, 17, 31, 32, 63])
def test_whichever_bit_of_the_seed_tells_it_is_found(column, bit):
    """One bit, set for the upper half of the values."""

    class Marked(OLH):
        def perturb(self, values, *, rng):
            reports = super().perturb(values, rng=rng)
            reports[:, column] &= ~(np.uint64(1) << np.uint64(bit))
            reports[:, column] |= (np.asarray(values) >= self.k // 2).astype(np.uint64) << np.uint64(bit)
            return reports

    found = audited(Marked(6, 1.0), trials=1000)
    assert found.refutes(1.0) and (found.values[0] < 3) != (found.values[1] < 3)


def test_users_who_share_a_seed_are_not_accused():
    """All users of a call report in turn, so that a seed for all of them goes with no value."""

    class Shared(leaky_oracles._Hashing):
        def _seeds(self, values, rng):
            return np.repeat(super()._seeds(values[:1], rng), len(values), axis=0)

    assert not audited(Shared(8, 1.0)).refutes(1.0)


# ---- features


def test_features_hold_bits_parities_supports_and_differences():
    reports = np.array([[0, 3], [1, 2], [2, 1], [3, 0]], dtype=np.uint8)
    found = {tuple(row) for row in features(reports, np.eye(4), learn_from=4).tolist()}
    first_bit, second_bit = (False, True, False, True), (False, False, True, True)
    assert {first_bit, second_bit, tuple(np.logical_xor(first_bit, second_bit).tolist())} <= found
    assert {tuple(row) for row in np.eye(4, dtype=bool).tolist()} <= found
    assert all(len(set(row)) == 2 for row in found)  # constants are left out


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float32", "float64", ">i4"])
def test_reports_of_any_numbers_have_features(kind):
    reports = np.random.default_rng(30).integers(2, size=(50, 3)).astype(kind)
    found = features(reports, reports.astype(float), learn_from=20)
    assert found.dtype == bool and found.shape[1] == 50 and len(found) >= 3


def test_features_of_huge_and_tiny_numbers():
    reports = np.array([[1e300], [-1e300], [5e-324], [0.0], [2.0**-53]])
    found = features(reports, np.zeros((5, 2)), learn_from=5)
    assert (found == [True, True, False, True, True]).all(axis=1).any()  # multiples of 2^-53


# ---- results and refusals


@pytest.mark.parametrize("kind", [bool, float])
def test_the_reports_that_judge_teach_and_choose_nothing(kind):
    """Users report their value openly in the first half; only their reports in the second half judge the event."""
    trials, found = 400, []
    for told in (lambda values: values, lambda values: 1 - values, lambda values: 1000 * values - 7):
        oracle, noise = types.SimpleNamespace(k=2), np.random.default_rng(5).normal(0, 0.1, 2 * trials)

        def perturb(values, *, rng, told=told, noise=noise):
            said = np.concatenate([values[:trials], told(values[trials:])])
            return (said > 0) if kind is bool else said + noise

        oracle.perturb, oracle.supports = perturb, lambda reports: np.zeros((len(reports), 2))
        found.append(report_audit.audit_reports(oracle, trials=trials, rng=np.random.default_rng(1)))
    assert len({(each.values, each.threshold) for each in found}) == 1
    assert found[0].hits == found[1].false_hits > 150 and found[0].false_hits == found[1].hits == 0
    assert found[1].epsilon_lower == 0 < 2 < found[0].epsilon_lower


def test_what_is_returned_says_what_was_found():
    found = audited(HadamardResponse(4, 3.0), trials=101)
    assert found.trials == 101 - 2 * 25 and found.confidence == CONFIDENCE
    low = audit.clopper_pearson(found.hits, found.trials, CONFIDENCE)[0]
    high = audit.clopper_pearson(found.false_hits, found.trials, CONFIDENCE)[1]
    assert found.epsilon_lower == max(0, np.log(low / high))
    assert found == audited(HadamardResponse(4, 3.0), trials=101)
    assert dataclasses.replace(found, epsilon_lower=4.0).refutes(3.0)


@pytest.mark.parametrize("options, named", [
    (dict(trials=7), "trials"), (dict(trials=9.5), "trials"), (dict(trials=8, confidence=1), "confidence"),
    (dict(trials=8, grid=0), "grid"), (dict(trials=8, grid=np.inf), "grid"),
])  # fmt: skip
def test_bad_audits_are_refused(options, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        audit_reports(GRR(3, 1.0), rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("call, named", [
    (lambda rng: examine(GRR, 1.0, trials=8, rng=rng).caught_by(-1), "epsilon"),
    (lambda rng: uneven_draws(GRR(3, 1.0), trials=0, rng=rng), "trials"),
    (lambda rng: features(["a"], [[0]], learn_from=1), "reports"),
    (lambda rng: features([[0], [1]], [[0]], learn_from=1), "reports"),
    (lambda rng: features([0, 1], [0, 1], learn_from=1), "reports"),
    (lambda rng: features([0, np.nan], [[0], [1]], learn_from=1), "reports"),
    (lambda rng: features([0, 1], [[0], [np.nan]], learn_from=1), "supports"),
    (lambda rng: features([0, 1], [[0], [1]], learn_from=3), "learn_from"),
])  # fmt: skip
def test_bad_input_is_refused(call, named):
    with pytest.raises(ValueError, match=f"^{named} must"):
        call(np.random.default_rng(0))
