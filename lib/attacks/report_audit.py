"""An audit of local protocols over all values: it learns from raw reports which features distinguish values.

`audit.audit_oracle` scores reports by the probabilities that the protocol states, so it misses leaks that these
probabilities do not show, such as leaks through a seed. Here the score is learned from the reports.

The features of a report are boolean:
- for integers: every bit of each integer, whether the number of ones is odd (in each integer and in total), and which
  quantiles the total number of ones reaches
- for real numbers: which quantiles each number exceeds, which number is the largest, the last 16 bits of each, and
  whether each is a multiple of 2^-53 (every floating-point sum of 1 and another number is such a multiple)
- for both kinds: which values the report supports, and which pairs of supports and ends differ, where the ends are the
  lowest two bits and the highest bit of each integer, and the sign of each real number

The score for one value against another is that of Bernoulli naive Bayes over the features whose frequency under a value
differs from their overall frequency by more than `_TELLING` standard errors.

The audit divides the reports into three groups. A quarter is used to train the score. Another quarter is used to choose
two values and the event "the score exceeds c". The other half is used to test only this event. So there is only one
test, at the full confidence, however many values and events were examined. (Jagielski et al. 2020 choose and test
events in this way.)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics import checks
from .audit import Audit, _bound
from .exact_law import SEEDS, ExactLoss, NotEnumerable, exact_loss

_TELLING = 3.5
_MOST_COUPLED = 40  # features that are compared in pairs
_CUTS = 41  # thresholds that are tried for each pair of values
_CHUNK = 2**13  # reports that are scored at a time
_FEW, _MANY = 3, 16  # numbers of values of the oracles that `examine` enumerates and runs


@dataclass(frozen=True)
class ReportAudit(Audit):
    """An `Audit` of two `values`: the score exceeds the threshold more often for reports of the first value."""

    values: tuple[int, int]


@dataclass(frozen=True)
class Examination:
    """The findings of `examine`.

    law : the loss of one report, for an oracle with few values; None if the oracle's draws cannot be enumerated
    together : the loss of two users' reports if one user's value is known, for an oracle with two values; None if `law`
        is None or refutes epsilon
    runs : the audit by raw reports, for an oracle with many values; draws : the values that `uneven_draws` returns
    """

    law: ExactLoss | None
    together: ExactLoss | None
    runs: ReportAudit
    draws: tuple

    def caught_by(self, epsilon: float) -> tuple[str, ...]:
        """Return the names of the findings that speak against the claim of an `epsilon` in [0, inf).

        "law", "together" and "runs" refute the claim. "draws", if it is not empty, is a reason to doubt the claim.
        """
        found = {name: getattr(self, name) for name in ("law", "together", "runs")}
        caught = [name for name, one in found.items() if one is not None and one.refutes(epsilon)]
        return (*caught, "draws") if self.draws else tuple(caught)


def examine(make: Callable[[int, float], Any], epsilon: float, *, trials: int, rng: np.random.Generator,
            confidence: float = 0.95, grid: float | None = None) -> Examination:  # fmt: skip
    """Examine a frequency oracle, `make(k, epsilon)`, by all methods of this module and `exact_law`.

    epsilon : (0, inf); trials, confidence, grid : as for `audit_reports`

    >>> import numpy as np
    >>> from lib.attacks import examine
    >>> from lib.local import GRR
    >>> found = examine(GRR, 1.0, trials=500, rng=np.random.default_rng(0))
    >>> print(found.caught_by(1.0))
    ()
    """
    law = together = None
    with suppress(NotEnumerable):
        law = exact_loss(make(_FEW, epsilon))
        if not law.refutes(epsilon):
            together = exact_loss(make(2, epsilon), beside=[0], seeds=SEEDS[:2])
    oracle = make(_MANY, epsilon)
    runs = audit_reports(oracle, trials=trials, rng=rng, confidence=confidence, grid=grid)
    return Examination(law, together, runs, uneven_draws(oracle, trials=8, rng=rng))


def audit_reports(
    oracle: Any, *, trials: int, rng: np.random.Generator, confidence: float = 0.95, grid: float | None = None
) -> ReportAudit:
    """Audit a frequency oracle by raw reports of users with each value, and return the result for the worst pair.

    oracle : a frequency oracle: anything with `k`, `perturb` and `supports`
    trials : integer >= 8, number of users of each value; confidence : (0, 1)
    grid : [1e-100, 1e100]. Real reports are first rounded to multiples of `grid`; with None, they are not rounded

    Users must report independently; for shared noise, use `exact_law.exact_loss` with a user `beside`. The audit stores
    about `trials` k^2 numbers.

    >>> import numpy as np
    >>> from lib.attacks import audit_reports
    >>> from lib.local import GRR
    >>> found = audit_reports(GRR(k=3, epsilon=1.0), trials=3000, rng=np.random.default_rng(0))
    >>> print(0 < found.epsilon_lower < 1)
    True
    """
    trials = checks.whole("trials", trials, "[8, inf)")
    confidence = checks.number("confidence", confidence, "(0, 1)")
    if grid is not None:
        grid = checks.number("grid", grid, "[1e-100, 1e100]")
    quarter, values = trials // 4, np.tile(np.arange(oracle.k), trials)
    reports = np.asarray(oracle.perturb(values, rng=rng))
    if grid is not None and reports.dtype.kind == "f":
        reports = np.round(reports / grid) * grid
    telling = features(reports, oracle.supports(reports), learn_from=quarter * oracle.k)
    score = _scores(telling, oracle.k, quarter).reshape(trials, oracle.k, oracle.k)
    first, second, threshold = _most_telling(score[quarter : 2 * quarter], confidence)
    judging = trials - 2 * quarter
    judged = score[2 * quarter :]
    hits, false_hits = (
        int((judged[:, value, first] - judged[:, value, second] > threshold).sum()) for value in (first, second)
    )
    bound = float(_bound(hits, false_hits, judging, 0.0, confidence))
    return ReportAudit(
        max(0.0, bound), threshold, "first", hits, false_hits, judging, confidence, values=(first, second)
    )


def uneven_draws(oracle: Any, *, trials: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return the values whose reports leave the generator in a different state from the reports of value 0.

    oracle : a frequency oracle: anything with `k` and `perturb`
    trials : integer >= 1, number of seeds; for each seed, one user reports every value, each with a new generator

    Users who share the generator, or anyone with a clock, could distinguish these values from 0. An honest sampler may
    also draw more random numbers for some outcomes, so the returned values are a reason to investigate, not a proof.
    `exact_law.report_law` with `with_draws` gives the joint law of the report and the number of draws.
    """
    trials = checks.whole("trials", trials, "[1, inf)")
    uneven = set()
    for seed in rng.integers(2**63, size=trials):
        states = []
        for value in range(oracle.k):
            own = np.random.default_rng(seed)
            oracle.perturb(np.array([value]), rng=own)
            states.append(own.bit_generator.state)
        uneven |= {value for value, state in enumerate(states) if state != states[0]}
    return tuple(sorted(uneven))


def features(reports: ArrayLike, supports: ArrayLike, *, learn_from: int) -> NDArray[np.bool_]:
    """Return the boolean features of n reports that the module's docstring lists, without constant ones, (features, n).

    reports : booleans, integers or real numbers, shape (n,) or (n, ...); supports : numbers, shape (n, k)
    learn_from : the number of reports, counted from the first, that determine the quantiles; integer in [1, n]
    """
    reports, supports = np.asarray(reports), checks.real("supports", supports, "(-inf, inf)")
    shapes = (reports.shape[:1], supports.shape[:1])
    if reports.dtype.kind not in "biuf" or shapes[0] != shapes[1] or supports.ndim != 2:
        got = f"{reports.dtype} of shape {reports.shape} and {supports.shape}"
        raise ValueError(f"reports must be numbers, and supports must be a table with a row for each report, got {got}")
    if reports.dtype.kind == "f":
        checks.real("reports", reports, "(-inf, inf)")
    learn_from = checks.whole("learn_from", learn_from, f"[1, {len(reports)}]")
    columns = np.ascontiguousarray(reports.reshape(len(reports), -1).T)
    own, ends = _of_real(columns, learn_from) if columns.dtype.kind == "f" else _of_whole(columns)
    partial = ((supports != 0) & (supports != 1)).any()  # otherwise all unsupported values are equivalent
    support = _varying(np.concatenate([supports.T == 1, supports.T == 0]) if partial else supports.T == 1)
    coupled = np.concatenate([ends, support])[:_MOST_COUPLED]
    first, second = np.triu_indices(len(coupled), 1)
    return _varying(np.concatenate([own, support, coupled[first] ^ coupled[second]]))


def _of_whole(columns) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays: bits, parities and counts of ones; the lowest two bits and the highest bit of each number."""
    bits = columns[:, None] if columns.dtype == bool else _bits(columns)
    ones = bits.sum(axis=1, dtype=np.int64)
    total = ones.sum(axis=0)
    many = total >= np.unique(np.quantile(total, np.linspace(0.05, 0.95, 10), method="lower"))[:, None]
    odd = np.concatenate([ones, total[None]]) % 2 == 1
    ends = bits[:, sorted({0, min(1, bits.shape[1] - 1), bits.shape[1] - 1})]
    return np.concatenate([_flat(bits), odd, many]), _varying(_flat(ends))


def _of_real(columns, learn_from) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays. The first holds, for each report, the number of quantiles exceeded, the largest number, the
    number of multiples of 2^-53 and the last bits; the second holds the signs."""
    cuts = np.quantile(columns[:, :learn_from], np.linspace(0.05, 0.95, 10), axis=1).T
    above = columns[:, None] > cuts[:, :, None]
    largest = columns.argmax(axis=0) == np.arange(len(columns))[:, None]
    small = np.abs(columns) < 1
    whole = ~small | (np.ldexp(np.where(small, columns, 0), 53) % 1 == 0)
    last = _bits(columns.astype(np.float64))[:, :16]
    return np.concatenate([_flat(above), largest, whole, _flat(last)]), columns > 0


def _bits(columns) -> np.ndarray:
    """Return the bits of numbers of shape (m, n), the lowest first: shape (m, bits, n)."""
    raw = columns.astype(columns.dtype.newbyteorder("<"))[..., None].view(np.uint8)
    return np.unpackbits(np.ascontiguousarray(raw.swapaxes(1, 2)), axis=1, bitorder="little").view(bool)


def _flat(features) -> np.ndarray:
    return features.reshape(-1, features.shape[-1])


def _varying(features) -> np.ndarray:
    return features[(features != features[:, :1]).any(axis=1)]


def _scores(telling, k, learning) -> np.ndarray:
    """Return the log-likelihood of each value given each report, shape (n, k); the reports come from users with the
    values 0 to k-1 in turn. Terms that all values share are left out. Weights are multiples of 1/256, so that their
    sums are exact. Otherwise the last digit of a score would depend on the report's place in the matrix product, and so
    reveal the user's value."""
    counts = telling[:, : k * learning].reshape(len(telling), learning, k).sum(axis=1, dtype=float).T
    under, overall = (counts + 0.5) / (learning + 1), (counts.sum(axis=0) + 0.5) / (k * learning + 1)
    error = np.sqrt(overall * (1 - overall) / learning)
    under = np.where(np.abs(under - overall) > _TELLING * error, under, overall)
    yes, no = np.log(under / overall), np.log((1 - under) / (1 - overall))
    weights = np.round(256 * (yes - no)) / 256
    base = np.round(256 * no.sum(axis=1)) / 256
    chunks = (telling[:, start : start + _CHUNK].astype(float) for start in range(0, telling.shape[1], _CHUNK))
    return np.concatenate([(weights @ chunk).T for chunk in chunks]) + base


def _most_telling(score, confidence) -> tuple[int, int, float]:
    """Return the two values and the threshold that give the largest bound for `score`, of shape (trials, k, k)."""
    trials, k, _ = score.shape
    pairs = [(first, second) for first, second in np.ndindex(k, k) if first != second]
    cuts, hits, false_hits = (np.empty((len(pairs), _CUTS)) for _ in range(3))
    for row, (first, second) in enumerate(pairs):
        likely, rare = (np.sort(score[:, value, first] - score[:, value, second]) for value in (first, second))
        cuts[row] = np.quantile(np.concatenate([likely, rare]), np.linspace(0, 1, _CUTS), method="lower")
        hits[row] = trials - np.searchsorted(likely, cuts[row], side="right")
        false_hits[row] = trials - np.searchsorted(rare, cuts[row], side="right")
    best = int(np.argmax(_bound(hits, false_hits, trials, 0.0, confidence)))
    return (*pairs[best // _CUTS], float(cuts.flat[best]))
