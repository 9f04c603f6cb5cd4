"""A rival for Figure 1 at the same epsilon (beyond hasegawa2015): a model fitted to marginals from a frequency oracle.

Every user has one record of Adult's ten explanatory attributes and the income, with numbers binned at public edges. The
users are divided at random, and each spends all of epsilon on one report, by subset selection, about two attributes of
the record together. So a user's report is epsilon-locally private for the whole record, including the income: if the
record is replaced by any other, no report becomes more than e^epsilon times as likely. By the theorem of
`lib.microdata.perturbation`, the shuffled reports are as Pk-anonymous as perturbed records of the same epsilon, as long
as nobody knows which user was asked which question.

The collector fits a graphical model (Private-PGM) to the estimates and draws one synthetic record for each user. The
synthetic records then train the model that Figure 1 trains on perturbed records.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import minimum_spanning_tree

from lib.local import SubsetSelection
from lib.local.consistency import norm_sub
from lib.microdata.perturbation import pk_epsilon
from lib.tables import graphical_model
from lib.tables.graphical_model import Measurement
from lib.tables.table import Domain, Table
from notebooks.studies import adult_design
from notebooks.studies.adult_design import EXPLANATORY, TARGET
from notebooks.studies.anonymization_readings import predict


def measured(table, sets, epsilon, *, rng) -> list[Measurement]:
    """Return estimated counts of all records over each of `sets` of attributes, from one report of each record.

    table : `Table`, a record for each user; sets : sets of attributes, at most as many as users
    epsilon : the epsilon of a report, in (0, inf)
    """
    found = []
    for users, names in zip(np.array_split(rng.permutation(len(table)), len(sets)), sets):
        shape = table.domain.shape(names)
        values = np.ravel_multi_index([table.column(name)[users] for name in names], shape)
        oracle, n = SubsetSelection(table.domain.size(names), epsilon), len(users)
        shares = oracle.estimate(oracle.collect(values, rng=rng), n)
        deviation = oracle.variance(1 / oracle.k, n) ** 0.5  # of a cell, in the mean over cells
        found.append(Measurement(tuple(names), len(table) * shares.reshape(shape), len(table) * float(deviation)))
    return found


def fitted(table, epsilon, *, pairs=False, rng) -> graphical_model.GraphicalModel:
    """Return the model of `table`, which has Adult's attributes, from one report of each user.

    pairs : whether half of the users report two explanatory attributes. The model then includes the spanning tree of
        pairs with the largest estimated mutual information. All other users report one explanatory attribute and the
        income.
    """
    with_income = [(name, TARGET) for name in EXPLANATORY]
    if not pairs:
        return graphical_model.fit(table.domain, measured(table, with_income, epsilon, rng=rng), len(table))
    halves = np.array_split(rng.permutation(len(table)), 2)
    found = [
        Measurement(each.attributes, len(table) / len(half) * each.values, len(table) / len(half) * each.sigma)
        for half, sets in zip(halves, (with_income, list(combinations(EXPLANATORY, 2))))
        for each in measured(Table(table.records[half], table.domain), sets, epsilon, rng=rng)
    ]
    stars, among = found[: len(with_income)], found[len(with_income) :]
    return graphical_model.fit(table.domain, stars + spanning(among), len(table))


def spanning(measurements) -> list[Measurement]:
    """Return the `measurements` of pairs of `EXPLANATORY` that form the spanning tree with the most mutual information."""
    at = {name: place for place, name in enumerate(EXPLANATORY)}
    weights = np.zeros((len(at), len(at)))
    for each in measurements:
        weights[tuple(at[name] for name in each.attributes)] = -1e-12 - mutual_information(each.values)
    kept = set(zip(*minimum_spanning_tree(weights).nonzero()))
    return [each for each in measurements if tuple(at[name] for name in each.attributes) in kept]


def mutual_information(values) -> float:
    """Return the mutual information in nats of the distribution (a, b) nearest to `values` divided by their sum."""
    joint = norm_sub(values.ravel() / values.sum()).reshape(values.shape)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return float((joint[some] * np.log(joint[some] / apart[some])).sum())


def prediction(at, k, *, pairs=False, rng) -> dict:
    """Return the scores, on the test records of the `Split` `at`, of a regression on synthetic records with `k`'s epsilon."""
    sizes = adult_design.cell_sizes()
    train = Table(adult_design.cells(at.train_numbers).to_numpy(), Domain(sizes))
    drawn = fitted(train, pk_epsilon(k, len(train)), pairs=pairs, rng=rng).synthesize(len(train), rng=rng)
    records = pd.DataFrame(drawn.records, columns=list(sizes))
    return {"auc": predict(records, adult_design.cells(at.test_numbers), sizes)}


# Figure 1's methods of local differential privacy besides the paper's, by name; all protect the income.
LOCAL = {"local marginals": prediction, "local marginals, pairs too": partial(prediction, pairs=True)}
