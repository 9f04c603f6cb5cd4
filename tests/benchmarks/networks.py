"""Time epochs over Adult's 45,222 complete records: 14 attributes in [0, 1], batches of 50, four hidden layers.

The cases `network_w10` and `network_w50` run `network.train` in turn with scikit-learn's MLPClassifier (plain
stochastic gradient descent, same widths, rate and L2 term), `EPOCHS` epochs at a time, `BLOCKS` times in one process.
`cpu_s` and `wall_s` are medians over the blocks, `ratio` is scikit-learn's CPU seconds divided by ours, and `accuracy`
is the final accuracy on the training records.

The case `anonymized_w50` does the same for AnonymizedLearning, in turn with plain training. For each way of clipping,
`ratio` is the CPU seconds of its epochs divided by those of the plain epochs. Compiled code is loaded before anything
is measured.
"""

import numpy as np

from tests.benchmarks import measure

EPOCHS, BLOCKS = 5, 4
RATE, L2 = 0.1, 0.001
CASES = ("network_w10", "network_w50", "anonymized_w50")


def lines(case, folder):
    kind, width = case.split("_w")
    if kind == "network":
        yield measure.child(__name__, "epochs", width)
    else:
        for clipping in ("sum", "records", "equations"):
            yield measure.child(__name__, "anonymized", width, clipping)


# ---- in the measured processes


def epochs(meter, width) -> dict:
    from sklearn.neural_network import MLPClassifier

    from lib.networks.network import Network, train

    data, features, labels = _adult()
    hidden, rng = (int(width),) * 4, np.random.default_rng(1)
    ours = Network.initial((features.shape[1], *hidden, 2), rng=rng)
    options = {"learning_rate_init": RATE, "alpha": L2, "batch_size": 50, "random_state": 1}
    theirs = MLPClassifier(hidden, solver="sgd", momentum=0, nesterovs_momentum=False, **options)
    theirs.partial_fit(features[:50], labels[:50], classes=[0, 1])
    train(features[:50], labels[:50], ours, epochs=1, rng=rng)
    other = measure.Meter()
    for _ in range(BLOCKS):
        with meter:
            ours = train(features, labels, ours, learning_rate=RATE, l2=L2, epochs=EPOCHS, rng=rng)
        with other:
            for _ in range(EPOCHS):
                theirs.partial_fit(features, labels)
    accuracy = {"accuracy": _share(ours, features, labels), "sklearn_accuracy": _share(theirs, features, labels)}
    return {"epochs": EPOCHS, "data": data} | _compared("sklearn", other, other, meter) | accuracy


def anonymized(meter, width, clipping) -> dict:
    from lib.networks.network import Network, train
    from lib.networks.private_networks import anonymized_learning

    data, features, labels = _adult()
    rng = np.random.default_rng(1)
    network = Network.initial((features.shape[1], *(int(width),) * 4, 2), rng=rng)
    options = {"weight_thresholds": (-1, 1), "bias_thresholds": (-1, 1), "clipping": clipping}
    rate = RATE
    if clipping == "equations":  # whose intervals feed back on the weights: at a higher rate it diverges
        options, rate = {}, 1e-6
    plain = measure.Meter()
    train(features[:50], labels[:50], network, epochs=1, rng=rng)
    anonymized_learning(
        features[:50], labels[:50], network, epsilon=1.0, epochs=1, learning_rate=rate, rng=rng, **options
    )
    for _ in range(BLOCKS):
        with plain:
            train(features, labels, network, epochs=EPOCHS, rng=rng)
        with meter:
            anonymized_learning(
                features, labels, network, epsilon=1.0, epochs=EPOCHS, learning_rate=rate, rng=rng, **options
            )
    return {"clipping": clipping, "epochs": EPOCHS, "data": data} | _compared("plain", plain, meter, plain)


def _compared(name, other, over, under) -> dict:
    """Return the CPU seconds of the `other` meter, and the ratio of two meters' medians."""
    return {
        f"{name}_cpu_s": other.reading()["cpu_s"],
        "ratio": round(over.reading()["cpu_s"] / under.reading()["cpu_s"], 2),
    }


def _share(model, features, labels) -> float:
    return round(float(np.mean(model.predict(features) == labels)), 4)


def _adult():
    """Return the kind of data, the records as codes divided by the largest code, float32, and whether the income is above 50K."""
    from lib.data import datasets, encodings

    data = "real" if datasets.available("adult") else "stand-in"
    table = encodings.adult_table("all", numeric=True, source=data, download=False)
    names = [name for name in table.domain.attributes if name != "income"]
    features = np.stack([table.column(name) for name in names], axis=1) / (np.array(table.domain.shape(names)) - 1)
    return data, features.astype(np.float32), table.column("income").astype(int)
