"""The noise of both methods against exact distributions, what they do to a network, and what their statements say.

Statistical tests have fixed seeds and a false-alarm rate of 1e-3 each.
"""

import math

import numpy as np
import pytest
from scipy import stats

from lib.mechanisms import Laplace
from lib.networks import intervals, private_networks
from lib.networks.network import Network, changes, layers, train
from lib.networks.private_networks import (
    PrivacyStatement,
    anonymized_learning,
    fill_laplace,
    learning_first,
    release,
)
from notebooks.studies.anonymized_learning_leaks import BATCHES, two_batches

ALARM = 1e-3
WIDE = (80, 100, 2)  # 8302 parameters: one release is a large sample


def records(n, inputs, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, inputs)), rng.integers(classes, size=n)


def constant(widths, value, dtype="float64"):
    size = sum((n + 1) * m for n, m in zip(widths, widths[1:]))
    return Network(widths, np.full(size, value, dtype))


def start(widths=(3, 8, 2), seed=1, dtype="float64"):
    return Network.initial(widths, rng=np.random.default_rng(seed), dtype=dtype)


def draws(n, seed=12345):
    sample, state = np.empty(n, np.float32), np.array([seed], np.uint64)
    fill_laplace(sample, state)
    return sample


# ---- the generator


def words(seed, n):
    """SplitMix64 in whole numbers."""
    mask = 2**64 - 1
    for k in range(n):
        z = (seed + k * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def test_each_variate_is_minus_the_logarithm_of_a_uniform():
    seed = 2**64 - 12345  # the counter wraps around
    expected = []
    for z in words(seed, 5000):
        zeros = 41 - (z >> 23).bit_length()
        fraction = ((z >> 1) % 2**22 + 0.5) / 2**22
        expected.append((1 if z & 1 else -1) * -math.log(2.0 ** -(zeros + 1) * (1 + fraction)))
    np.testing.assert_allclose(draws(5000, seed), expected, rtol=2e-6, atol=3e-7)


def test_splitmix64_is_the_published_one():
    """First outputs for seed 0 in the reference implementation's convention: the state moves before it is mixed."""
    assert list(words(0x9E3779B97F4A7C15, 2)) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


@pytest.mark.slow
def test_draws_are_laplace():
    sample = draws(2_000_000).astype(float)
    assert stats.kstest(sample, "laplace").pvalue > ALARM
    assert stats.kstest(np.abs(sample[np.abs(sample) > 5]) - 5, "expon").pvalue > ALARM  # the tails by themselves
    assert abs(np.mean(sample > 0) - 0.5) < 3.3 * 0.5 / math.sqrt(sample.size)
    for lag in (1, 2, 8, 8302):
        assert abs(np.corrcoef(sample[:-lag], sample[lag:])[0, 1]) < 3.3 / math.sqrt(sample.size)


def test_the_stream_goes_on_where_it_stopped():
    whole, state = draws(1000), np.array([12345], np.uint64)
    parts = [np.empty(size, np.float32) for size in (300, 700)]
    for part in parts:
        fill_laplace(part, state)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


# ---- LearningFirst


def test_released_parameters_are_clipped_laplace():
    """Atoms at both ends as Lemma 1 has them (equations 10 and 13 corrected), Laplace in between."""
    epsilon, value, (low, high) = 2.0, 0.3, (-1.0, 0.5)
    scale = (high - low) / epsilon
    released = release(constant(WIDE, value), epsilon=epsilon, weight_range=(low, high), bias_range=(low, high),
                       rng=np.random.default_rng(3)).network.parameters  # fmt: skip
    law = stats.laplace(value, scale)
    for end, chance in ((low, law.cdf(low)), (high, law.sf(high))):
        assert stats.binomtest(int(np.sum(released == end)), released.size, chance).pvalue > ALARM
    inside = released[(released > low) & (released < high)]
    between = lambda x: (law.cdf(x) - law.cdf(low)) / (law.cdf(high) - law.cdf(low))  # noqa: E731
    assert stats.kstest(inside, between).pvalue > ALARM


def test_weights_and_biases_have_ranges_of_their_own():
    released = release(constant((60, 60, 2), 0.0), epsilon=1.0, weight_range=(-2, 2), bias_range=(0.25, 0.5),
                       rng=np.random.default_rng(3)).network  # fmt: skip
    for w, b in zip(released.weights, released.biases):
        assert w.min() == -2 and w.max() == 2
        assert b.min() >= 0.25 and b.max() <= 0.5
    assert {0.25, 0.5} <= set(released.biases[0])


def test_with_much_epsilon_the_trained_network_is_released():
    options = {"weight_range": (-0.4, 0.4), "bias_range": (-0.1, 0.1)}
    features, labels = records(100, 3)
    plain = train(features, labels, start(), epochs=3, learning_rate=0.5, rng=np.random.default_rng(4), **options)
    private = learning_first(
        features, labels, start(), epsilon=1e9, epochs=3, learning_rate=0.5, rng=np.random.default_rng(4), **options
    )
    np.testing.assert_allclose(private.network.parameters, plain.parameters, atol=1e-7)
    assert np.abs(plain.weights[0]).max() == 0.4  # so the ranges did bind
    np.testing.assert_array_equal(private.predict(features), plain.predict(features))
    np.testing.assert_allclose(private.predict_proba(features), plain.predict_proba(features), atol=1e-6)


def test_one_training_serves_all_releases():
    features, labels = records(100, 3)
    options = {"weight_range": (-1, 1), "bias_range": (-1, 1)}
    rng = np.random.default_rng(4)
    trained = train(features, labels, start(), epochs=2, rng=rng, **options)
    apart = release(trained, epsilon=3.0, rng=rng, **options)
    together = learning_first(features, labels, start(), epsilon=3.0, epochs=2, rng=np.random.default_rng(4), **options)
    np.testing.assert_array_equal(apart.network.parameters, together.network.parameters)
    assert apart.statement == together.statement == PrivacyStatement("LearningFirst", 3.0, start().size)


# ---- AnonymizedLearning


def anonymized(features, labels, network, **options):
    base = {
        "epsilon": 1e9,
        "weight_thresholds": (-50, 50),
        "bias_thresholds": (-50, 50),
        "rng": np.random.default_rng(7),
    }
    return anonymized_learning(features, labels, network, **(base | options))


@pytest.mark.slow
@pytest.mark.parametrize("clipping", ["sum", "records"])
def test_with_much_epsilon_and_wide_thresholds_it_is_plain_training(clipping):
    features, labels = records(47, 3)
    options = {"batch": 10, "epochs": 4, "learning_rate": 0.3, "l2": 0.5, "shuffle": False}
    plain = train(features, labels, start(), rng=np.random.default_rng(0), **options)
    private = anonymized(features, labels, start(), clipping=clipping, **options).network
    np.testing.assert_allclose(private.parameters, plain.parameters, atol=1e-5)


def step_change(before, after, rate, batch):
    return (before.parameters - after.parameters) * batch / rate


ONE_STEP = {"epochs": 1, "learning_rate": 0.1, "l2": 0, "shuffle": False}


def test_a_sum_is_cut_whole_and_records_are_cut_one_by_one():
    model, (features, labels) = start((4, 6, 2)), records(12, 4)
    options = ONE_STEP | {
        "batch": 12,
        "epsilon": 1e12,
        "weight_thresholds": (-0.05, 0.1),
        "bias_thresholds": (-0.2, 0.05),
    }
    each = np.array([changes(model, [x], [t]) for x, t in zip(features, labels)])
    low, high = np.empty(model.size), np.empty(model.size)
    for vector, (weight_end, bias_end) in ((low, (-0.05, -0.2)), (high, (0.1, 0.05))):
        for w, b in layers(model.widths, vector):
            w[...], b[...] = weight_end, bias_end
    for clipping, expected in (
        ("sum", np.clip(each.sum(axis=0), low, high)),
        ("records", np.clip(each, low, high).sum(axis=0)),
    ):
        found = step_change(model, anonymized(features, labels, model, clipping=clipping, **options).network, 0.1, 12)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_noise_of_a_step_is_clipped_laplace_of_the_printed_scale():
    """Scale (high - low) E / epsilon, atoms at the thresholds; the change before the noise is 0 for all first weights."""
    features, labels = np.zeros((10, 80)), np.zeros(10)
    low, high, epsilon = -0.5, 1.5, 4.0
    options = ONE_STEP | {
        "batch": 10,
        "epsilon": epsilon,
        "weight_thresholds": (low, high),
        "bias_thresholds": (low, high),
    }
    found = anonymized(features, labels, start(WIDE), **options)
    change = layers(WIDE, step_change(start(WIDE), found.network, 0.1, 10))[0][0].ravel()
    law = stats.laplace(0, (high - low) / epsilon)
    at_ends = [np.abs(change - end) < 1e-9 for end in (low, high)]
    for those, chance in zip(at_ends, (law.cdf(low), law.sf(high))):
        assert stats.binomtest(int(those.sum()), change.size, chance).pvalue > ALARM
    between = lambda x: (law.cdf(x) - law.cdf(low)) / (law.cdf(high) - law.cdf(low))  # noqa: E731
    assert stats.kstest(change[~at_ends[0] & ~at_ends[1]], between).pvalue > ALARM


@pytest.mark.parametrize(("clipping", "reach"), [("sum", 1), ("records", 10)])
def test_the_budget_is_split_over_epochs_and_each_batch_gets_noise(clipping, reach):
    """Three epochs of two batches: six independent clipped variates of scale 3 range / epsilon; records may add up to more."""
    features, labels = np.zeros((20, 80)), np.zeros(20)
    options = ONE_STEP | {"batch": 10, "epochs": 3, "epsilon": 6.0, "weight_thresholds": (-1, 1), "clipping": clipping}
    found = anonymized(features, labels, start(WIDE), **options)
    total = layers(WIDE, step_change(start(WIDE), found.network, 0.1, 10))[0][0].ravel()
    scale = 2 * 3 / 6.0
    variance = 2 * scale**2 * (1 - math.exp(-reach / scale) * (1 + reach / scale))  # of a variate cut at -+reach
    kurtosis = 6 / 6  # a sum of six, each with excess at most Laplace's 3, exceeds the normal's by no more than 0.5
    spread = math.sqrt((2 + kurtosis) / total.size)
    assert np.var(total) == pytest.approx(6 * variance, rel=3.3 * spread)
    assert abs(total.mean()) < 3.3 * math.sqrt(6 * variance / total.size)


def test_thresholds_from_the_equations():
    """Noise of scale E/epsilon times each parameter's own interval, at the parameters before the step."""
    model, (features, labels) = start((20, 30, 2)), records(10, 20)
    found = anonymized(features, labels, model, weight_thresholds=None, bias_thresholds=None, clipping="records",
                       **(ONE_STEP | {"batch": 10, "epsilon": 50.0}))  # fmt: skip
    bounds = intervals.change_bounds(model)
    widths = np.concatenate([(high - low).ravel() for pair in zip(bounds.weights, bounds.biases) for low, high in pair])
    noise = step_change(model, found.network, 0.1, 10) - changes(model, features, labels)
    assert (widths > 0).all()
    assert stats.kstest(noise / (widths / 50.0), "laplace").pvalue > ALARM
    assert found.statement.one_parameter == found.statement.whole_model


def test_a_seed_fixes_everything():
    features, labels = records(60, 3)
    ends = [anonymized(features, labels, start(), epsilon=5.0, epochs=2, rng=np.random.default_rng(seed)).network.parameters
            for seed in (1, 1, 2)]  # fmt: skip
    np.testing.assert_array_equal(ends[0], ends[1])
    assert (ends[0] != ends[2]).all()


def test_divergence_is_an_error():
    features, labels = records(60, 3)
    with pytest.raises(FloatingPointError, match="training diverged in epoch"):
        anonymized(
            features,
            labels,
            start(),
            weight_thresholds=None,
            bias_thresholds=None,
            epsilon=0.1,
            learning_rate=1e6,
            epochs=100,
        )


# ---- what is guaranteed


def test_a_statement_in_numbers():
    statement = PrivacyStatement("AnonymizedLearning", 2.0, parameters=8502, epochs=500, batches=905)
    assert statement.whole_model == 17_004
    assert statement.one_parameter == 1810
    assert statement.rho == pytest.approx(8502 * 500 * Laplace(scale=500 / 2.0).rho)
    assert statement.rho == pytest.approx(8502 * 500 * (2 / 500) ** 2 / 2, rel=2e-3)
    assert 0 < statement.epsilon_at(1e-9) <= statement.whole_model
    assert (
        PrivacyStatement("AnonymizedLearning", 2.0, 502, 500, 905).one_parameter == 1004
    )  # no more than the whole model's
    assert PrivacyStatement("AnonymizedLearning", 2.0, 502, 500, 1).one_parameter == 2
    assert PrivacyStatement("AnonymizedLearning", 2.0, 502, 500, 1, noise_covers_range=False).one_parameter == 1004
    assert PrivacyStatement("LearningFirst", 2.0, 502).one_parameter == 2


def test_epsilon_at_a_delta_is_the_lesser_of_both_accounts():
    few, many = PrivacyStatement("LearningFirst", 0.5, 2), PrivacyStatement("LearningFirst", 0.1, 10_000)
    assert few.epsilon_at(1e-9) == few.whole_model == 1
    assert many.epsilon_at(1e-5) < many.whole_model / 5


def test_a_statement_shows_the_whole_model_beside_the_parameter():
    statement = PrivacyStatement("LearningFirst", 1.0, 8502)
    text = str(statement)
    assert "epsilon = 1" in text and "8,502 parameters" in text and "epsilon = 8502" in text and "rho" in text
    assert text.count("\n") == 5


def test_statements_of_trained_networks():
    features, labels = records(95, 3)
    found = anonymized(features, labels, start(), epsilon=2.0, epochs=3, batch=10).statement
    assert found == PrivacyStatement("AnonymizedLearning", 2.0, start().size, 3, 10)
    assert not anonymized(features, labels, start(), clipping="records", epochs=1).statement.noise_covers_range


@pytest.mark.slow
def test_theorem_4_fails_for_the_algorithm_itself():
    """`anonymized_learning_leaks.two_batches` computes by how much; here the method itself is run, 10,000 times on either database.

    The final value of one weight has odds above e^epsilon: later batches carry what the other parameters learned. That
    value is where its first change was -1/2, its second 1/2, and the L2 term tells their order.
    """
    inputs, epsilon, rate, runs = 4, 1.0, 20.0, 10_000
    options = {
        "learning_rate": rate,
        "l2": 1 / rate,
        "epochs": 1,
        "batch": 2,
        "shuffle": False,
    }
    options |= {"epsilon": epsilon, "weight_thresholds": (-0.5, 0.5), "bias_thresholds": (-0.5, 0.5)}
    values, labels = zip(*(record for batch in BATCHES for record in batch))
    features, rng = np.repeat(np.array(values)[:, None], inputs, axis=1), np.random.default_rng(99)
    hits = []
    for own in (0, 1):
        known = [own if label is None else label for label in labels]
        ends = [
            anonymized_learning(features, known, constant((inputs, 2), 0.0), rng=rng, **options) for _ in range(runs)
        ]
        hits.append(sum(abs(end.network.parameters[0] + rate / 8) < 1e-9 for end in ends))
    low, high = two_batches(inputs, epsilon, rate)
    error = stats.norm.isf(ALARM / 2) * math.sqrt(1 / hits[0] + 1 / hits[1])
    assert low - error < math.log(hits[0] / hits[1]) < high + error
    assert math.log(hits[0] / hits[1]) - error > epsilon


# ---- bad input


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"epsilon": -1}, r"epsilon must be in \(0, inf\), got -1"),
        ({"epsilon": math.nan}, r"epsilon must be in \(0, inf\), got nan"),
        (
            {"weight_thresholds": (1, -1)},
            r"weight_thresholds must be a pair \(low, high\) with low < high, got \(1, -1\)",
        ),
        ({"bias_thresholds": (0.5, 0.5)}, r"bias_thresholds must be a pair \(low, high\) with low < high"),
        ({"bias_thresholds": None}, r"bias_thresholds must be a pair \(low, high\) with low < high, got None"),
        ({"weight_thresholds": (-math.inf, 1)}, r"weight_thresholds must be in \(-inf, inf\), got -inf"),
        ({"clipping": "norm"}, r"clipping must be one of 'sum', 'records', got 'norm'"),
        ({"epochs": 0}, r"epochs must be in \[1, inf\), got 0"),
        ({"batch": 0}, r"batch must be in \[1, 20\], got 0"),
        ({"features": np.full((20, 3), 2.0)}, r"features must be in \[0, 1\], got 2"),
        ({"labels": np.full(20, 2)}, r"labels must be in \[0, 1\], got 2"),
        ({"learning_rate": 0}, r"learning_rate must be in \(0, inf\), got 0"),
        ({"rng": None}, "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_anonymized_learning_is_refused(changed, message):
    features, labels = records(20, 3)
    given = {"features": features, "labels": labels, "network": start(), "batch": 10, "epochs": 1}
    with pytest.raises(ValueError, match=message):
        anonymized(**(given | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"epsilon": 0}, r"epsilon must be in \(0, inf\), got 0"),
        ({"epsilon": math.nan}, r"epsilon must be in \(0, inf\), got nan"),
        ({"weight_range": (1, 0)}, r"weight_range must be a pair \(low, high\) with low < high, got \(1, 0\)"),
        ({"weight_range": None}, r"weight_range must be a pair \(low, high\) with low < high, got None"),
        ({"bias_range": (-math.inf, 0)}, r"bias_range must be in \(-inf, inf\), got -inf"),
    ],
)
def test_bad_learning_first_is_refused(changed, message):
    features, labels = records(60, 3)
    given = {"epsilon": 1.0, "weight_range": (-1, 1), "bias_range": (-1, 1), "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        release(start(), **(given | changed))
    with pytest.raises(ValueError, match=message):
        learning_first(features, labels, start(), epochs=1, **(given | changed))


@pytest.mark.parametrize(
    "arguments",
    [("DP-SGD", 1.0, 5), ("LearningFirst", 0.0, 5), ("LearningFirst", 1.0, 0), ("LearningFirst", 1.0, 5, 0)],
)
def test_bad_statements_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        PrivacyStatement(*arguments)


def test_leading_zeros_are_counted_exactly():
    """Against Python's whole numbers: at every power of two and beside it, with anything below, and at random."""
    edges = [(1 << k) + beside for k in range(65) for beside in (-1, 0, 1) if (1 << k) + beside < 1 << 64]
    low = [z | (2**23 - 1) for z in edges]
    words = [*edges, *low, *np.random.default_rng(5).integers(0, 2**64, 10_000, dtype=np.uint64).tolist()]
    assert [private_networks._leading_zeros(np.uint64(z)) for z in words] == [
        41 - (z >> 23).bit_length() for z in words
    ]
