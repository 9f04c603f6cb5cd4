"""Membership inference: how well a published model reveals whether a record was in its training data.

In the game, a pool of n records is split at random, and the model is trained on one half. The attacker sees the model
and the pool, and gives each record a score, which is high if the record seems to be a member. There are two scores:

- the negative loss (Yeom et al. 2018): log p of the record's label
- `likelihood_ratio_scores` (LiRA, offline, Carlini et al. 2022): how unusual the model's confidence in the label is,
  compared with that of shadow models trained on halves of the pool that do not contain the record

`Attack` evaluates scores. `tpr_bound`, `advantage_bound` and `auc_bound` give the limits of attacks if the whole model
is (epsilon, delta)-DP; a separate epsilon for each parameter sets no such limit. A failed attack proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..mechanisms.noise import generator
from ..numerics import checks, in_order
from ..numerics.checks import Numbers
from .audit import clopper_pearson

_LEAST = 1e-12  # distance of probabilities from 0 and 1


def confidence(model: Any, features: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
    """Return the probability that the model gives to each record's own label, (n,), in (0, 1).

    model : an object with `predict_proba(features)`, shape (n, classes); labels : (n,) integers from 0 to classes - 1
    """
    probabilities = np.asarray(model.predict_proba(features), dtype=float)
    labels = checks.labels(labels, *probabilities.shape)
    return probabilities[np.arange(len(labels)), labels].clip(_LEAST, 1 - _LEAST)


def likelihood_ratio_scores(target: ArrayLike, shadows: ArrayLike, used: ArrayLike) -> NDArray[np.float64]:
    """Return a score for each record: how much better the target fits it than models trained without it do.

    Let p be the `confidence` of a model in a record. The scores, shape (n,), are log(p/(1-p)) for the target, minus the
    mean of log(p/(1-p)) over the shadow models that were trained without the record.

    target : (n,) in (0, 1), `confidence` of the attacked model in each record
    shadows : (s, n) in (0, 1), the same for s shadow models; used : (s, n) of bool, whether each model was trained on
        each record

    The unit of the scores is a standard deviation that all records share. Each record needs a model that was trained
    without it, and at least one record needs two such models.
    """
    target = _logit(checks.real("target", target, "(0, 1)"))
    shadows = _logit(checks.real("shadows", shadows, "(0, 1)"))
    used = np.asarray(used)
    if used.dtype != bool or target.ndim != 1 or used.shape != shadows.shape or shadows.shape[1:] != target.shape:
        shapes = f"{used.dtype}, {shadows.shape}, {used.shape}"
        raise ValueError(f"used must be boolean, and shadows and used must have shape (s, {target.size}), got {shapes}")
    without = ~used
    number = without.sum(axis=0)
    if (number == 0).any() or number.max() < 2:
        found = f"{number.min()} to {number.max()}"
        raise ValueError(
            "used must leave at least one model trained without each record, and at least two without some record, got "
            f"{found} such models"
        )
    mean = np.where(without, shadows, 0).sum(axis=0) / number
    squares = np.where(without, (shadows - mean) ** 2, 0).sum()
    deviation = max(float(np.sqrt(squares / (number - 1).sum())), 1e-9)
    return (target - mean) / deviation


def _logit(p) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


@dataclass(frozen=True, eq=False)
class Attack:
    """The `scores` of n records and `members`, n booleans of which at least two are True and at least two are False."""

    scores: np.ndarray
    members: np.ndarray

    def __post_init__(self) -> None:
        scores, members = checks.real("scores", self.scores, "[-inf, inf]"), np.asarray(self.members)
        if members.dtype != bool or scores.ndim != 1 or members.shape != scores.shape:
            found = f"{members.dtype}, {members.shape}, {scores.shape}"
            raise ValueError(f"members must be boolean and have the shape (n,) of scores, got {found}")
        if min(members.sum(), (~members).sum()) < 2:
            raise ValueError(
                f"members must mark at least two records and leave at least two unmarked, got {members.sum()} marked of {members.size}"
            )
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "members", members)

    @cached_property
    def _placements(self):
        """Return proportions of non-members below each member and of members above each non-member; ties count half."""
        inside, outside = self.scores[self.members], self.scores[~self.members]
        ranks = scipy.stats.rankdata(np.concatenate([inside, outside]))
        first = (ranks[: inside.size] - scipy.stats.rankdata(inside)) / outside.size
        second = 1 - (ranks[inside.size :] - scipy.stats.rankdata(outside)) / inside.size
        return first, second

    @property
    def auc(self) -> float:
        """Return the probability that a member scores higher than a non-member; random scores give 0.5."""
        return float(self._placements[0].mean())

    @property
    def auc_error(self) -> float:
        """Return the standard error of `auc` (DeLong, DeLong, Clarke-Pearson 1988)."""
        return float(np.sqrt(in_order.total(one.var(ddof=1) / one.size for one in self._placements)))

    def tpr(self, fpr: float) -> tuple[float, float, float]:
        """Return (rate, low, high): the true positive rate at a false positive rate of at most `fpr` in [0, 1].

        The threshold is the smallest one that at most a proportion `fpr` of the sampled non-members exceeds. The
        interval is Clopper and Pearson's with confidence 0.95; it treats the threshold as fixed.
        """
        fpr = checks.number("fpr", fpr, "[0, 1]")
        falling = np.sort(self.scores[~self.members])[::-1]
        allowed = int(fpr * falling.size + 1e-9)
        threshold = falling[allowed] if allowed < falling.size else -np.inf
        inside = self.scores[self.members]
        hits = int((inside > threshold).sum()) if allowed < falling.size else inside.size
        low, high = clopper_pearson(hits, inside.size)
        return hits / inside.size, float(low), float(high)

    def advantage(self, *, rng: np.random.Generator, level: float = 0.95) -> tuple[float, float, float]:
        """Return (advantage, low, high): TPR - FPR on half of the records, at the best threshold for the other half.

        level : confidence of the interval, in (0, 1). Its ends combine Clopper and Pearson's intervals for the two
            rates, each with half of the error probability
        """
        level = checks.number("level", level, "(0, 1)")
        choose = generator(rng).permutation(self.scores.size) % 2 == 0
        for part in (choose, ~choose):
            if min((self.members & part).sum(), (~self.members & part).sum()) == 0:
                raise ValueError(
                    "members must be mixed enough that each random half contains members and non-members, got a half with only one kind"
                )
        threshold = _best_threshold(self.scores[choose & self.members], self.scores[choose & ~self.members])
        rates, ends = [], []
        for group in (~choose & self.members, ~choose & ~self.members):
            hits = int((self.scores[group] >= threshold).sum())
            rates.append(hits / group.sum())
            ends.append(clopper_pearson(hits, int(group.sum()), min((1 + level) / 2, 1 - 2.0**-53)))
        return rates[0] - rates[1], float(ends[0][0] - ends[1][1]), float(ends[0][1] - ends[1][0])


def _best_threshold(inside, outside):
    """Return the threshold t with the greatest TPR - FPR of "score >= t"."""
    candidates = np.unique(np.concatenate([inside, outside]))
    tpr = 1 - np.searchsorted(np.sort(inside), candidates, side="left") / inside.size
    fpr = 1 - np.searchsorted(np.sort(outside), candidates, side="left") / outside.size
    return candidates[np.argmax(tpr - fpr)]


def play(train: Callable[[np.ndarray, np.ndarray, np.random.Generator], Any], features: ArrayLike, labels: ArrayLike, *,
         shadows: int = 8, rng: np.random.Generator) -> dict[str, Attack]:  # fmt: skip
    """Attack one model and return {"loss": `Attack`, "likelihood ratio": `Attack`}.

    train : a function of (features, labels, rng) that returns a model with `predict_proba`
    features : array (n, d), n >= 8; labels : (n,); shadows : integer >= 4

    The target and the shadow models are trained on halves of the records. Shadow models come in pairs that are trained
    on complementary halves, so that each record is used by about half of the shadow models. All scores are for the same
    target.

    >>> import numpy as np
    >>> from lib.attacks.membership_inference import play
    >>> from types import SimpleNamespace
    >>> def train(features, labels, rng):  # a model that knows how frequent the labels are
    ...     shares = np.bincount(labels, minlength=2) / len(labels)
    ...     return SimpleNamespace(predict_proba=lambda features: np.tile(shares, (len(features), 1)))
    >>> rng = np.random.default_rng(0)
    >>> found = play(train, np.zeros((40, 1)), rng.integers(0, 2, 40), shadows=4, rng=rng)
    >>> print({name: attack.scores.shape for name, attack in found.items()})
    {'loss': (40,), 'likelihood ratio': (40,)}
    """
    features, labels = np.asarray(features), np.asarray(labels)
    n = checks.whole("number of records", len(features), "[8, inf)")
    if labels.shape != (n,):
        raise ValueError(f"labels must have shape ({n},), one for each record, got {labels.shape}")
    shadows = checks.whole("shadows", shadows, "[4, inf)")
    generator(rng)
    used: list[np.ndarray] = []
    while len(used) < shadows + 1:
        half = rng.permutation(n) < n // 2
        used += [half, ~half] if used else [half]  # the target's half, then pairs of halves
    models = [train(features[half], labels[half], rng) for half in used[: shadows + 1]]
    p = np.array([confidence(model, features, labels) for model in models])
    ratio = likelihood_ratio_scores(p[0], p[1:], np.array(used[1 : shadows + 1]))
    return {"loss": Attack(np.log(p[0]), used[0]), "likelihood ratio": Attack(ratio, used[0])}


def tpr_bound(fpr: ArrayLike, epsilon: float, delta: float = 0.0) -> Numbers:
    """Return the largest true positive rate at each `fpr` in [0, 1] against an (epsilon, delta)-DP model.

    epsilon : [0, inf]; delta : [0, 1]. Source: Kairouz, Oh, Viswanath 2015, Theorem 2.1.

    >>> from lib.attacks.membership_inference import tpr_bound
    >>> print(round(float(tpr_bound(0.01, epsilon=1.0)), 4))
    0.0272
    """
    fpr = checks.real("fpr", fpr, "[0, 1]")
    epsilon, delta = _budget(epsilon, delta)
    if epsilon > 700:  # e^epsilon overflows: the only bound is that without false positives
        return np.where(fpr > 0, 1.0, delta)[()]
    return np.minimum(
        np.minimum(np.exp(epsilon) * fpr + delta, np.exp(-epsilon) * (delta + fpr) - np.expm1(-epsilon)), 1.0
    )[()]


def advantage_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest TPR - FPR, (e^epsilon - 1 + 2 delta) / (e^epsilon + 1).

    epsilon : [0, inf]; delta : [0, 1]

    >>> from lib.attacks.membership_inference import advantage_bound
    >>> print(round(float(advantage_bound(epsilon=1.0)), 4))
    0.4621
    """
    epsilon, delta = _budget(epsilon, delta)
    return float(np.tanh(epsilon / 2) + delta * (1 - np.tanh(epsilon / 2)))


def posterior_bound(prior: ArrayLike, epsilon: float) -> Numbers:
    """Return the largest possible probability, given an `epsilon`-DP model, that a record was used to train it.

    prior : the probability before the model is seen, in [0, 1], any shape; epsilon : [0, inf]

    The odds grow by at most a factor e^epsilon. For an (epsilon, delta)-DP model the probability may exceed this bound
    b, but the mean excess over all models that training may produce is at most (1 - b) delta. The reason is that, at
    worst, the model reveals everything with probability delta and is epsilon-DP otherwise (Kairouz, Oh, Viswanath 2015,
    Theorem 2.1).

    >>> from lib.attacks.membership_inference import posterior_bound
    >>> print(round(posterior_bound(0.1, epsilon=1.0), 4))
    0.232
    """
    prior = checks.real("prior", prior, "[0, 1]")
    epsilon, _ = _budget(epsilon, 0.0)
    with np.errstate(invalid="ignore"):
        return checks.plain(np.where(prior > 0, prior / (prior + (1 - prior) * np.exp(-epsilon)), 0.0))


def auc_bound(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest area under the ROC curve: the area under `tpr_bound` as a function of `fpr`.

    >>> from lib.attacks.membership_inference import auc_bound
    >>> print(round(float(auc_bound(epsilon=1.0)), 4))
    0.7311
    """
    epsilon, delta = _budget(epsilon, delta)
    corner = (1 - advantage_bound(epsilon, delta)) / 2  # FPR where the two sloping sides meet; TPR there is 1 - corner
    return float(corner * (delta + 1 - corner) / 2 + (1 - delta - corner) * (2 - corner) / 2 + delta)


def _budget(epsilon, delta):
    return checks.number("epsilon", epsilon, "[0, inf]"), checks.number("delta", delta, "[0, 1]")
