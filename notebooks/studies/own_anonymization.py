"""The experiment of hasegawa2015, section 5, on the user's table: how well a regression predicts after each anonymization.

The interpretation is the main one of `anonymization_readings`: the target is published, all other attributes are
quasi-identifiers, and the level is divided equally. Here an attribute with a range is perturbed as a number, and every
other attribute as a category. Numbers are generalized to bins, which are merged two by two. A category is left
unchanged or becomes `*`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib.microdata import hierarchies, k_anonymity
from lib.microdata.perturbation import pk_parameters
from lib.numerics import checks
from lib.release import schema as schemas
from lib.release import sources
from notebooks.studies import anonymization_readings as readings
from notebooks.studies import own_table
from notebooks.studies.anonymization_comparison import COLUMNS, NONE

GENERALIZED = {"generalized": 0.0, "generalized 20 % out": 0.2}  # the share of records that may be left out
WEIGHED = ("perturbed", "linear", "kernel 10 standard", "kernel 1000 standard")


@dataclass(frozen=True)
class Experiment:
    """Complete records of the user's table.

    kinds : mapping from each attribute but the target to its number of categories or its range
    numbers : codes or values, (n, attributes and `readings.TARGET`), the target 0 or 1
    bins : codes of values or bins, as texts, (n, attributes); ladder : their hierarchies
    """

    kinds: dict
    numbers: pd.DataFrame
    bins: pd.DataFrame
    ladder: dict[str, hierarchies.Hierarchy]


def experiment(data: str, schema: str, target: str) -> Experiment | None:
    """Return the user's table from `data` and `schema` (see `own_table`), to predict `target`; None for Adult."""
    public = own_table.given(data, schema)
    if public is None:
        return None
    known = {each.name: each for each in public.attributes}
    checks.one_of("target", target, tuple(known))
    declared = [label for label in known[target].labels if label not in (schemas.MISSING, schemas.OTHER)]
    if len(declared) != 2:
        raise ValueError(
            f"target must name an attribute with two values for this chapter, got {target!r}, which has {len(declared)}"
        )
    place, others = own_table.place(data), [each for each in public.attributes if each.name != target]
    if not others:
        raise ValueError(f"schema must have at least one attribute besides {target!r} for this chapter, got none")
    table = sources.read(place, public)
    codes = pd.DataFrame({name: table.column(name) for name in known})
    numbers = codes.astype(float).assign(**sources.numbers(place, public))
    answers = [known[target].labels.index(label) for label in declared]
    whole = numbers.notna().all(axis=1) & codes[target].isin(answers)
    answer = (codes[target] == answers[1]).astype(float)
    # The target has the name that `readings` knows, so that no other attribute may have it.
    names = {each.name: f"{each.name}{chr(39) * (each.name == readings.TARGET)}" for each in others}
    return Experiment(
        {names[each.name]: own_table.ranges(public).get(each.name, len(each.labels)) for each in others},
        numbers.loc[whole, list(names)]
        .rename(columns=names)
        .assign(**{readings.TARGET: answer[whole]})
        .reset_index(drop=True),
        codes.loc[whole, list(names)].rename(columns=names).astype(str).reset_index(drop=True),
        {names[each.name]: _ladder(each) for each in others},
    )


def _ladder(attribute) -> hierarchies.Hierarchy:
    """Return the hierarchy of an attribute's codes; it merges bins two by two, and categories all at once."""
    codes = np.arange(len(attribute.labels))
    height = 1 if attribute.kind == "values" else max(int(np.ceil(np.log2(len(codes)))), 1)
    return hierarchies.categories(
        attribute.name,
        [[str(code), *(f"{level}: {code >> level}" for level in range(1, height)), hierarchies.TOP] for code in codes],
    )


def grid(own: Experiment, *, ks, trials: int, records: int, seed: int) -> pd.DataFrame:
    """Return a row of `COLUMNS` for each method, k and split; `records` are for training, the others for testing."""
    records = checks.whole("records", records, f"[2, {len(own.numbers) - 1}]")
    return pd.DataFrame(
        [
            {"setup": setup, "method": method, "k": k, "split": trial} | found
            for trial in range(trials)
            for setup, method, k, found in _split(own, ks, records, [seed, trial])
        ]
    ).reindex(columns=list(COLUMNS))


def _split(own, ks, records, seeds):
    """Yield setup, method, k and scores of each cell of one split."""
    order = np.random.default_rng(seeds).permutation(len(own.numbers))
    train, test = (own.numbers.iloc[part].reset_index(drop=True) for part in (order[:records], order[records:]))
    bins = [own.bins.iloc[part].reset_index(drop=True) for part in (order[:records], order[records:])]
    kinds = own.kinds | {readings.TARGET: 2}
    yield NONE, "original", 1, {"auc": readings.predict(train, test, kinds)}
    for k in ks:
        for method, most in GENERALIZED.items():
            yield NONE, method, k, _generalized(own.ladder, bins, train, test, k, most)
        change = pk_parameters(k, records, own.kinds)
        changed = train.copy()
        changed[list(own.kinds)] = change.perturb(train[list(own.kinds)], rng=np.random.default_rng([*seeds, int(k)]))
        perturbed = readings.Perturbed(change, kinds, train, changed)
        for method in WEIGHED:
            weights, _ = readings.WEIGHINGS[method](perturbed, rng=None)
            effective = records if weights is None else readings.effective_sample_size(weights)
            yield (
                "published",
                method,
                k,
                {"auc": readings.predict(changed, test, kinds, weights), "effective": effective},
            )


def _generalized(ladder, bins, train, test, k, most) -> dict:
    found = k_anonymity.generalize(bins[0], ladder, k, max_suppression=most)
    kinds = {name: len(ladder[name].labels[level]) for name, level in found.levels.items()} | {readings.TARGET: 2}
    parts = [
        pd.DataFrame({name: ladder[name].codes(part[name], level) for name, level in found.levels.items()}).assign(
            **{readings.TARGET: numbers[readings.TARGET]}
        )
        for part, numbers in zip(bins, (train, test))
    ]
    auc = readings.predict(parts[0][~found.suppressed], parts[1], kinds)
    return {"auc": auc, "removed": found.suppressed_share}
