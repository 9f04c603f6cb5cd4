"""LearningFirst and AnonymizedLearning: their noise against exact distributions, their networks, and their statements.

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
from tests.lib.veil import Veil

ALARM = 1e-3
WIDE = (80, 100, 2)  # 8302 parameters: one release is a large sample


def records(n, inputs, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, inputs)), rng.integers(classes, size=n)


def record_sets(n, inputs):
    """Yield records that have nothing in common but their number."""
    for seed in range(2):
        yield records(n, inputs, seed=seed)
    yield np.zeros((n, inputs)), np.zeros(n, int)
    yield np.ones((n, inputs)), np.ones(n, int)


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
    """Return outputs of SplitMix64 in integers, which wrap around."""
    z = np.uint64(seed) + np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z


def test_each_variate_is_minus_the_logarithm_of_a_uniform():
    """200,000 at once, more than a network has parameters here; the counter wraps around."""
    seed, n = 2**64 - 12345, 200_000
    z = words(seed, n)
    zeros = 41 - np.array([int(word).bit_length() for word in z >> np.uint64(23)])
    fraction = ((z >> np.uint64(1)) % np.uint64(2**22) + 0.5) / 2**22
    expected = np.where(z & np.uint64(1), 1, -1) * -np.log(2.0 ** -(zeros + 1) * (1 + fraction))
    np.testing.assert_allclose(draws(n, seed), expected, rtol=2e-6, atol=3e-7)


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


@pytest.fixture
def veiled(monkeypatch):
    """In place of the noise; (what each draw was added to, its scale) of all draws since the last call, from the generator given."""
    hidden, scales, sources = [], [], []

    def laplace(shape, scale, *, rng):
        scales.append(scale), sources.append(rng)
        drawn = np.random.default_rng(len(scales)).normal(size=shape).view(Veil)
        drawn.hidden = hidden
        return drawn

    def seen(given):
        assert all(rng is given for rng in sources)
        found = list(zip(hidden, scales, strict=True))
        hidden.clear(), scales.clear(), sources.clear()
        return found

    monkeypatch.setattr(private_networks.noise, "laplace", laplace)
    return seen


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("widths", [(1, 2), (7, 1, 5, 4, 3), WIDE, (300, 220, 2)], ids=str)
def test_every_parameter_is_cut_to_its_range_and_veiled_by_the_noise_stated(widths, dtype, veiled):
    """The parameters are 0, all alike, within the ranges and far outside."""
    (low, high), (least, most), epsilon, size = (-0.3, 0.5), (-1.5, -0.25), 1.7, constant(widths, 0.0).size
    values = np.random.default_rng(1).normal(size=(2, size)) * [[0.1], [50]]
    released = []
    for parameters in (np.zeros(size), np.full(size, -0.27), *values):
        network, rng = Network(widths, parameters.astype(dtype)), np.random.default_rng(2)
        found = release(network, epsilon=epsilon, weight_range=(low, high), bias_range=(least, most), rng=rng)
        released.append(found.network.parameters)
        parts = [part for pair in layers(widths, network.parameters) for part in pair]
        for j, ((hidden, scale), part) in enumerate(zip(veiled(rng), parts, strict=True)):
            ends = (least, most) if j % 2 else (low, high)
            np.testing.assert_allclose(hidden, np.clip(part, *ends), rtol=1e-6)
            assert np.all(scale == pytest.approx((ends[1] - ends[0]) / epsilon))
    assert all(np.array_equal(other, released[0]) for other in released)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "n"), [(0.1, 1), (0.1, 53), (0.1, 20_001), (500.0, 1), (500.0, 53), (500.0, 1_000_001)]
)
def test_the_records_of_learning_first_speak_through_what_is_veiled_alone(epsilon, n, veiled):
    released = []
    for features, labels in record_sets(n, 3):
        options = {
            "epsilon": epsilon,
            "weight_range": (-1, 1),
            "bias_range": (-0.5, 0.5),
            "epochs": 1,
            "batch": min(n, 50),
        }
        rng = np.random.default_rng(4)
        found = learning_first(features, labels, start(), rng=rng, learning_rate=0.5, **options)
        released.append(found.network.parameters)
        assert len(veiled(rng)) == 4 and found.statement == PrivacyStatement("LearningFirst", epsilon, start().size)
    assert all(np.array_equal(other, released[0]) for other in released)


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


def step_change(before, after, rate, batch):
    return (before.parameters - after.parameters) * batch / rate


ONE_STEP = {"epochs": 1, "learning_rate": 0.1, "l2": 0, "shuffle": False}


def flat(weights, biases):
    return np.concatenate([part.ravel() for pair in zip(weights, biases) for part in pair])


def ends_of_changes(network, thresholds):
    """Return lows and highs of all parameters: of weights and of biases one pair, or the equations' at the current parameters."""
    if thresholds is not None:
        pairs = zip(*thresholds)
        return [
            flat(*([np.full_like(p, end) for p in ps] for ps, end in zip((network.weights, network.biases), ends)))
            for ends in pairs
        ]
    bounds = intervals.change_bounds(network)
    return [flat(*ends) for ends in zip(zip(*bounds.weights), zip(*bounds.biases))]


def by_hand(
    features, labels, network, thresholds, *, epsilon, clipping, learning_rate, batch, epochs, l2, shuffle, rng
):
    """Return the parameters in the end, record by record; each step takes the next variates of the stream, one a parameter."""
    steps, of_weights = (
        -(-len(labels) // batch),
        flat(*([p * 0 + one for p in ps] for ps, one in ((network.weights, 1), (network.biases, 0)))),
    )
    stream = iter(
        draws(network.size * epochs * steps, int(rng.integers(2**64, dtype=np.uint64))).reshape(-1, network.size)
    )
    for _ in range(epochs):
        order = rng.permutation(len(labels)) if shuffle else np.arange(len(labels))
        for chosen in np.split(order, range(batch, len(labels), batch)):
            low, high = ends_of_changes(network, thresholds)
            kinds, of_each = np.unique(chosen % KINDS, return_inverse=True)
            each, reach = np.array([changes(network, features[[r]], labels[[r]]) for r in kinds])[of_each], 1
            if clipping == "records":
                each, reach = np.clip(each, low, high), len(chosen)
            noisy = np.clip(each.sum(axis=0), reach * low, reach * high) + (high - low) * epochs / epsilon * next(
                stream
            )
            step = np.clip(noisy, reach * low, reach * high) + l2 * of_weights * network.parameters
            network = Network(network.widths, network.parameters - learning_rate / len(chosen) * step)
    return network.parameters


THRESHOLDS = ((-0.05, 0.1), (-0.2, 0.0))
KINDS = 100  # of records; further ones repeat them


@pytest.mark.slow
@pytest.mark.parametrize("clipping", ["sum", "records"])
@pytest.mark.parametrize("thresholds", [THRESHOLDS, None], ids=["fixed", "equations"])
@pytest.mark.parametrize(
    ("widths", "n", "batch"),
    [((2, 2), 1, 1), ((4, 6, 3, 2), 21, 10), ((3, 8, 2), 7, 1), ((300, 220, 2), 25, 15), ((2, 2), 1_000_001, 300_000)],
    ids=str,
)
def test_every_step_takes_the_cut_change_and_fresh_noise_for_every_parameter(widths, n, batch, thresholds, clipping):
    """Last batches of fewer records and of one; nodes that are off; more than 2^16 parameters; 12 epochs; a million records. For these the noise,
    if it is on a sum over a batch, and otherwise the step are made larger, so that the noise shows."""
    features, labels = records(min(n, KINDS), widths[0])
    features[:, 0] = 0
    features, labels = np.resize(features, (n, widths[0])), np.resize(labels, n)
    epochs, noise, rate = 12 if max(widths) < 100 else 3, 1, 0.05
    if n > KINDS:
        epochs, noise, rate = (1, batch, rate) if clipping == "records" else (1, 1, rate * batch)
    options = {"learning_rate": rate, "batch": batch, "epochs": epochs, "l2": 0.5, "clipping": clipping}
    options["epsilon"] = 9.0 / noise
    for shuffle in (True, False):
        options |= {"shuffle": shuffle}
        given = dict(zip(("weight_thresholds", "bias_thresholds"), thresholds or (None, None)))
        found = anonymized_learning(features, labels, start(widths), **options, **given, rng=np.random.default_rng(8))
        expected = by_hand(features, labels, start(widths), thresholds, **options, rng=np.random.default_rng(8))
        np.testing.assert_allclose(found.network.parameters, expected, rtol=1e-5, atol=1e-6)
        covered = thresholds is not None and clipping == "sum"
        assert found.statement == PrivacyStatement(
            "AnonymizedLearning", 9.0 / noise, start(widths).size, epochs, -(-n // batch), covered
        )


@pytest.mark.parametrize("clipping", ["sum", "records"])
@pytest.mark.parametrize("thresholds", [((-0.5, 0.5), (-0.1, 0.3)), (None, None)], ids=["fixed", "equations"])
@pytest.mark.parametrize(("n", "batch"), [(1, 1), (21, 10), (53, 1), (20_001, 1000)])
def test_the_noise_of_a_tiny_epsilon_leaves_nothing_of_the_records(n, batch, thresholds, clipping):
    """Every change ends at a threshold, which the noise alone chooses."""
    given = dict(zip(("weight_thresholds", "bias_thresholds"), thresholds)) | {
        "clipping": clipping,
        "batch": batch,
        "epochs": 2,
    }
    released = [
        anonymized(
            *found, start((4, 30, 2), dtype="float32"), epsilon=1e-9, **given, rng=np.random.default_rng(3)
        ).network.parameters
        for found in record_sets(n, 4)
    ]
    assert (
        all(np.array_equal(other, released[0]) for other in released)
        and (released[0] != start((4, 30, 2)).parameters).mean() > 0.9
    )


@pytest.mark.parametrize("clipping, moved", [("sum", [1, 1]), ("records", [1.5, 0.5])])
def test_a_change_that_is_not_a_number_is_cut_too(clipping, moved):
    """It is the change of the first of two records: its outputs are infinite, and the next layer takes their difference. A cut for each record keeps the second's."""
    large = Network.of([np.full((2, 2), 3e38), [[1.0, 1.0], [-1.0, -1.0]]], np.zeros((2, 2)))
    fixed = {"weight_thresholds": (-1.0, 1.0), "bias_thresholds": (-1.0, 1.0), "clipping": clipping}
    options = {"epsilon": 1e9, "learning_rate": 1.0, "batch": 2, "epochs": 1, "l2": 0.0}
    rng = np.random.default_rng(3)
    found = anonymized_learning([[1, 1], [0, 0]], [0, 1], large, **fixed, **options, rng=rng).network
    assert -2 * found.biases[1] == pytest.approx(moved, abs=1e-6)


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
    """`anonymized_learning_leaks.two_batches` computes by how much; here the method itself is run, 4,000 times on either database.

    The final value of one weight has odds above e^epsilon: later batches carry what the other parameters learned. That
    value is where its first change was -1/2, its second 1/2, and the L2 term tells their order.
    """
    inputs, epsilon, rate, runs = 4, 1.0, 20.0, 4_000
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
    """Compare with Python's integers: at every power of two and beside it, with any lower bits, and at random."""
    edges = [(1 << k) + beside for k in range(65) for beside in (-1, 0, 1) if (1 << k) + beside < 1 << 64]
    low = [z | (2**23 - 1) for z in edges]
    words = [*edges, *low, *np.random.default_rng(5).integers(0, 2**64, 10_000, dtype=np.uint64).tolist()]
    assert [private_networks._leading_zeros(np.uint64(z)) for z in words] == [
        41 - (z >> 23).bit_length() for z in words
    ]
