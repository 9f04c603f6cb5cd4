"""How well a classifier trained only on synthetic records predicts real ones (miura2025, section 3.2)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from lib.mechanisms.noise import generator
from lib.numerics import checks
from lib.tables.table import Table
from lib.tables.utility import common_domain

BOOSTED = {  # xgboost's own settings, each at its place
    "xgboost": {"n_estimators": 100, "max_depth": 6, "learning_rate": 0.3},  # of the classifier
    "ten trees": {"n_estimators": 10, "max_depth": 6, "learning_rate": 0.3},  # of `xgboost.train`
    "flat trees": {"n_estimators": 100, "max_depth": 3, "learning_rate": 0.1},  # of the classifier before version 1.0
}
CLASSIFIERS = ("decision tree", "svm", "radial svm", *BOOSTED)


def train_synthetic_test_real(synthetic, real_test, target, model="decision tree", *, rng, depth=None) -> float:
    """Return the accuracy, in [0, 1], on real records of a classifier of `target` that is fitted to synthetic records.

    synthetic, real_test : `Table`s over one domain
    target : the attribute to predict from all other attributes, of which there must be at least one
    model : one of `CLASSIFIERS`, described below
    rng : numpy Generator. It breaks ties between equally good splits and orders the SVM's steps. The same `rng` gives the
        same result
    depth : largest depth of the trees, integer in [1, 1e9]; the SVMs have none

    The paper names three classifiers but no settings. The classifiers here are:

    - "decision tree": scikit-learn's, grown until its leaves are pure unless `depth` is given.
    - "svm": scikit-learn's linear SVM with C = 1.
    - "radial svm": scikit-learn's SVM with a radial kernel and default settings. It takes seconds on 30,000 records.
    - one of `BOOSTED`: xgboost's trees, with settings that are or were the library's defaults.

    Attributes enter as 0/1 columns, one for each value in the domain (one-hot). If the synthetic records have only one
    target value, that is the prediction.
    """
    checks.one_of("model", model, CLASSIFIERS)
    for name, table in (("synthetic", synthetic), ("real_test", real_test)):
        if not isinstance(table, Table):
            raise ValueError(f"{name} must be a Table, got {type(table).__name__}")
    if depth is not None:
        checks.one_of("model for which depth is given", model, ("decision tree", *BOOSTED))
        depth = checks.whole("depth", depth, "[1, 1e9]")
    domain = common_domain(real_test, synthetic)
    domain.axes([target])
    checks.integer("number of attributes", len(domain), "[2, inf)")
    values, labels = np.unique(synthetic.column(target), return_inverse=True)
    seed = int(generator(rng).integers(2**31))
    if len(values) == 1:
        predicted = np.zeros(len(real_test), dtype=int)
    else:
        classifier = _classifier(model, depth, seed).fit(_one_hot(synthetic, target), labels)
        predicted = classifier.predict(_one_hot(real_test, target))
    return float(np.mean(values[predicted] == real_test.column(target)))


def _classifier(model, depth, seed):
    if model == "decision tree":
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        return tree if depth else _OfDistinct(tree)  # a shallow one takes less time than to find the distinct records
    if model == "svm":
        return LinearSVC(C=1.0, dual=False, random_state=seed)
    if model == "radial svm":
        return _OfDistinct(SVC(C=1.0, kernel="rbf", gamma="scale", cache_size=1000))
    settings = BOOSTED[model] | ({"max_depth": depth} if depth else {})
    return XGBClassifier(**settings, random_state=seed, n_jobs=1)


class _OfDistinct:
    """A `machine` that learns from distinct records, weighted by frequency. It finds the same optimum in less time."""

    def __init__(self, machine):
        self.machine = machine

    def fit(self, columns, labels):
        records, _, counts, labels = self._distinct(columns, labels)
        self.machine.fit(records, labels, sample_weight=counts)
        return self

    def predict(self, columns):
        records, places, *_ = self._distinct(columns, np.zeros(columns.shape[0], dtype=int))
        return self.machine.predict(records)[places]

    def _distinct(self, columns, labels):
        """Return the distinct records in the order of their rows, each record's index among them, their counts, and labels."""
        rows = np.column_stack([-columns.indices.reshape(len(labels), -1), labels])
        _, first, places, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return columns[first].toarray(), places.ravel(), counts, labels[first]


def _one_hot(table, target):
    """Return 0/1 columns of all attributes but `target`, a sparse matrix (n, sum of their sizes)."""
    names = [name for name in table.domain.attributes if name != target]
    sizes = table.domain.shape(names)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = np.stack([table.column(name).astype(np.int32) + start for name, start in zip(names, starts)], axis=1)
    rows = np.arange(len(table) + 1, dtype=np.int32) * len(names)
    ones = np.ones(columns.size, dtype=np.float32)
    return csr_matrix((ones, columns.ravel(), rows), shape=(len(table), sum(sizes)))
