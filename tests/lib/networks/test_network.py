"""The network against finite differences, the equations as loops, and scikit-learn's stochastic gradient descent."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neural_network import MLPClassifier

from lib.networks import backpropagation, network, views
from lib.networks.network import Network, changes, count, layers, train

ROOT = str(Path(__file__).resolve().parents[3])


def records(n, inputs, classes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, inputs)), rng.integers(classes, size=n)


def random_network(widths, seed=0, dtype="float64"):
    """Return weights and biases all random, so that no bias term can be forgotten unseen."""
    rng = np.random.default_rng(seed)
    return Network(widths, rng.normal(0, 0.7, count(widths)).astype(dtype))


def start(widths=(3, 8, 2), **options):
    return Network.initial(widths, rng=np.random.default_rng(1), **options)


# ---- gradients


def loss(network, features, labels):
    """Return the mean cross-entropy in nats (equation 17)."""
    return -np.log(network.predict_proba(features)[np.arange(len(labels)), labels]).mean()


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(2, 4), st.integers(1, 7), st.integers(0, 2**32)
)  # fmt: skip
@settings(derandomize=True, deadline=None, max_examples=40)
def test_changes_are_the_gradient(widths, classes, n, seed):
    """Central differences of the summed cross-entropy; a ReLU at 0, where they fail, has probability 0."""
    model, (features, labels) = random_network((*widths, classes), seed), records(n, widths[0], classes, seed)
    step, numerical = 1e-6, np.empty(model.size)
    for k in range(model.size):
        ends = [model.parameters.copy(), model.parameters.copy()]
        ends[0][k] -= step
        ends[1][k] += step
        below, above = (n * loss(Network(model.widths, end), features, labels) for end in ends)
        numerical[k] = (above - below) / (2 * step)
    np.testing.assert_allclose(changes(model, features, labels), numerical, rtol=1e-5, atol=1e-7)


def by_the_book(model, features, labels):
    """Evaluate equations (1), (4), (16), (18), (19) index by index, one record after another."""
    total = [(np.zeros_like(w), np.zeros_like(b)) for w, b in zip(model.weights, model.biases)]
    for record, label in zip(features, labels):
        y, last = [list(record)], len(model.weights)
        for layer, (w, b) in enumerate(zip(model.weights, model.biases), 1):
            x = [sum(y[-1][j] * w[j, i] for j in range(w.shape[0])) + b[i] for i in range(w.shape[1])]
            y.append(
                [max(0, value) for value in x] if layer < last else [math.exp(v) / sum(map(math.exp, x)) for v in x]
            )
        delta = [probability - (k == label) for k, probability in enumerate(y[-1])]
        for layer in range(last, 0, -1):
            w, (dw, db) = model.weights[layer - 1], total[layer - 1]
            for j in range(w.shape[1]):
                db[j] += delta[j]
                for i in range(w.shape[0]):
                    dw[i, j] += y[layer - 1][i] * delta[j]
            delta = [
                (y[layer - 1][j] > 0) * sum(w[j, k] * delta[k] for k in range(w.shape[1])) for j in range(w.shape[0])
            ]
    return total


def test_changes_are_the_equations():
    model, (features, labels) = random_network((4, 6, 5, 3)), records(9, 4, 3)
    for (w, b), (dw, db) in zip(
        layers(model.widths, changes(model, features, labels)), by_the_book(model, features, labels)
    ):
        np.testing.assert_allclose(w, dw, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(b, db, rtol=1e-12, atol=1e-14)


def test_the_compiled_outputs_are_those_of_numpy():
    model, (features, _) = random_network((4, 6, 5, 3)), records(9, 4, 3)
    outputs, widths = network.workspace(model, 9)[0], np.array(model.widths)
    outputs[: features.size] = features.ravel()
    backpropagation.forward(model.parameters.copy(), widths, outputs, 9)
    for layer, expected in enumerate(model.outputs(features)):
        np.testing.assert_allclose(views.block(outputs, widths, layer, 9), expected, rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba(features).sum(axis=1), 1, rtol=1e-14)


def test_softmax_does_not_overflow():
    model = Network.of([[[3e4, -3e4, 0.0]]], [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[1, 0, 0]])
    np.testing.assert_array_equal(changes(model, [[1.0]], [1])[:3], [1, -1, 0])


# ---- training


@pytest.mark.slow
@pytest.mark.parametrize("widths", [(5, 3), (5, 7, 3), (5, 10, 4, 6, 3)])
def test_training_is_scikit_learns(widths):
    """Same start, same order of records, last batch not full: the same parameters after four epochs."""
    model, (features, labels) = random_network(widths), records(47, 5, 3)
    options = {"learning_rate_init": 0.3, "alpha": 0.8, "batch_size": 10, "shuffle": False}
    peer = MLPClassifier(widths[1:-1], solver="sgd", momentum=0, nesterovs_momentum=False, **options)
    peer.partial_fit(features, labels, classes=[0, 1, 2])
    for own, (w, b) in zip(zip(peer.coefs_, peer.intercepts_), layers(model.widths, model.parameters)):
        own[0][...], own[1][...] = w, b
    for _ in range(4):
        peer.partial_fit(features, labels)
    rng = np.random.default_rng(0)
    trained = train(features, labels, model, learning_rate=0.3, l2=0.8, batch=10, epochs=4, shuffle=False, rng=rng)
    for ours, theirs in zip((*trained.weights, *trained.biases), (*peer.coefs_, *peer.intercepts_), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(trained.predict(features), peer.predict(features))


def test_one_step_by_hand():
    model, (features, labels) = random_network((3, 4, 2)), records(8, 3, 2)
    rng = np.random.default_rng(0)
    trained = train(features, labels, model, learning_rate=0.1, batch=8, epochs=1, l2=0.6, rng=rng)
    change = layers(model.widths, changes(model, features, labels))
    for (w, b), (dw, db), new_w, new_b in zip(
        layers(model.widths, model.parameters), change, trained.weights, trained.biases
    ):
        np.testing.assert_allclose(new_w, w - 0.1 * (dw + 0.6 * w) / 8, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(new_b, b - 0.1 * db / 8, rtol=1e-12, atol=1e-14)


def test_single_precision_is_close_to_double():
    features, labels = records(500, 6, 2)
    model = random_network((6, 10, 10, 2))
    ends = [train(features, labels, Network(model.widths, model.parameters.astype(dtype)), epochs=5, rng=np.random.default_rng(3))
            for dtype in ("float32", "float64")]  # fmt: skip
    assert ends[0].parameters.dtype == np.float32
    np.testing.assert_allclose(ends[0].parameters, ends[1].parameters, atol=2e-5)


def test_it_learns_what_no_linear_model_can():
    features, _ = records(4000, 2, 2)
    labels = ((features[:, 0] > 0.5) ^ (features[:, 1] > 0.5)).astype(int)
    trained = train(
        features, labels, start((2, 16, 16, 2)), learning_rate=0.2, epochs=60, l2=0, rng=np.random.default_rng(2)
    )
    assert np.mean(trained.predict(features) == labels) > 0.97


def test_a_seed_fixes_everything_and_the_start_is_left_alone():
    features, labels = records(120, 3, 2)
    model = start()
    before = model.parameters.copy()
    ends = [train(features, labels, model, epochs=3, rng=np.random.default_rng(seed)).parameters for seed in (5, 5, 6)]
    np.testing.assert_array_equal(ends[0], ends[1])
    assert (ends[0] != ends[2]).any()
    np.testing.assert_array_equal(model.parameters, before)


def test_every_step_is_projected():
    """A rate that moves all parameters out leaves none outside its range, and the last biases at its ends. The start is also cut."""
    features, labels = records(60, 3, 2)
    options = {"weight_range": (-0.5, 0.25), "bias_range": (-0.1, 0.2), "rng": np.random.default_rng(0)}
    trained = train(features, labels, start(), learning_rate=1e4, epochs=1, **options)
    assert all(((w >= -0.5) & (w <= 0.25)).all() for w in trained.weights)
    assert set(trained.biases[-1]) == {np.float32(-0.1), np.float32(0.2)}
    idle = train(features, labels, random_network((3, 8, 2)), learning_rate=1e-12, epochs=1, l2=0, **options)
    np.testing.assert_allclose(idle.weights[0], np.clip(random_network((3, 8, 2)).weights[0], -0.5, 0.25), atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_divergence_is_an_error(dtype):
    features, labels = records(200, 3, 2)
    with pytest.raises(FloatingPointError, match=r"training diverged in epoch \d+: .* lower learning_rate, now 1e\+30"):
        train(features, labels, start(dtype=dtype), learning_rate=1e30, epochs=50, rng=np.random.default_rng(0))


# ---- the container


def test_the_first_layers_are_where_the_text_says():
    model = Network((2, 1, 2), np.arange(7.0))
    assert [w.tolist() for w in model.weights] == [[[0], [1]], [[3, 4]]]
    assert [b.tolist() for b in model.biases] == [[2], [5, 6]]
    assert model.size == count((2, 1, 2)) == 7
    again = Network.of(model.weights, model.biases, dtype="float64")
    np.testing.assert_array_equal(again.parameters, model.parameters)


def test_a_network_cannot_be_altered():
    source = np.zeros(7)
    model = Network((2, 1, 2), source)
    source[0] = 1
    assert model.parameters[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        model.weights[0][0, 0] = 1
    with pytest.raises(AttributeError):
        model.widths = (1, 2)


@pytest.mark.parametrize(("scheme", "variance"), [("he", 2 / 300), ("glorot", 2 / 500)])
def test_initial_weights_have_the_variance_of_their_scheme(scheme, variance):
    model = start((300, 200, 2), scheme=scheme)
    assert model.weights[0].var() == pytest.approx(variance, rel=0.03)  # five standard errors for normal weights
    assert abs(model.weights[0].mean()) < 5 * math.sqrt(variance / 60_000)
    assert not any(b.any() for b in model.biases)
    if scheme == "glorot":
        assert np.abs(model.weights[0]).max() <= math.sqrt(6 / 500)


# ---- bad input


def attempt(**changed):
    features, labels = records(60, 3, 2)
    given = {"features": features, "labels": labels, "network": start(), "rng": np.random.default_rng(0), "epochs": 1}
    return train(**(given | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"features": np.full((60, 3), 1.5)}, r"features must be in \[0, 1\], got 1.5"),
        ({"features": np.full((60, 3), -0.1)}, r"features must be in \[0, 1\], got -0.1"),
        ({"features": np.full((60, 3), np.nan)}, r"features must be in \[0, 1\], got nan"),
        ({"features": np.zeros((60, 4))}, r"features must have shape \(1 or more, 3\), got \(60, 4\)"),
        ({"features": np.zeros((0, 3)), "labels": []}, r"features must have shape \(1 or more, 3\), got \(0, 3\)"),
        ({"labels": np.full(60, 2)}, r"labels must be in \[0, 1\], got 2"),
        ({"labels": np.full(60, -1)}, r"labels must be in \[0, 1\], got -1"),
        ({"labels": np.full(60, 0.5)}, r"labels must be an integer in \[0, 1\], got 0.5"),
        ({"labels": np.full(60, np.nan)}, r"labels must be in \[0, 1\], got nan"),
        ({"labels": np.zeros(59)}, "labels must have shape .60,., one for each record"),
        ({"epochs": 0}, r"epochs must be in \[1, inf\), got 0"),
        ({"epochs": 1.5}, r"epochs must be an integer in \[1, inf\), got 1.5"),
        ({"batch": 0}, r"batch must be in \[1, 60\], got 0"),
        ({"batch": 61}, r"batch must be in \[1, 60\], got 61"),
        ({"learning_rate": 0}, r"learning_rate must be in \(0, inf\), got 0"),
        ({"learning_rate": math.nan}, r"learning_rate must be in \(0, inf\), got nan"),
        ({"l2": -1}, r"l2 must be in \[0, inf\), got -1"),
        ({"weight_range": (1, -1)}, r"weight_range must be a pair \(low, high\) with low < high, got \(1, -1\)"),
        ({"bias_range": (0, 0)}, r"bias_range must be a pair \(low, high\) with low < high, got \(0, 0\)"),
        ({"weight_range": (math.nan, 1)}, r"weight_range must be in \[-inf, inf\], got nan"),
        ({"rng": 7}, "rng must be a numpy.random.Generator"),
    ],
)
def test_bad_training_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        attempt(**changed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Network((3, 2), np.zeros(7)), r"parameters must have shape \(8,\) for widths \(3, 2\), got \(7,\)"),
        (lambda: Network((3, 2), np.full(8, np.nan)), r"parameters must be in \(-inf, inf\), got nan"),
        (
            lambda: Network((3, 2), np.zeros(8, int)),
            r"dtype of parameters must be one of 'float32', 'float64', got 'int64'",
        ),
        (lambda: Network((3, 1), np.zeros(4)), r"at least 2\), got \(3, 1\)"),
        (lambda: Network((3,), np.zeros(4)), r"at least 2\), got \(3,\)"),
        (lambda: start((3, 0, 2)), r"widths must be in \[1, inf\), got 0"),
        (lambda: start(scheme="zeros"), r"scheme must be one of 'he', 'glorot', got 'zeros'"),
        (lambda: start(dtype="int"), r"dtype must be one of 'float32', 'float64', got 'int'"),
        (
            lambda: Network.of([np.zeros((2, 3)), np.zeros((4, 2))], [np.zeros(3), np.zeros(2)]),
            "must have matching shapes",
        ),
        (lambda: Network.of([np.zeros((2, 3))], [np.zeros(2)]), "must have matching shapes"),
        (lambda: start().predict(np.zeros(3)), r"features must have shape \(1 or more, 3\), got \(3,\)"),
    ],
)
def test_bad_networks_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ---- compiled code on disk


@pytest.mark.slow
def test_a_second_process_takes_compiled_code_from_the_disk():
    """How it follows changes, tests/book/test_content_key.py says."""
    script = ("import numpy as np; from lib.networks import network; rng = np.random.default_rng(1); "
              "network.train(np.zeros((2, 3)), [0, 1], network.Network.initial((3, 2), rng=rng), batch=1, epochs=1, rng=rng); "
              "print(*(sum(count.values()) for count in (network._epoch.stats.cache_hits, network._epoch.stats.cache_misses)))")  # fmt: skip
    attempt(network=Network.initial((3, 2), rng=np.random.default_rng(1)))
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "0"]
