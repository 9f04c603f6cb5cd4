"""Microaggregation: sensitivities by brute force over all neighbours, the leak of the published method, audits of the rest."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

from lib.attacks import audit
from lib.microdata import microaggregation
from lib.microdata.microaggregation import individual_ranking, noisy_centroids, private, published
from notebooks.studies.network_features import adult_features
from tests.lib.veil import Veil

QUICK = settings(derandomize=True, deadline=None, max_examples=50)


@pytest.fixture
def veiled(monkeypatch):
    """In place of the noise; (what each draw was added to, its scale) of all draws since the start, from the generator given."""
    hidden, scales, sources, stream = [], [], [], np.random.default_rng(0)

    def noise(shape, scale, *, rng):
        scales.append(scale), sources.append(rng)
        drawn = (3 * stream.normal(size=shape)).view(Veil)
        drawn.hidden = hidden
        return drawn

    def seen(given):
        nonlocal stream
        assert len(hidden) == len(scales) and all(rng is given for rng in sources)
        found = list(zip(hidden, scales))
        hidden.clear(), scales.clear(), sources.clear()
        stream = np.random.default_rng(0)
        return found

    monkeypatch.setattr(microaggregation, "laplace", noise)
    return seen


def neighbours(values, n):
    """Yield all pairs of databases of n records with these values that differ in their first record; order is free."""
    for rest in itertools.combinations_with_replacement(values, n - 1):
        for a, b in itertools.combinations(values, 2):
            yield [a, *rest], [b, *rest]


# ---- individual ranking


def test_groups_are_consecutive_in_rank():
    centroids, group = individual_ranking([0.9, 0.1, 0.5, 0.3, 1.0], 2)
    assert np.allclose(centroids, [0.2, 0.8]) and group.tolist() == [1, 0, 1, 0, 1]


@QUICK
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30), k=st.integers(1, 30))
def test_groups_have_k_members_and_centroids_are_their_means(values, k):
    k = min(k, len(values))
    centroids, group = individual_ranking(values, k)
    sizes = np.bincount(group)
    assert len(centroids) == len(sizes) == len(values) // k and sizes.min() >= k and sizes.max() < 2 * k
    assert np.allclose(centroids, [np.mean(np.array(values)[group == g]) for g in range(len(sizes))])
    assert (np.diff(centroids) >= -1e-12).all()


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (6, 3), (7, 3)])
def test_the_lemma_holds_and_is_attained(n, k):
    """All neighbours on a grid: the centroids move by 1/k in L1 and never by more."""
    moves = [
        np.abs(individual_ranking(a, k)[0] - individual_ranking(b, k)[0]).sum()
        for a, b in neighbours([0, 0.25, 0.5, 1], n)
    ]
    assert max(moves) == pytest.approx(1 / k, abs=1e-12)


@QUICK
@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=12), new=st.floats(0, 1), k=st.integers(1, 6))
def test_the_move_is_at_most_that_of_the_value(values, new, k):
    k = min(k, len(values))
    before, after = (individual_ranking([first, *values[1:]], k)[0] for first in (values[0], new))
    assert np.abs(before - after).sum() <= abs(values[0] - new) / k + 1e-12


def data_sets(n, levels, seed=0):
    """Yield records that differ in everything but their number and the public levels: at random, all alike, in two clusters."""
    rng = np.random.default_rng(seed)
    draws = [rng.random((n, len(levels))), np.zeros((n, len(levels))), 1 - 0.1 * rng.random((n, len(levels)))]
    draws[2][: n // 3] **= 40
    for draw, labels in zip(draws, (rng.integers(2, size=n), np.zeros(n, int), np.ones(n, int))):
        yield (
            np.where(
                np.array(levels) > 0, np.rint(draw * (np.array(levels) - 1)) / np.maximum(np.array(levels) - 1, 1), draw
            ),
            labels,
        )


def means_of_groups(column, k):
    """Return the means of slices; the last of the n // k groups takes what is left."""
    column, last = np.sort(column), len(column) // k - 1
    return [column[g * k : (g + 1) * k if g < last else None].mean() for g in range(last + 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "columns"), [(1, 1, 1), (5, 2, 3), (103, 10, 40), (999, 500, 2), (20_001, 7, 3), (1_000_001, 90_001, 1)]
)
def test_every_group_of_every_column_gets_the_noise_booked(n, k, columns, veiled):
    """The last group too, and equal values; nothing but the centroids is read, and only through the noise."""
    released = []
    for features, _ in data_sets(n, [0] * columns):
        rng = np.random.default_rng(1)
        released.append(noisy_centroids(features, k, 0.7, rng=rng))
        for (centroids, scale), column in zip(veiled(rng), features.T, strict=True):
            assert centroids == pytest.approx(np.array(means_of_groups(column, k)))
            assert np.all(scale == columns / (k * 0.7))
    assert all(np.array_equal(a, b) for other in released[1:] for a, b in zip(released[0], other, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "groups", "levels"), [
    (1, 1, (0,)), (2, 2, (2, 0)), (47, 4, (0, 5, 0, 2)), (300, 16, (700, 0, 3)), (50, 3, (2,) * 40), (20_003, 16, (0, 0, 4)),
    (1_000_003, 5, (0,)),
])  # fmt: skip
def test_private_records_speak_through_noisy_centroids_and_counts_alone(n, groups, levels, veiled):
    """With the noisy values given, all records are drawn as if there were others; what is read is what epsilon pays for."""
    released, numeric, d, epsilon = [], [j for j, level in enumerate(levels) if not level], len(levels), 1.9
    for features, labels in data_sets(n, levels):
        rng = np.random.default_rng(2)
        found = private(features, labels, epsilon, levels=levels, groups=groups, rng=rng)
        released.append(found)
        seen = veiled(rng)
        k, share = n // groups, 0.3 if numeric else 0
        for j, (centroids, scale) in zip(numeric, seen[: len(numeric)], strict=True):
            assert centroids == pytest.approx(np.array(means_of_groups(features[:, j], k)))
            assert np.all(scale == pytest.approx(len(numeric) / (k * share * epsilon)))
        for j, (counts, scale) in enumerate(seen[len(numeric) :]):
            own = [np.bincount(labels, minlength=2)]
            if levels[j]:
                own = [
                    np.bincount(labels[np.rint(features[:, j] * (levels[j] - 1)) == c], minlength=2)
                    for c in range(levels[j])
                ]
                assert np.array_equal(counts, own)
            assert np.array_equal(counts.sum(axis=0), np.sum(own, axis=0))
            assert np.all(scale == pytest.approx(2 * d / ((1 - share) * epsilon)))
        assert len(seen) == len(numeric) + d and found.epsilon == epsilon
    for other in released[1:]:
        assert np.array_equal(released[0].labels, other.labels) and np.array_equal(released[0].features, other.features)


def test_the_noise_of_the_centroids_is_laplace_of_the_stated_scale():
    """Kolmogorov-Smirnov, false alarm 0.1 %."""
    rng = np.random.default_rng(5)
    noisy = np.array([noisy_centroids(np.zeros((6, 2)), 3, 0.5, rng=rng) for _ in range(1000)])
    assert stats.kstest(noisy.ravel(), stats.laplace(scale=2 / (3 * 0.5)).cdf).pvalue > 1e-3


# ---- the published method is not private

FIVE = np.array([[0.0, 0.0], [0.0, 0.0], [0.2, 0.1], [1.0, 1.0], [1.0, 1.0]])
NEIGHBOUR = np.vstack([[[1.0, 1.0]], FIVE[1:]])


def shares_a_group(released):
    return released[0, 0] == released[1, 0]


def test_the_groups_are_disclosed_whatever_the_noise():
    """Records 0 and 1 are equal under one database with certainty, under its neighbour never: delta is 1."""
    rng = np.random.default_rng(1)
    labels = [0, 0, 1, 1, 1]
    always, never = ([noisy_groups(data, labels, rng) for _ in range(200)] for data in (FIVE, NEIGHBOUR))
    assert all(map(shares_a_group, always)) and not any(map(shares_a_group, never))
    assert published(FIVE, labels, 0.01, k=2, rng=rng).epsilon == np.inf


def noisy_groups(data, labels, rng):
    """Return the result of `published` before clipping to [0, 1], which can hide a difference but only by chance."""
    noisy = noisy_centroids(data, 2, 0.01, rng=rng)
    return np.column_stack([c[individual_ranking(column, 2)[1]] for c, column in zip(noisy, data.T)])


def test_clipping_does_not_heal_it():
    """Under one database the two records are never told apart, under its neighbour they are with a probability well above 0."""
    rng, labels = np.random.default_rng(10), [0, 0, 1, 1, 1]
    apart = [
        np.mean([not shares_a_group(published(data, labels, 1.0, k=2, rng=rng).features) for _ in range(300)])
        for data in (FIVE, NEIGHBOUR)
    ]
    assert apart[0] == 0 and apart[1] > 0.3


def test_published_is_those_groups_clipped():
    labels = np.array([0, 0, 1, 1, 1])
    released = published(FIVE, labels, 2.0, k=2, rng=np.random.default_rng(3))
    noisy = noisy_centroids(np.column_stack([FIVE, labels]), 2, 2.0, rng=np.random.default_rng(3))
    for column, c, values in zip(released.features.T, noisy, FIVE.T):
        assert np.array_equal(column, c[individual_ranking(values, 2)[1]].clip(0, 1))
    assert np.array_equal(released.labels, noisy[2][individual_ranking(labels, 2)[1]] > 0.5)


def test_shuffling_the_records_does_not_help():
    """Two columns: the number of different pairs of values is released exactly."""
    rng = np.random.default_rng(2)
    one = np.array([[0, 0], [0.1, 0.1], [1, 1], [0.9, 0.9]])
    other = np.vstack([[[0, 1]], one[1:]])  # now one column's lower half is not the other's

    def pairs(data):
        return len(np.unique(rng.permutation(noisy_groups(data, None, rng)), axis=0))

    assert {pairs(one) for _ in range(100)} == {2} and {pairs(other) for _ in range(100)} == {4}


def test_an_audit_refutes_the_published_claim():
    rng = np.random.default_rng(3)
    first, second = (
        [float(shares_a_group(noisy_groups(data, None, rng))) for _ in range(400)] for data in (FIVE, NEIGHBOUR)
    )
    assert audit.epsilon_lower_bound(first, second, confidence=0.999).refutes(3.0)


# ---- private

LEVELS = (0, 3)
SMALL = np.array([[0.1, 0.0], [0.2, 0.5], [0.9, 1.0], [0.8, 0.5]])


def audited(epsilon, trials):
    """Return bounds on epsilon from three statistics of the records drawn, for a table and one with its first record replaced."""
    other = np.vstack([[[1.0, 1.0]], SMALL[1:]])
    scores = []
    for features, labels in ((SMALL, [0, 0, 1, 1]), (other, [1, 0, 1, 1])):
        rng = np.random.default_rng(11)
        runs = [private(features, labels, epsilon, levels=LEVELS, groups=2, rng=rng) for _ in range(trials)]
        scores.append(
            np.array([(run.labels.sum(), run.features[:, 0].mean(), run.features[:, 1].mean()) for run in runs])
        )
    return [audit.epsilon_lower_bound(*pair, confidence=0.9999) for pair in zip(*(score.T for score in scores))]


@pytest.mark.slow
def test_an_audit_does_not_refute_the_private_one():
    """False alarm 0.03 %; the same audit sees through a release at epsilon 50 that claims 1."""
    assert not any(found.refutes(1.0) for found in audited(1.0, 1000))
    assert any(found.refutes(1.0) for found in audited(50.0, 200))


def test_a_record_moves_the_tables_of_counts_by_twice_the_attributes():
    """All neighbours on a grid: never by more, and it happens."""
    most = 0.0
    values = list(itertools.product((0, 1), (0, 0.5, 1), (0, 1)))
    for a, b in itertools.islice(neighbours(values, 3), 0, None, 7):
        moved = 0.0
        for column, level in ((1, 3), (2, 2)):
            counts = [np.zeros((level, 2)) for _ in range(2)]
            for table, data in zip(counts, (a, b)):
                for row in data:
                    table[round(row[column] * (level - 1)), row[0]] += 1
            moved += np.abs(counts[0] - counts[1]).sum()
        most = max(most, moved)
    assert most == 4


def test_private_without_noise_draws_from_the_class_conditional_distributions():
    """With a huge epsilon, the proportions of each attribute's values given the label are within five standard errors."""
    rng = np.random.default_rng(6)
    n = 20_000
    labels = (rng.random(n) < 0.3).astype(int)
    colour = np.where(rng.random(n) < 0.8, labels, 2) / 2
    age = rng.beta(2 + 3 * labels, 3)
    released = private(np.column_stack([colour, age]), labels, 1e6, levels=(3, 0), groups=8, rng=rng)
    assert released.labels.mean() == pytest.approx(labels.mean(), abs=5 * np.sqrt(0.5 / n))
    for label in (0, 1):
        of, known = released.features[released.labels == label], np.column_stack([colour, age])[labels == label]
        for value in (0, 0.5, 1):
            assert (of[:, 0] == value).mean() == pytest.approx(
                (known[:, 0] == value).mean(), abs=5 * np.sqrt(0.5 / len(of))
            )
        assert of[:, 1].mean() == pytest.approx(known[:, 1].mean(), abs=5 * 0.25 / np.sqrt(len(of)))


def test_private_releases_only_public_values():
    rng = np.random.default_rng(7)
    released = private(rng.integers(3, size=(50, 2)) / 2, rng.integers(2, size=50), 0.01, levels=(3, 3), rng=rng)
    assert set(np.unique(released.features)) <= {0, 0.5, 1} and released.features.shape == (50, 2)


@pytest.mark.slow
def test_private_data_teach_what_the_real_ones_do():
    """The synthetic sample at epsilon 1: a linear model trained on the released records, judged on others, beats the majority."""
    adult = adult_features(source="stand-in", numeric="log")
    train, test = slice(None, 40_000), slice(40_000, None)
    released = private(adult.values[train], adult.labels[train], 1.0, levels=adult.levels, rng=np.random.default_rng(8))
    model = LogisticRegression(max_iter=500).fit(released.features, released.labels)
    majority = max(adult.labels[test].mean(), 1 - adult.labels[test].mean())
    assert model.score(adult.values[test], adult.labels[test]) > majority + 0.02


# ---- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": [[0.5, 1.1]] * 4}, r"features must be in \[0, 1\], got 1.1"),
        ({"features": [[0.5, np.nan]] * 4}, r"features must be in \[0, 1\], got nan"),
        ({"features": np.zeros((0, 2)), "labels": []}, "features must be a table"),
        ({"features": [0.5] * 4}, "features must be a table"),
        ({"labels": [0, 1, 2, 0]}, r"labels must be in \[0, 1\], got 2"),
        ({"labels": [0, 1, 0.5, 0]}, "labels must be an integer"),
        ({"labels": [0, 1]}, "labels must have shape .4,., one for each record"),
        ({"epsilon": 0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"epsilon": np.nan}, r"epsilon must be in \(0, inf\), got nan"),
        ({"rng": None}, "rng must be a numpy.random.Generator"),
    ],
)
@pytest.mark.parametrize("method", [published, private])
def test_bad_input_is_refused(method, change, message):
    good = {"features": SMALL, "labels": [0, 0, 1, 1], "epsilon": 1.0, "rng": np.random.default_rng(0)}
    extra = {"levels": LEVELS, "groups": 2} if method is private else {"k": 2}
    with pytest.raises(ValueError, match=message):
        method(**good | extra | change)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda **o: published(**o, k=5), r"k must be in \[1, 4\], got 5"),
        (lambda **o: published(**o, k=0), r"k must be in \[1, 4\], got 0"),
        (lambda **o: private(**o, levels=LEVELS, groups=0), r"groups must be in \[1, 4\], got 0"),
        (lambda **o: private(**o, levels=(0, 1)), "levels must be 0 or at least 2 for each of 2 columns"),
        (lambda **o: private(**o, levels=(0,)), "levels must be 0 or at least 2 for each of 2 columns"),
        (lambda **o: private(**o, levels=(0, 4), groups=2), "column 1 of features must contain multiples of 1/3"),
    ],
)
def test_bad_settings_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(features=SMALL, labels=[0, 0, 1, 1], epsilon=1.0, rng=np.random.default_rng(0))


def test_individual_ranking_refuses_what_is_not_a_column():
    for values in ([], [[0.5]]):
        with pytest.raises(ValueError, match="values must be one column"):
            individual_ranking(values, 1)
