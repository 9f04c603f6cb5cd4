"""Black-box privacy audits: a lower bound on epsilon from samples of a mechanism's output.

A mechanism that is (epsilon, delta)-DP has P[E] <= e^epsilon Q[E] + delta for every event E, where P and Q are the laws
of its output for any two neighbours.
An event that is frequent under P and rare under Q bounds epsilon from below (Ding et al. 2018; Jagielski et al. 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ..local import FrequencyOracle
from ..numerics import checks
from ..numerics.checks import Numbers


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, confidence: ArrayLike = 0.95) -> tuple[Numbers, Numbers]:
    """Return the exact confidence interval (low, high) of a probability.

    Each end errs with probability at most (1 - confidence)/2.

    successes : integer in [0, trials]; trials : integer in [1, 1e15]; confidence : (0, 1); they broadcast
    Source: Clopper and Pearson (1934).

    >>> from lib.attacks import clopper_pearson
    >>> low, high = clopper_pearson(8, 10)
    >>> print(round(float(low), 3), round(float(high), 3))
    0.444 0.975
    """
    trials = checks.integer("trials", trials, "[1, 1e15]")
    successes = checks.integer("successes", successes, f"[0, {np.max(trials)}]")
    tail = (1 - checks.real("confidence", confidence, "(0, 1)")) / 2
    low = np.where(successes > 0, scipy.stats.beta.ppf(tail, np.maximum(successes, 1), trials - successes + 1), 0.0)
    high = np.where(
        successes < trials, scipy.stats.beta.isf(tail, successes + 1, np.maximum(trials - successes, 1)), 1.0
    )
    return low[()], high[()]


@dataclass(frozen=True)
class Audit:
    """The result of an audit: `epsilon_lower` is a lower bound with probability at least `confidence`."""

    epsilon_lower: float
    threshold: float
    direction: str  # "first" or "second": under which input the event is more likely
    hits: int
    false_hits: int
    trials: int
    confidence: float

    def refutes(self, epsilon: float) -> bool:
        """Return whether the audit refutes the claim of (`epsilon`, delta)-DP, for an epsilon in [0, inf).

        A true claim is refuted with probability at most 1 - confidence.
        """
        return bool(self.epsilon_lower > checks.real("epsilon", epsilon, "[0, inf)"))


def audit_mechanism(
    mechanism: Any, *, trials: int, rng: np.random.Generator, delta: float = 0.0, confidence: float = 0.95
) -> Audit:
    """Audit a mechanism of `mechanisms`, or another object with `worst_case`, `events` and `release`, by running it.

    trials : integer >= 4, number of runs on each input of the worst case; delta : [0, 1); confidence : (0, 1)
    The audit does not use the guarantee that the mechanism states. See `epsilon_lower_bound`.

    >>> import numpy as np
    >>> from lib.attacks import audit_mechanism
    >>> from lib.mechanisms import Laplace
    >>> found = audit_mechanism(Laplace.calibrated(1.0), trials=20_000, rng=np.random.default_rng(0))
    >>> print(0.5 < found.epsilon_lower < 1.0)
    True
    """
    trials = checks.whole("trials", trials, "[4, inf)")
    checks.one_of("mechanism.events", mechanism.events, ("thresholds", "categories"))
    inputs = [np.broadcast_to(value, (trials, *np.shape(value))) for value in mechanism.worst_case]
    first, second = (mechanism.release(values, rng=rng) for values in inputs)
    bound = epsilon_lower_bound if mechanism.events == "thresholds" else epsilon_lower_bound_of_categories
    return bound(first, second, delta=delta, confidence=confidence)


def audit_oracle(oracle: FrequencyOracle, *, trials: int, rng: np.random.Generator, confidence: float = 0.95) -> Audit:
    """Audit a frequency oracle by the reports of users with the values 0 and 1.

    trials : integer >= 4, number of users of each value; confidence : (0, 1)
    The score is the log-ratio of a report's probabilities under the two values, as `oracle.probability` states them. If
    these probabilities are wrong, the audit is less sharp, but still valid. `report_audit` also covers other values and
    leaks that the stated probabilities do not show, such as leaks through a hash seed.

    >>> import numpy as np
    >>> from lib.attacks import audit_oracle
    >>> from lib.local import GRR
    >>> found = audit_oracle(GRR(k=4, epsilon=1.0), trials=20_000, rng=np.random.default_rng(0))
    >>> print(0.5 < found.epsilon_lower < 1.0)
    True
    """
    trials = checks.whole("trials", trials, "[4, inf)")
    first, second = (oracle.probability(oracle.perturb(np.full(trials, value), rng=rng)) for value in (0, 1))
    return epsilon_lower_bound(*(np.log(p[:, 0] / p[:, 1]) for p in (first, second)), confidence=confidence)


def epsilon_lower_bound_of_categories(
    first: ArrayLike, second: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95
) -> Audit:
    """Return a lower bound on epsilon from categorical outputs (integers) under two neighbouring inputs.

    The bound is that of `epsilon_lower_bound`. An output that occurs a times in the first half of `first` and b times
    in the first half of `second` has the score log((a + 1)/(b + 1)).

    >>> import numpy as np
    >>> from lib.attacks import epsilon_lower_bound_of_categories
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.choice(2, 20_000, p=[0.75, 0.25]), rng.choice(2, 20_000, p=[0.25, 0.75])
    >>> print(0.9 < epsilon_lower_bound_of_categories(first, second).epsilon_lower < 1.1)
    True
    """
    first, second = (checks.integer(name, x, "(-inf, inf)") for name, x in (("first", first), ("second", second)))
    _check_pair(first, second)
    half = len(first) // 2
    names, which = np.unique(np.concatenate([first, second]), return_inverse=True)
    first, second = which[: len(first)], which[len(first) :]
    counts = (np.bincount(outputs[:half], minlength=len(names)) + 1 for outputs in (first, second))
    score = np.log(np.divide(*counts))
    return epsilon_lower_bound(score[first], score[second], delta=delta, confidence=confidence)


def epsilon_lower_bound(first: ArrayLike, second: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95) -> Audit:
    """Return a lower bound on epsilon, as an `Audit`, from scores of outputs under two neighbouring inputs.

    first, second : scores (trials,) of independent outputs under the two inputs; likelihood ratios give the sharpest
        bound
    delta : [0, 1); confidence : (0, 1); the error probability is divided equally between the two inputs

    The first half of the scores is used to choose the event, which is given by a threshold and a direction. The second
    half is used to test this event. Raises ``ValueError`` for fewer than 4 scores, unequal numbers of scores, or NaN
    scores.

    >>> import numpy as np
    >>> from lib.attacks import epsilon_lower_bound
    >>> rng = np.random.default_rng(0)
    >>> found = epsilon_lower_bound(rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000))
    >>> print(0.5 < found.epsilon_lower < 1.0)
    True
    """
    first, second = (checks.real(name, x, "[-inf, inf]") for name, x in (("first", first), ("second", second)))
    _check_pair(first, second)
    delta = checks.number("delta", delta, "[0, 1)")
    half = len(first) // 2
    candidates = []
    for direction, likely, rare in (("first", first, second), ("second", second, first)):
        for sign in (1, -1):
            bound, threshold = _best_threshold(sign * likely[:half], sign * rare[:half], delta, confidence)
            candidates.append((bound, sign * threshold, sign, direction))
    _, threshold, sign, direction = max(candidates, key=lambda candidate: candidate[0])
    likely, rare = (first, second) if direction == "first" else (second, first)
    hits = int((sign * likely[half:] > sign * threshold).sum())
    false_hits = int((sign * rare[half:] > sign * threshold).sum())
    trials = len(first) - half
    found = max(0.0, float(_bound(hits, false_hits, trials, delta, confidence)))
    return Audit(found, float(threshold), direction, hits, false_hits, trials, confidence)


def most_provable(trials: int, confidence: float = 0.95) -> float:
    """Return the largest lower bound on epsilon, for delta = 0, that `trials` runs on each input can give.

    The bound reaches this value if, in the half that tests the event, all runs on one input hit it and no run on the
    other input does.

    trials : integer >= 4 (half of them choose the event); confidence : (0, 1)

    >>> from lib.attacks import most_provable
    >>> print(round(float(most_provable(1000)), 2))
    4.91
    """
    trials = checks.whole("trials", trials, "[4, inf)")
    judging = trials - trials // 2
    return float(_bound(judging, 0, judging, 0.0, confidence))


def _check_pair(first, second):
    if first.ndim != 1 or first.shape != second.shape or len(first) < 4:
        got = f"{first.shape} and {second.shape}"
        raise ValueError(f"first and second must be vectors of the same length, at least 4, got {got}")


def _bound(hits, false_hits, trials, delta, confidence):
    """Return log((P_low - delta) / Q_high), where each limit is one-sided and has half of the error probability."""
    low = clopper_pearson(hits, trials, confidence)[0]
    high = clopper_pearson(false_hits, trials, confidence)[1]
    return np.log(np.maximum(low - delta, 1e-300) / high)


def _best_threshold(likely, rare, delta, confidence):
    """Return the largest lower bound on epsilon over thresholds at quantiles of all scores, and its threshold."""
    thresholds = np.unique(np.quantile(np.concatenate([likely, rare]), np.linspace(0, 1, 201), method="lower"))
    likely, rare = np.sort(likely), np.sort(rare)
    hits = len(likely) - np.searchsorted(likely, thresholds, side="right")
    false_hits = len(rare) - np.searchsorted(rare, thresholds, side="right")
    bounds = _bound(hits, false_hits, len(likely), delta, confidence)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])
