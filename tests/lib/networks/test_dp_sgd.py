"""DP-SGD: its guarantee, clipping record by record, the noise, an audit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lib.attacks import audit
from lib.networks import backpropagation, dp_sgd
from lib.networks import network as net
from lib.networks.dp_sgd import Plan, epsilon, noise_multiplier, train
from lib.networks.network import Network, changes, workspace
from lib.networks.views import block
from notebooks.studies.network_features import adult_features

QUICK = settings(derandomize=True, deadline=None, max_examples=30)


# ---- the guarantee


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "q", "steps"), [(1.0, 0.02, 500), (0.1, 0.05, 100), (8.0, 0.01, 50), (2.0, 1.0, 30)]
)
def test_the_noise_multiplier_is_the_least(wanted, q, steps):
    sigma = noise_multiplier(wanted, 1e-5, q, steps)
    plan = Plan.calibrated(wanted, 1e-5, sampling=q, steps=steps)
    assert plan == Plan(q, steps, sigma, 1e-5) and plan.epsilon <= wanted < epsilon(sigma * 0.995, q, steps, 1e-5)


@pytest.mark.slow
def test_the_noise_multiplier_for_replaced_records_is_the_least():
    sigma = noise_multiplier(1.0, 1e-5, 0.02, 500, "bounded")
    plan = Plan.calibrated(1.0, 1e-5, sampling=0.02, steps=500, neighbours="bounded")
    assert plan == Plan(0.02, 500, sigma, 1e-5) and plan.epsilon < plan.replaced <= 1.0
    assert epsilon(sigma * 0.995, 0.02, 500, 1e-5, "bounded") > 1.0
    with pytest.raises(ValueError, match="neighbours must be one of 'unbounded', 'bounded', got 'both'"):
        epsilon(1.0, 0.1, 1, 1e-5, "both")


@pytest.mark.slow
def test_more_steps_sampling_or_less_noise_cost_more():
    base = epsilon(1.5, 0.02, 100, 1e-5)
    assert (
        base < epsilon(1.5, 0.02, 200, 1e-5)
        and base < epsilon(1.5, 0.04, 100, 1e-5)
        and base < epsilon(1.2, 0.02, 100, 1e-5)
    )
    assert Plan(0.02, 100, 1.5, 1e-5).epsilon == base


@pytest.mark.slow
def test_the_network_carries_its_guarantee():
    plan = Plan(0.5, 2, 3.0, 1e-5)
    network = Network.of([np.zeros((2, 2))], [np.zeros(2)])
    found = train([[0.1, 0.9]], [1], network, plan, rng=np.random.default_rng(0))
    assert found.statement == plan and found.predict_proba([[0.5, 0.5]]).shape == (1, 2)
    assert plan.epsilon < plan.replaced


# ---- clipping


def setting(widths, records, seed, *, dtype="float64"):
    rng = np.random.default_rng(seed)
    features = rng.random((records, widths[0]))
    labels = rng.integers(widths[-1], size=records)
    return features, labels, Network.initial(widths, rng=rng, dtype=dtype)


def clipped_changes(network, features, labels, limit):
    """Return the whole change of each record, shortened to `limit`."""
    each = [changes(network, features[r : r + 1], labels[r : r + 1]) for r in range(len(labels))]
    return [change * min(1, limit / max(np.linalg.norm(change), limit)) for change in each]


@pytest.mark.slow
@QUICK
@given(
    seed=st.integers(0, 10**6), widths=st.lists(st.integers(2, 6), min_size=2, max_size=5),
    records=st.integers(1, 12), limit=st.floats(0.01, 10),
)  # fmt: skip
def test_clipped_errors_sum_to_the_clipped_changes(seed, widths, records, limit):
    features, labels, network = setting(widths, records, seed)
    parameters, widths = network.parameters.copy(), np.array(network.widths)
    outputs, errors, change = workspace(network, records)
    outputs[: features.size] = features.ravel()
    backpropagation.forward(parameters, widths, outputs, records)
    backpropagation.backward(parameters, widths, outputs, labels, errors, change)
    dp_sgd.clip_errors(widths, outputs, errors, records, limit)
    backpropagation.summed(widths, outputs, errors, records, change)
    wanted = clipped_changes(network, features, labels, limit)
    assert np.allclose(change, np.sum(wanted, axis=0), rtol=1e-9, atol=1e-12)
    assert max(np.linalg.norm(one) for one in wanted) <= limit * (1 + 1e-12)


def norms(outputs, errors, widths, rows):
    """Return the norm of each record's change, computed such that no square can overflow or vanish."""
    parts = [
        [math.hypot(1, *y) * math.hypot(*d) for y, d in zip(*(each.astype(float).tolist() for each in pair))]
        for pair in (
            (block(outputs, widths, k - 1, rows), block(errors, widths, k, rows)) for k in range(1, len(widths))
        )
    ]
    return np.array([math.hypot(*each) for each in zip(*parts, strict=True)])


def of_any_size(rng, lines, dtype):
    """Return numbers with a random magnitude in each line: from below the smallest of `dtype` to beyond the largest, or 1e-9 to 1e9."""
    low, high = (-46, 39) if dtype == "float32" else (-325, 309)
    powers = [rng.uniform(low, high, lines), rng.uniform(-9, 9, lines), rng.choice([-np.inf, np.inf, np.nan], lines)]
    with np.errstate(over="ignore"):
        return (10.0 ** np.choose(rng.choice(3, lines, p=[0.6, 0.39, 0.01]), powers)).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("widths, rows", [((1, 2), 40), ((3, 4, 2), 40), ((200_000, 2), 2)])
def test_no_change_exceeds_its_norm_whatever_the_magnitudes(widths, rows, dtype):
    """To a relative 1e-6, as the module states, with limits from 1e-8 to 1e8; where nothing is extreme, a shortened change attains it.

    Each record is shortened as it would be alone, and what is not finite becomes 0.
    """
    rng, array = np.random.default_rng(13), np.array(widths)
    layers = [(k, block(np.zeros(rows * sum(widths)), array, k, rows).shape) for k in range(len(widths))]
    for limit in 10.0 ** rng.uniform(-8, 8, 30 if rows > 2 else 4):
        outputs, errors = (
            np.concatenate([(of_any_size(rng, (rows, 1), dtype) * rng.uniform(-1, 1, shape).astype(dtype)).ravel() for _, shape in layers])
            for _ in range(2)
        )  # fmt: skip
        alone = [
            [np.concatenate([block(each, array, k, rows)[r] for k, _ in layers]) for each in (outputs, errors)]
            for r in range(rows)
        ]
        usual = [np.abs(y).max() < 1e9 and 1e-20 < np.abs(d).min() <= np.abs(d).max() < 1e9 for y, d in alone]
        for each in alone:
            dp_sgd.clip_errors(array, *each, 1, limit)
        before = norms(outputs, errors, array, rows)
        dp_sgd.clip_errors(array, outputs, errors, rows, limit)
        after = norms(outputs, errors, array, rows)
        assert (after <= limit * (1 + 1e-6)).all()
        np.testing.assert_allclose(after[usual], np.minimum(before, limit)[usual], rtol=1e-6)
        for k in range(1, len(widths)):
            for r, (y, d) in enumerate(alone):
                assert np.array_equal(
                    block(outputs, array, k - 1, rows)[r], block(y, array, k - 1, 1)[0], equal_nan=True
                )
                assert np.array_equal(block(errors, array, k, rows)[r], block(d, array, k, 1)[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_record_changes_a_network_by_its_norm_at_most_whatever_the_weights(dtype):
    """There are 300 networks with weights and features of any magnitude, and limits from 1e-8 to 1e8."""
    rng = np.random.default_rng(14)
    for _ in range(300):
        weights, biases = (
            [of_any_size(rng, (), dtype) * rng.uniform(-1, 1, s) for s in shapes]
            for shapes in (((2, 3), (3, 2)), (3, 2))
        )
        largest = np.finfo(dtype).max
        network = Network.of(
            *([np.nan_to_num(np.clip(p, -largest, largest)) for p in each] for each in (weights, biases)), dtype=dtype
        )
        features, limit = np.fmin(of_any_size(rng, (1, 2), dtype), 1), 10.0 ** rng.uniform(-8, 8)
        work = workspace(network, 1)
        backpropagation.propagate(
            network.parameters.copy(), np.array(network.widths), features, np.array([0]), np.array([0]), *work
        )
        dp_sgd.clip_errors(np.array(network.widths), *work[:2], 1, limit)
        backpropagation.summed(np.array(network.widths), *work[:2], 1, work[2])
        assert np.linalg.norm(work[2].astype(float)) <= limit * (1 + 1e-6)


def run(network, features, labels, sizes, *, rate=0.3, limit=0.5, sigma=0.0, momentum=0.0, l2=0.0, scale=1.0, seed=0):
    """Return the compiled loop, without `train`'s checks."""
    parameters = network.parameters.copy()
    work = workspace(network, max(1, max(sizes)))
    dp_sgd._run(
        parameters, np.array(network.widths), features.astype(parameters.dtype), labels, np.array(sizes), np.arange(len(labels)),
        rate, limit, sigma, momentum, l2, scale, np.random.default_rng(seed), *work,
    )  # fmt: skip
    return parameters


def test_a_step_without_records_is_noise_alone():
    """This also holds after a step with records (Kolmogorov-Smirnov, false alarm 0.1 %)."""
    features, labels, network = setting((30, 40, 2), 5, 2)
    after = run(network, features, labels, [5])
    assert (run(network, features, labels, [5, 0, 0]) == after).all()  # in the same workspace
    noisy = run(Network(network.widths, after), features, labels, [0], rate=2.0, sigma=1.5, scale=0.25)
    assert stats.kstest(noisy - after, stats.norm(0, 2 * 1.5 * 0.25).cdf).pvalue > 1e-3


def test_the_noise_has_the_stated_size_and_does_not_depend_on_the_records():
    features, labels, network = setting((30, 40, 2), 5, 3)
    plan = Plan(1.0, 1, 2.0, 1e-5)
    noisy = train(
        features, labels, network, plan, learning_rate=1.0, clip=0.5, rng=np.random.default_rng(4)
    ).network.parameters
    silent = run(network, features, labels, [5], rate=1.0, limit=0.5, scale=1 / 5)
    noise = (noisy - silent) * 5
    assert stats.kstest(noise, stats.norm(0, 2.0 * 0.5).cdf).pvalue > 1e-3  # false alarm 0.1 %
    assert len(np.unique(noise)) == len(noise)


def test_the_stated_number_of_records_divides_a_step_and_not_their_own():
    features, labels, network = setting((4, 5, 3), 9, 1)
    plan, options = Plan(1.0, 1, 1.0, 1e-5), {"learning_rate": 1.0, "clip": 0.5}
    for size in (1, 9):
        by_ten, by_a_thousand = (
            train(
                features[:size], labels[:size], network, plan, records=records, rng=np.random.default_rng(4), **options
            ).network.parameters
            - network.parameters
            for records in (10, 1000)
        )
        assert np.allclose(by_ten, 100 * by_a_thousand, rtol=1e-4, atol=1e-6)
    own = (
        train(features, labels, network, plan, rng=np.random.default_rng(4), **options).network.parameters
        - network.parameters
    )
    assert np.allclose(by_ten, own * 9 / 10, rtol=1e-4, atol=1e-6)


def by_definition(features, labels, network, plan, *, learning_rate, clip, momentum, l2, records, rng):
    """Do what `train` does record by record, in plain numpy, with the same random numbers."""
    sizes = rng.binomial(len(labels), plan.sampling, size=plan.steps)
    order, velocity, parameters = list(range(len(labels))), 0.0, network.parameters.copy()
    for size in sizes:
        for i in range(size):
            j = rng.integers(i, len(order))
            order[i], order[j] = order[j], order[i]
        clipped = clipped_changes(
            Network(network.widths, parameters), features[order[:size]], labels[order[:size]], clip
        )
        velocity = momentum * velocity + np.sum(clipped, axis=0)
        velocity += plan.noise_multiplier * clip * np.array([rng.standard_normal() for _ in parameters])
        decay = parameters.copy()
        for _, bias in net.layers(network.widths, decay):
            bias[:] = 0
        parameters = parameters - learning_rate * (velocity / (plan.sampling * records) + l2 * decay)
    return parameters


RUNS = {  # widths, records, sampling, size of the start, clip: by default a little less than the first record's change
    "deep": ((3, 4, 5, 4, 5, 4, 5, 2), 20, 0.5, 1, None),
    "wide, many classes": ((200, 60, 30), 40, 0.3, 1, 1.0),
    "many records": ((4, 3), 3000, 0.6, 1, None),
    "all records": ((4, 5, 3), 30, 1.0, 1, None),
    "few steps with records": ((4, 5, 3), 2, 0.1, 1, None),
    "one record": ((2, 2), 1, 0.5, 1, None),
    "weak signals": ((4, 20, 3), 50, 0.5, 60, 1e-3),
    "nothing to clip": ((4, 5, 3), 30, 0.5, 1, 100.0),
}


SETTINGS = [(kind, 0.3, 0.5, 0.1) for kind in ("any", "none", "all", "equal")]
SETTINGS += [("any", 1.0, 0.0, 0.0), ("any", 3.0, 0.95, 0.01), ("equal", 30.0, 0.2, 0.0)]


@pytest.mark.slow
@pytest.mark.parametrize("kind, rate, momentum, l2", SETTINGS)
@pytest.mark.parametrize("widths, records, sampling, size, clip", RUNS.values(), ids=RUNS)
def test_a_run_is_that_of_the_definition(widths, records, sampling, size, clip, kind, rate, momentum, l2):
    """For few records or many, small networks or large, any learning rate: with the same random numbers, records act only
    through clipped sums."""
    features, labels, network = setting(widths, records, 12)
    if kind != "any":
        features, labels = np.full_like(features, {"none": 0, "all": 1, "equal": 0.5}[kind]), np.zeros_like(labels)
    network = Network(widths, size * network.parameters)
    clip = clip or np.linalg.norm(changes(network, features[:1], labels[:1])) / (1 + 1e-4)
    options = {"learning_rate": rate, "clip": clip, "momentum": momentum, "l2": l2, "records": 2 * records + 1}
    plan = Plan(sampling, 5, 0.7, 1e-5)
    found = train(features, labels, network, plan, rng=np.random.default_rng(7), **options).network.parameters
    wanted = by_definition(features, labels, network, plan, rng=np.random.default_rng(7), **options)
    assert np.allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("records, steps", [(2500, 3), (17_000, 2), (1_060_000, 1), (3, 3000)])
def test_a_step_of_any_number_of_records_is_that_of_the_definition(records, steps):
    """Up to a million records, or 3000 steps: of one feature and two classes, all records at once, with the same random numbers.
    The public number of records is not their own."""
    features, labels, network = setting((1, 2), records, 15)
    plan, options = Plan(0.95, steps, 0.7, 1e-5), {"learning_rate": 0.5, "clip": 0.3, "momentum": 0.5}
    found = train(features, labels, network, plan, records=2 * records + 1, rng=np.random.default_rng(0), **options)
    assert found.statement == plan
    parameters, velocity, rng, order = network.parameters.copy(), 0.0, np.random.default_rng(0), list(range(records))
    for size in rng.binomial(records, 0.95, size=steps):
        for i, j in enumerate(rng.integers(np.arange(size), records).tolist()):
            order[i], order[j] = order[j], order[i]
        x, taken = features[order[:size], 0], labels[order[:size]]
        second = 1 / (1 + np.exp((parameters[[0, 2]] - parameters[[1, 3]]) @ [x, np.ones(size)]))
        d = second - taken
        d *= np.minimum(1, 0.3 / np.sqrt(2 * d**2 * (1 + x**2)))
        velocity = 0.5 * velocity + np.array([-d @ x, d @ x, -d.sum(), d.sum()]) + 0.7 * 0.3 * rng.standard_normal(4)
        parameters = parameters - 0.5 / (0.95 * (2 * records + 1)) * velocity
    np.testing.assert_allclose(found.network.parameters, parameters, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("widths", [(3000, 2), (300, 300, 2), (1000, 1000, 2), (2,) * 60])
def test_every_parameter_gets_noise_of_its_own(widths):
    """There are up to 10^6 parameters, and 60 layers, in steps with and without records."""
    features, labels, network = setting(widths, 5, 16)
    for sizes in ([0], [5]):
        silent, noisy = (run(network, features, labels, sizes, rate=1.0, sigma=sigma) for sigma in (0.0, 1.5))
        rng = np.random.default_rng(0)
        dp_sgd._sample(np.arange(5), sizes[0], rng)
        assert np.allclose(silent - noisy, 1.5 * rng.standard_normal(network.size), atol=1e-9)


# ---- sampling


def test_every_subset_is_equally_likely_whatever_was_drawn_before():
    """Pairs out of five, 4000 draws in a row from the same order: chi-squared, false alarm 0.1 %."""
    rng, order, seen = np.random.default_rng(5), np.arange(5), {}
    for _ in range(4000):
        dp_sgd._sample(order, 2, rng)
        pair = tuple(sorted(order[:2]))
        seen[pair] = seen.get(pair, 0) + 1
    assert sorted(order) == [0, 1, 2, 3, 4] and len(seen) == 10
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


@pytest.mark.slow
def test_each_record_is_taken_independently():
    """One step of a network that remembers whom it saw: numbers of records taken are binomial; false alarm 0.1 %."""
    features, labels, network = (
        np.eye(6),
        np.zeros(6, int),
        Network.of([np.zeros((6, 2))], [np.zeros(2)], dtype="float64"),
    )
    taken, rng = [], np.random.default_rng(6)
    for _ in range(2000):
        moved = train(features, labels, network, Plan(0.3, 1, 0.1, 1e-5), learning_rate=1.0, rng=rng).network.weights[0]
        taken.append(moved[:, 0] - moved[:, 1] > 0.5 * 2 / (0.3 * 6) * 0.5)  # the change is 1/2 a class, the noise 0.1
    counts = np.bincount(np.sum(taken, axis=1), minlength=7)
    expected = 2000 * stats.binom(6, 0.3).pmf(np.arange(7))
    assert stats.chisquare([*counts[:4], counts[4:].sum()], [*expected[:4], expected[4:].sum()]).pvalue > 1e-3


# ---- the guarantee


@pytest.mark.slow
def test_an_audit_does_not_refute_epsilon():
    """One record more or less, known to the last digit; the score is the change along it. False alarm 0.01 %."""
    plan = Plan(0.5, 3, 1.0, 1e-3)
    network = Network.of([np.zeros((2, 2))], [np.zeros(2)], dtype="float64")
    others, labels = np.array([[1.0, 0.0]] * 3), [0, 0, 1]
    scores = []
    for features, known in ((np.vstack([others, [[0.0, 1.0]]]), [*labels, 1]), (others, labels)):
        rng, found = np.random.default_rng(7), []
        for _ in range(4000):
            trained = train(features, known, network, plan, learning_rate=0.1, clip=0.5, records=4, rng=rng)
            weights = trained.network.weights[0]
            found.append(weights[1, 1] - weights[1, 0])
        scores.append(found)
    found = audit.epsilon_lower_bound(*scores, delta=plan.delta, confidence=0.9999)
    assert not found.refutes(plan.epsilon) and found.refutes(0.2)


@pytest.mark.slow
def test_a_private_network_learns():
    """The synthetic sample at epsilon 1, delta 1e-5; the network is judged on records that it has not seen."""
    adult = adult_features(encoding="one-hot", numeric="log", source="stand-in")
    train_on, test = slice(None, 40_000), slice(40_000, None)
    plan = Plan.calibrated(1.0, 1e-5, sampling=512 / 40_000, steps=400)
    rng = np.random.default_rng(8)
    start = Network.initial((105, 16, 2), rng=rng, scheme="glorot")
    found = train(adult.values[train_on], adult.labels[train_on], start, plan, learning_rate=1.0, rng=rng)
    share = adult.labels[test].mean()
    assert (found.predict(adult.values[test]) == adult.labels[test]).mean() > max(share, 1 - share) + 0.04


def test_the_same_seed_gives_the_same_network():
    features, labels, network = setting((4, 5, 2), 30, 9, dtype="float32")
    plan = Plan(0.2, 5, 1.0, 1e-5)
    first, again, other = (
        train(features, labels, network, plan, rng=np.random.default_rng(s)).network.parameters for s in (1, 1, 2)
    )
    assert np.array_equal(first, again) and not np.array_equal(first, other) and first.dtype == np.float32


# ---- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": [[1.5, 0.0]]}, r"features must be in \[0, 1\], got 1.5"),
        ({"features": [[np.nan, 0.0]]}, r"features must be in \[0, 1\], got nan"),
        ({"features": np.zeros((0, 2)), "labels": []}, "features must have shape"),
        ({"labels": [2]}, r"labels must be in \[0, 1\], got 2"),
        ({"plan": 1.0}, "plan must be a Plan, got 1.0"),
        ({"learning_rate": 0}, r"learning_rate must be in \(0, inf\), got 0"),
        ({"clip": 0}, r"clip must be in \(0, inf\), got 0"),
        ({"clip": np.nan}, r"clip must be in \(0, inf\), got nan"),
        ({"momentum": 1}, r"momentum must be in \[0, 1\), got 1"),
        ({"l2": -1}, r"l2 must be in \[0, inf\), got -1"),
        ({"records": 0}, r"records must be in \[1, inf\), got 0"),
        ({"rng": 3}, "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_input_is_refused(change, message):
    network = Network.of([np.zeros((2, 2))], [np.zeros(2)])
    good = {"features": [[0.5, 0.5]], "labels": [1], "plan": Plan(0.5, 1, 1.0, 1e-5), "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match=message):
        train(**{"network": network} | good | change)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ((0, 1, 1.0, 1e-5), r"sampling must be in \[1e-6, 1\], got 0"),
        ((1.1, 1, 1.0, 1e-5), r"sampling must be in \[1e-6, 1\], got 1.1"),
        ((0.5, 0, 1.0, 1e-5), r"steps must be in \[1, inf\), got 0"),
        ((0.5, 2.5, 1.0, 1e-5), "steps must be an integer"),
        ((0.5, 1, 0, 1e-5), r"noise_multiplier must be in \[0.1, 1e6\], got 0"),
        ((0.5, 1, 1.0, 0), r"delta must be in \[1e-12, 1\), got 0"),
    ],
)
def test_a_bad_plan_is_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        Plan(*plan)
    sampling, steps, sigma, delta = plan
    with pytest.raises(ValueError, match=message):
        epsilon(sigma, sampling, steps, delta)


@pytest.mark.parametrize("wanted", [0, -1, np.nan, np.inf])
def test_an_epsilon_that_is_none_is_refused(wanted):
    with pytest.raises(ValueError, match=r"epsilon must be in \[0.001, inf\)"):
        noise_multiplier(wanted, 1e-5, 0.1, 10)


def test_a_diverging_run_is_ended():
    features, labels, network = setting((3, 4, 2), 20, 10, dtype="float32")
    plan = Plan(1.0, 5, 1.0, 1e-5)
    with pytest.raises(FloatingPointError, match="training diverged: .*lower learning_rate, now 1e\\+38"):
        train(features, labels, network, plan, learning_rate=1e38, records=1, rng=np.random.default_rng(0))
