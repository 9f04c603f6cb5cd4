"""Membership inference: scores against scipy, curves against scikit-learn, bounds against the mechanism that attains them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from sklearn.metrics import log_loss, roc_auc_score, roc_curve
from sklearn.neighbors import KNeighborsClassifier

from lib import accounting
from lib.attacks import membership_inference as mi
from lib.attacks.membership_inference import (
    Attack,
    advantage_bound,
    auc_bound,
    confidence,
    likelihood_ratio_scores,
    play,
    tpr_bound,
)

QUICK = settings(derandomize=True, deadline=None, max_examples=50)
BUDGETS = [(0.0, 0.0), (0.5, 0.0), (1.0, 1e-5), (2.0, 0.1), (0.0, 0.3), (5.0, 1.0)]


class Fixed:
    """A model that gives label 1 the given probabilities."""

    def __init__(self, p):
        self.p = np.asarray(p, float)

    def predict_proba(self, features):
        return np.column_stack([1 - self.p, self.p])[: len(features)]


# ---- scores


def test_the_confidence_is_that_in_the_own_label():
    model, labels = Fixed([0.9, 0.2, 0.5]), [1, 1, 0]
    found = confidence(model, np.zeros((3, 1)), labels)
    assert found.tolist() == pytest.approx([0.9, 0.2, 0.5])
    assert -np.log(found).mean() == pytest.approx(log_loss(labels, model.p))


def test_certainty_does_not_break_a_score():
    assert np.isfinite(np.log(confidence(Fixed([0.0, 1.0]), np.zeros((2, 1)), [1, 1]))).all()


def logit(p):
    return np.log(p / (1 - p))


def test_likelihood_ratios_by_hand():
    rng = np.random.default_rng(1)
    target, shadows = rng.uniform(0.1, 0.9, 6), rng.uniform(0.1, 0.9, (7, 6))
    used = np.array([[(s + i) % 3 == 0 for i in range(6)] for s in range(7)])
    columns = [logit(shadows[~used[:, i], i]) for i in range(6)]
    pooled = sum(((c - c.mean()) ** 2).sum() for c in columns) / sum(len(c) - 1 for c in columns)
    without = [stats.norm(c.mean(), np.sqrt(pooled)) for c in columns]
    expected = [stats.norm.ppf(out.cdf(v)) for v, out in zip(logit(target), without)]
    assert np.allclose(likelihood_ratio_scores(target, shadows, used), expected)


# ---- the verdict


@QUICK
@given(seed=st.integers(0, 10**6), n=st.integers(4, 60), values=st.integers(1, 20))
def test_the_curve_is_that_of_scikit_learn(seed, n, values):
    """The scores contain ties."""
    rng = np.random.default_rng(seed)
    scores, members = rng.integers(values, size=n) / 7, np.arange(n) < max(2, n // 3)
    attack = Attack(scores, members)
    assert attack.auc == pytest.approx(roc_auc_score(members, scores))
    fpr, tpr, _ = roc_curve(members, scores, drop_intermediate=False)
    for level in (0.0, 0.1, 0.5, 1.0):
        rate, low, high = attack.tpr(level)
        assert rate == pytest.approx(tpr[fpr <= level + 1e-12].max()) and low <= rate <= high
    threshold = mi._best_threshold(scores[members], scores[~members])
    found = (scores[members] >= threshold).mean() - (scores[~members] >= threshold).mean()
    assert found == pytest.approx(max((tpr - fpr)[1:]))


def test_the_error_of_the_area_is_that_of_repetitions():
    """The standard deviation of 400 areas against the mean of their standard errors, within 15 %."""
    rng, members = np.random.default_rng(2), np.arange(150) < 50
    attacks = [Attack(rng.normal(size=150) + 0.8 * members, members) for _ in range(400)]
    assert np.mean([attack.auc_error for attack in attacks]) == pytest.approx(
        np.std([attack.auc for attack in attacks]), rel=0.15
    )


def test_the_interval_of_the_advantage_covers_it():
    """Scores are normal, and the best advantage is known. Of 200 intervals of 90 %: at least 170 cover what their threshold attains."""
    rng, members = np.random.default_rng(3), np.arange(400) < 200
    best = 2 * stats.norm.cdf(0.5) - 1
    found = [Attack(rng.normal(size=400) + members, members).advantage(rng=rng, level=0.9) for _ in range(200)]
    assert sum(low <= best for _, low, _ in found) >= 190 and sum(low <= best <= high for _, low, high in found) >= 170
    assert np.mean([rate for rate, _, _ in found]) == pytest.approx(best, abs=0.05)


def test_an_advantage_has_an_interval_at_every_level():
    rng, members = np.random.default_rng(5), np.arange(100) % 2 == 0
    attack = Attack(rng.normal(size=100) + members, members)
    for level in (1e-300, 0.5, 1 - 2.0**-53):
        found, low, high = attack.advantage(rng=np.random.default_rng(1), level=level)
        assert -1 <= low <= found <= high <= 1


@pytest.mark.parametrize(("separation", "rate"), [(0.0, 0.0), (10.0, 1.0)])
def test_extremes(separation, rate):
    rng, members = np.random.default_rng(4), np.arange(2000) < 1000
    attack = Attack(rng.normal(size=2000) + separation * members, members)
    advantage, low, high = attack.advantage(rng=rng)
    assert low <= rate <= high + 1e-12 and advantage == pytest.approx(rate, abs=0.1)
    assert attack.auc == pytest.approx((1 + rate) / 2, abs=0.05) and attack.tpr(0.01)[0] == pytest.approx(
        rate, abs=0.05
    )


# ---- what differential privacy allows


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_bounds_are_those_of_the_best_test(epsilon, delta):
    """The (epsilon, delta) mechanism of four outputs that dominates all others: its best tests, by linear programming."""
    odds = np.exp(epsilon)
    p = np.array([delta, (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds), 0])
    q = p[::-1]
    for fpr in (0.0, 0.01, 0.2, 0.6, 1.0):
        best = -optimize.linprog(-p, A_ub=[q], b_ub=[fpr], bounds=[(0, 1)] * 4).fun
        assert tpr_bound(fpr, epsilon, delta) == pytest.approx(best, abs=1e-9)
    assert advantage_bound(epsilon, delta) == pytest.approx(np.abs(p - q).sum() / 2)
    grid = np.linspace(0, 1, 200_001)
    assert auc_bound(epsilon, delta) == pytest.approx(
        integrate.trapezoid(tpr_bound(grid, epsilon, delta), grid), abs=1e-6
    )


def test_a_gaussian_mechanism_keeps_to_the_bounds_of_each_of_its_guarantees():
    fpr = np.linspace(0, 1, 101)
    tpr = stats.norm.cdf(stats.norm.ppf(fpr) + 1 / 1.5)
    tightest = np.min(
        [tpr_bound(fpr, epsilon, accounting.gaussian_delta(1.5, epsilon)) for epsilon in np.linspace(0, 5, 51)], axis=0
    )
    assert (tpr <= tightest + 1e-12).all() and np.abs(tpr - tightest).max() < 0.01


def test_an_infinite_epsilon_allows_all():
    assert (
        advantage_bound(np.inf) == 1
        and auc_bound(np.inf) == 1
        and tpr_bound([0.0, 0.1], np.inf, 0.2).tolist() == [0.2, 1]
    )


# ---- the game


def pool(n=200, seed=5):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.integers(2, size=n)


def test_a_model_that_memorises_gives_all_away():
    features, labels = pool()
    found = play(lambda x, y, rng: KNeighborsClassifier(1).fit(x, y), features, labels, rng=np.random.default_rng(6))
    assert found["loss"].auc > 0.7 and found["likelihood ratio"].auc > 0.7
    assert found["likelihood ratio"].members.sum() == 100


def test_a_model_that_saw_nothing_gives_nothing_away():
    """Chance: the area within four standard errors of a half."""
    features, labels = pool()
    for attack in play(
        lambda x, y, rng: Fixed(rng.random(200)), features, labels, rng=np.random.default_rng(7)
    ).values():
        assert abs(attack.auc - 0.5) < 4 * attack.auc_error


def test_an_attack_on_randomised_response_reaches_the_bound_and_no_more():
    """Each record says whether it is a member, with odds e to 1: the best attack there is at epsilon 1."""
    rng, members = np.random.default_rng(8), np.arange(20_000) % 2 == 0
    truthful = rng.random(20_000) < np.e / (1 + np.e)
    _, low, high = Attack((members == truthful).astype(float), members).advantage(rng=rng, level=0.999)
    assert low <= advantage_bound(1.0) <= high and high - low < 0.1


def test_each_shadow_model_gets_half_of_the_records():
    sizes, seen = [], []

    def train(x, y, rng):
        sizes.append(len(x))
        seen.append(set(x[:, 0]))
        return Fixed(rng.random(21))

    play(train, np.arange(21.0)[:, None], np.zeros(21, int), shadows=6, rng=np.random.default_rng(9))
    assert sizes == [10, 10, 11, 10, 11, 10, 11]
    assert all(seen[i] | seen[i + 1] == set(range(21)) and not seen[i] & seen[i + 1] for i in (1, 3, 5))


# ---- bad input


GOOD = np.full((4, 3), 0.5)
USED = np.array([[True, False, True]] * 2 + [[False, True, False]] * 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confidence(Fixed([0.5]), np.zeros((1, 1)), [2]), r"labels must be in \[0, 1\], got 2"),
        (
            lambda: confidence(Fixed([0.5]), np.zeros((1, 1)), [1, 1]),
            "labels must have shape .1,., one for each record",
        ),
        (lambda: likelihood_ratio_scores([0.5, 0.5, 1.0], GOOD, USED), r"target must be in \(0, 1\), got 1"),
        (lambda: likelihood_ratio_scores([0.5] * 3, GOOD * np.nan, USED), r"shadows must be in \(0, 1\), got nan"),
        (lambda: likelihood_ratio_scores([0.5] * 3, GOOD, USED.astype(int)), "used must be bool"),
        (lambda: likelihood_ratio_scores([0.5] * 2, GOOD, USED), r"shadows and used must have shape \(s, 2\)"),
        (
            lambda: likelihood_ratio_scores([0.5] * 3, GOOD, USED | True),
            "at least one model trained without each record",
        ),
        (
            lambda: Attack([0.1, np.nan, 0.3, 0.2], np.array([True, True, False, False])),
            r"scores must be in \[-inf, inf\], got nan",
        ),
        (lambda: Attack([0.1, 0.3], [1, 0]), "members must be bool"),
        (
            lambda: Attack([0.1, 0.3, 0.2], np.array([True, False, False])),
            "members must mark at least two records and leave at least two unmarked, got 1 marked of 3",
        ),
        (lambda: Attack([1, 2, 3, 4], np.arange(4) < 2).tpr(1.5), r"fpr must be in \[0, 1\], got 1.5"),
        (lambda: Attack([1, 2, 3, 4], np.arange(4) < 2).advantage(rng=0), "rng must be a numpy.random.Generator"),
        (
            lambda: play(None, np.zeros((7, 1)), np.zeros(7), rng=np.random.default_rng(0)),
            "number of records must be in",
        ),
        (lambda: play(None, *pool(), shadows=3, rng=np.random.default_rng(0)), r"shadows must be in \[4, inf\), got 3"),
        (lambda: tpr_bound(-0.1, 1.0), r"fpr must be in \[0, 1\], got -0.1"),
        (lambda: advantage_bound(-1.0), r"epsilon must be in \[0, inf\], got -1"),
        (lambda: auc_bound(1.0, 1.5), r"delta must be in \[0, 1\], got 1.5"),
        (lambda: advantage_bound(np.nan), r"epsilon must be in \[0, inf\], got nan"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
