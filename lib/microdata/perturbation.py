"""Perturb each record separately: retention-replacement, bounded Laplace and Pk-anonymity (hasegawa2015, section 2.2).

A `Perturbation` has one mechanism for each attribute. Records are rows of a float array (n, M), with codes
from 0 to size - 1 for categorical attributes and values in [low, high] for numeric attributes.

Local differential privacy. The smallest eps_j for which each mechanism satisfies eps_j-local DP is the following:

- retention-replacement: the two probabilities of equation (1) have the ratio e^eps_j = (1 + (|A_j| - 1) rho_j) / (1 -
  rho_j);
- bounded Laplace: eps_j = (b_j - a_j) / phi_j, although the normalizer gamma(v) differs between values.

Theorem. Records perturbed by mechanisms whose levels add up to eps = sum eps_j satisfy Pk-anonymity with
k = 1 + (N - 1) e^(-2 eps), which is equation (4). An adversary knows all N original records, and the perturbed records
in random order. For this adversary, the probability that a given row belongs to a given person is at most 1/k. No
larger k holds for every table.

The chapter "How private is a perturbed table?" proves the eps_j of the bounded Laplace mechanism and the theorem.

Everything is computed in floating point, and is therefore exact only up to rounding (Mironov, CCS 2012).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..mechanisms.sensitivity import of_sum
from ..numerics import checks, in_order
from ..numerics.elementwise import quotient_up, total_up
from ..numerics.kernel_matrix import Pairwise, Points

LEAST = 1e-300  # smallest scale and level of a numeric attribute, so that the density of an attribute is finite
MOST_PERSONS = 16  # the largest number, because the sum is over all matchings of persons to rows


@dataclass(frozen=True)
class RetentionReplacement:
    """A mechanism that keeps a category with probability rho, or else draws a uniform category (equation 1).

    size : number of categories, an integer >= 2; rho : in [0, 1), rounded up to a multiple of 2^-53, as in the draws
    """

    size: int
    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checks.whole("size", self.size, "[2, inf)"))
        object.__setattr__(self, "rho", math.ceil(checks.number("rho", self.rho, "[0, 1)") * 2**53) / 2**53)

    @classmethod
    def from_epsilon(cls, epsilon: float, size: int) -> RetentionReplacement:
        """Return the mechanism with the largest rho whose level is at most `epsilon` in [0, inf).

        For an `epsilon` of 30 or more, the level is clearly below `epsilon`, because rho is a multiple of 2^-53.
        """
        epsilon = checks.number("epsilon", epsilon, "[0, inf)")
        size = checks.whole("size", size, "[2, inf)")
        # (e^eps - 1) / (e^eps - 1 + size), for any epsilon
        found = cls(size, min(-math.expm1(-epsilon) / (1 + (size - 1) * math.exp(-epsilon)), 1 - 2.0**-53))
        tries = 0
        while found.epsilon > epsilon:
            tries += 1
            found = cls(size, max(found.rho - 2.0 ** (max(tries - 64, 0) - 53), 0.0))
        return found

    @property
    def epsilon(self) -> float:
        """Return ln of the largest ratio of probabilities, ln((1 + (size - 1) rho) / (1 - rho))."""
        return math.log1p(self.size * self.rho / (1 - self.rho)) * (1 + 2.0**-51)  # rounded up

    def check(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        """Return `values` as floats. Raises ``ValueError`` if a value is not a code."""
        return checks.integer(name, values, f"[0, {self.size})")

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
        """Return a draw for each code in `values` (any shape), as a float array."""
        values = self.check("values", values)
        return np.where(rng.random(values.shape) < self.rho, values, rng.integers(self.size, size=values.shape))

    def density(self, outputs: ArrayLike, inputs: ArrayLike) -> np.ndarray:
        """Return P(output | input), elementwise, with broadcasting."""
        same = self.check("outputs", outputs) == self.check("inputs", inputs)
        return np.where(same, self.rho, 0.0) + (1 - self.rho) / self.size


@dataclass(frozen=True)
class BoundedLaplace:
    """Laplace noise of scale phi, conditioned on staying in [low, high] (equations 2 and 3).

    low, high : the attribute's public range, low < high, of finite width
    phi : in [1e-300 max(width, 1), 1e300 width], or inf for a uniform draw
    """

    low: float
    high: float
    phi: float

    def __post_init__(self) -> None:
        low, high = (checks.number(name, getattr(self, name), "(-inf, inf)") for name in ("low", "high"))
        if not low < high:
            raise ValueError(f"low must be in (-inf, {high:g}), below high, got {low:g}")
        width = checks.number("high - low", of_sum(low, high, "bounded"), "(0, inf)")
        phi = checks.number("phi", self.phi, f"[{LEAST * max(width, 1)!r}, inf]")
        if LEAST * phi > width and phi < math.inf:
            raise ValueError(f"phi must be in (0, {width / LEAST:g}] or inf, got {phi:g}")
        for name, value in (("low", low), ("high", high), ("phi", phi)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_epsilon(cls, epsilon: float, low: float, high: float) -> BoundedLaplace:
        """Return the mechanism with local-DP level `epsilon` in [0, inf), or a lower level to keep phi in range."""
        epsilon = checks.number("epsilon", epsilon, "[0, inf)")
        made = cls(low, high, math.inf)
        least = LEAST * max(made._width, 1)
        return made if epsilon < 2 * LEAST else replace(made, phi=max(float(quotient_up(made._width, epsilon)), least))

    @property
    def _width(self) -> float:
        return of_sum(self.low, self.high, "bounded")

    @property
    def epsilon(self) -> float:
        """Return ln of the largest ratio of densities, exactly (high - low)/phi; see the module's docstring."""
        return 0.0 if math.isinf(self.phi) else float(quotient_up(self._width, self.phi))

    def check(self, name: str, values: ArrayLike) -> NDArray[np.float64]:
        """Return `values` as floats. Raises ``ValueError`` if a value is not in [low, high]."""
        return checks.real(name, values, f"[{self.low!r}, {self.high!r}]")

    def normaliser(self, values: ArrayLike) -> np.ndarray:
        """Return 2 gamma(v) of equation (3), elementwise: the mass of the doubled Laplace density within [low, high]."""
        values = self.check("values", values)
        return -np.expm1(-(values - self.low) / self.phi) - np.expm1(-(self.high - values) / self.phi)

    def perturb(self, values: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
        """Return a draw for each of `values` (any shape), by inverting the distribution function."""
        values = self.check("values", values)
        uniform = rng.random(values.shape)
        if math.isinf(self.phi):
            return self.low + uniform * (self.high - self.low)
        # The doubled density has mass 1 - e^{-(v - low)/phi} below v. The mass below the draw y exceeds this mass by
        # the mass between v and y, which counts as negative if y < v: sign (1 - e^{-|y - v|/phi}).
        excess = uniform * self.normaliser(values) + np.expm1(-(values - self.low) / self.phi)
        within = np.minimum(np.abs(excess), 1 - 2.0**-53)  # an excess rounded to 1 would give an infinite draw
        draws = values - np.sign(excess) * self.phi * np.log1p(-within)
        return np.clip(draws, self.low, self.high)  # because of rounding, a draw could leave the range

    def density(self, outputs: ArrayLike, inputs: ArrayLike) -> np.ndarray:
        """Return p(output | input), per unit of the attribute, elementwise, with broadcasting."""
        outputs, inputs = self.check("outputs", outputs), self.check("inputs", inputs)
        if math.isinf(self.phi):
            return np.full(np.broadcast_shapes(outputs.shape, inputs.shape), 1 / (self.high - self.low))
        return np.exp(-np.abs(outputs - inputs) / self.phi) / (self.phi * self.normaliser(inputs))

    def distribution(self, outputs: ArrayLike, inputs: ArrayLike) -> np.ndarray:
        """Return Pr[draw <= output | input], elementwise, with broadcasting."""
        outputs, inputs = self.check("outputs", outputs), self.check("inputs", inputs)
        outputs, inputs = np.broadcast_arrays(outputs, inputs)
        if math.isinf(self.phi):
            return (outputs - self.low) / (self.high - self.low)
        below, above = np.minimum(outputs, inputs), np.maximum(outputs, inputs)
        # from low to the output or v, whichever comes first, and from v to an output beyond v
        first = -np.exp((below - inputs) / self.phi) * np.expm1((self.low - below) / self.phi)
        second = -np.expm1((inputs - above) / self.phi)
        return (first + second) / self.normaliser(inputs)


class Perturbation:
    """An immutable collection of mechanisms, one for each attribute, drawn independently (equation 13).

    mechanisms : mapping from attribute to `RetentionReplacement` or `BoundedLaplace`, at least one

    Records are an (n, M) array of numbers in the order of the mapping, or a pandas frame with these columns (further
    columns are ignored). Do not include attributes that are published unchanged. If an attribute cannot have one of the
    values, the methods raise a ``ValueError`` that names the attribute.

    >>> import numpy as np
    >>> from lib.microdata import Perturbation
    >>> change = Perturbation.from_epsilon(2.0, {"sex": 2, "age": (0.0, 100.0)})
    >>> print(change.epsilon, change.perturb([[1, 30.0]], rng=np.random.default_rng(0)).round(1))
    2.0 [[1.  4.1]]
    """

    def __init__(self, mechanisms: Mapping) -> None:
        self.mechanisms = dict(mechanisms)
        if not self.mechanisms:
            raise ValueError("mechanisms must not be empty")
        for name, mechanism in self.mechanisms.items():
            if not isinstance(mechanism, (RetentionReplacement, BoundedLaplace)):
                wanted = "RetentionReplacement or BoundedLaplace"
                raise ValueError(f"mechanism of {name!r} must be {wanted}, got {mechanism!r}")
        self.attributes = tuple(self.mechanisms)

    @classmethod
    def from_epsilon(cls, epsilon: float, attributes: Mapping[str, int | tuple[float, float]],
                     split: str | Mapping[str, float] = "equal") -> Perturbation:  # fmt: skip
        """Return the perturbation whose local-DP level is `epsilon` in [0, inf), divided among `attributes`.

        attributes : mapping from attribute to its number of categories (>= 2), or to its range (low, high)
        split : "equal", or a mapping from every attribute to its part in [0, inf), with at least one positive part
        """
        epsilon = checks.number("epsilon", epsilon, "[0, inf)")
        attributes = dict(attributes)
        if not attributes:
            raise ValueError("attributes must not be empty")
        shares = _shares(attributes, split)
        part, step = epsilon, 2.0**-52
        while (
            made := cls({name: _mechanism(name, kind, part * shares[name]) for name, kind in attributes.items()})
        ).epsilon > epsilon:
            part, step = part * (1 - step), 2 * step  # rounding can make the level exceed epsilon
        return made

    @property
    def epsilons(self) -> np.ndarray:
        """Return the local-DP level of each attribute, shape (M,)."""
        return np.array([mechanism.epsilon for mechanism in self.mechanisms.values()])

    @property
    def epsilon(self) -> float:
        """Return the smallest local-DP level of a whole record, which is the sum of the levels of its attributes."""
        return total_up(self.epsilons, [1] * len(self.attributes))

    def check(self, records: ArrayLike) -> NDArray[np.float64]:
        """Return the records as a float array (n, M). Raises ``ValueError`` if there is no record or an invalid one."""
        if hasattr(records, "columns"):
            absent = [name for name in self.attributes if list(records.columns).count(name) != 1]
            if absent:
                raise ValueError(f"records must have one column {absent[0]!r}, got {list(records.columns)!r}")
            frame: Any = records
            records = np.column_stack([frame[name] for name in self.attributes])
        records = np.asarray(records)
        if records.ndim != 2 or records.shape[1] != len(self.attributes) or len(records) == 0:
            raise ValueError(f"records must have shape (n, {len(self.attributes)}), n >= 1, got {records.shape}")
        columns = zip(self.attributes, self.mechanisms.values(), records.T)
        return np.column_stack([one.check(f"records of {name!r}", column) for name, one, column in columns])

    def perturb(self, records: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return one perturbed record for each of `records`, (n, M)."""
        columns = zip(self.mechanisms.values(), self.check(records).T)
        return np.column_stack([mechanism.perturb(column, rng=rng) for mechanism, column in columns])

    def density(self, outputs: ArrayLike, inputs: ArrayLike) -> NDArray[np.float64]:
        """Return p(output | input), (n,), for pairs of records; `outputs` or `inputs`, (n, M), may be a single row.

        Raises ``ValueError`` if a density is too large for a double.
        """
        columns = zip(self.mechanisms.values(), self.check(outputs).T, self.check(inputs).T)
        with np.errstate(over="ignore"):
            return _finite(math.prod(mechanism.density(y, x) for mechanism, y, x in columns))

    def transitions(self, outputs: ArrayLike, inputs: ArrayLike | None = None) -> Pairwise:
        """Return the matrix of p(outputs_i | inputs_j), (n, m), as an operator that multiplies block by block.

        inputs : by default the outputs; the result is then the matrix P of hasegawa2015, Algorithm 1

        Entries have a relative error of at most 1e-5. Raises ``ValueError`` if the epsilon of a numeric attribute is
        above 1e10, where rounding affects the differences between values too much.
        """
        right = self._points(self.check(outputs if inputs is None else inputs))
        left = right if inputs is None else self._points(self.check(outputs))
        ones = np.ones((len(left), 1))
        plain = Points(np.concatenate([left.bilinear[:, :-1], ones], axis=1), left.steps, ones[:, 0])
        return Pairwise(plain, right, symmetric=inputs is None)

    def _points(self, records) -> Points:
        """Return `records` as points for `Pairwise`; their `factors` contain the terms that depend only on an input."""
        onehot, steps, factors = [], [np.empty((len(records), 0))], np.ones(len(records))
        for (name, mechanism), column in zip(self.mechanisms.items(), records.T):
            if isinstance(mechanism, RetentionReplacement):
                # different categories have the density of equal categories divided by e^epsilon
                onehot.append(np.eye(mechanism.size)[column.astype(int)] * math.sqrt(mechanism.epsilon))
            else:
                if mechanism.epsilon > 1e10:
                    raise ValueError(f"the epsilon of {name} must be in [0, 1e10], got {mechanism.epsilon:g}")
                steps.append((column[:, None] - mechanism.low) / mechanism.phi)
            with np.errstate(over="ignore"):
                factors = _finite(factors * mechanism.density(column, column))
        if_different = np.full((len(records), 1), -in_order.total(part.max() ** 2 for part in onehot))
        return Points(np.concatenate([*onehot, if_different], axis=1), np.concatenate(steps, axis=1), factors)


def _finite(densities) -> np.ndarray:
    if not np.isfinite(densities).all():
        raise ValueError("the scales phi must give densities of at most 1e308, got inf: take larger units")
    return densities


def pk_level(perturbation: Perturbation, n_records: int) -> float:
    """Return k = 1 + (N - 1) e^(-2 eps) for `n_records` = N >= 1 records, in [1, N], rounded down.

    Source: hasegawa2015, equation 4.

    >>> from lib.microdata import Perturbation, pk_level
    >>> change = Perturbation.from_epsilon(4.0, {"sex": 2, "age": (0.0, 100.0)})
    >>> print(round(pk_level(change, n_records=30_000), 2))
    11.06
    """
    n = checks.whole("n_records", n_records, "[1, inf)")
    if (epsilon := perturbation.epsilon) == 0:
        return float(n)
    return max(math.nextafter(1 + (n - 1) * math.exp(-2 * epsilon) * (1 - 2.0**-50), 0), 1.0)


def pk_epsilon(k: float, n_records: int) -> float:
    """Return the total local-DP level ln((N - 1)/(k - 1))/2 that gives k on `n_records` = N >= 2 records.

    k : real, in (1, N]; k = 1 would require an infinite level, and k = N requires level 0

    >>> from lib.microdata import pk_epsilon
    >>> print(round(pk_epsilon(k=11, n_records=30_000), 4))
    4.0032
    """
    n = checks.whole("n_records", n_records, "[2, inf)")
    k = checks.number("k", k, f"(1, {n}]")
    return math.log1p((n - k) / (k - 1)) / 2


def matching_posteriors(densities: ArrayLike) -> NDArray[np.float64]:
    """Return Pr[person i has row r], (N, N), for an adversary who knows all originals and all shuffled rows.

    densities : (N, N), p(y_r | x_i) >= 0 in row i and column r, up to a positive factor for each row or column; N in
        [1, 16]. A priori, all matchings of persons to rows are equally likely (see the module's docstring)

    The sum over N! matchings is computed from 2^N sets of rows. Raises ``ValueError`` if no matching can occur.

    >>> from lib.microdata import matching_posteriors
    >>> print(matching_posteriors([[0.8, 0.2], [0.2, 0.8]]).round(3))
    [[0.941 0.059]
     [0.059 0.941]]
    """
    a = checks.real("densities", densities, "[0, inf)")
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not 1 <= len(a) <= MOST_PERSONS:
        raise ValueError(f"densities must have shape (N, N), N in [1, {MOST_PERSONS}], got {a.shape}")
    n = len(a)
    a = _balanced(a)
    sets = np.arange(2**n)
    has = (sets[:, None] >> np.arange(n)) & 1
    without = [[sets[(has.sum(axis=1) == i) & (has[:, r] == 0)] for r in range(n)] for i in range(n)]
    first, last = np.zeros((2, 2**n))  # sums over matchings: persons before i to a set, others to the rest
    first[0] = last[-1] = 1
    for i in range(n):
        for r, held in enumerate(without[i]):
            first[held | 1 << r] += a[i, r] * first[held]
    for i in reversed(range(n)):
        for r, held in enumerate(without[i]):
            last[held] += a[i, r] * last[held | 1 << r]
    if not first[-1] > 0:
        raise ValueError("densities must allow at least one matching of persons to rows, got none")
    ways = [[first[held] @ last[held | 1 << r] for r, held in enumerate(row)] for row in without]
    return a * np.array(ways) / first[-1]


def _balanced(a) -> np.ndarray:
    """Return `a` with its rows and columns multiplied by powers of two, so that the best matching has a product of
    about 1 and no matching has a product far above 1. The exponents are a dual solution of the assignment problem; they
    are computed as lengths of shortest paths."""
    logs = np.where(a > 0, np.log2(np.where(a > 0, a, 1)), -1e6)  # a matching avoids zeros if it can
    columns = scipy.optimize.linear_sum_assignment(logs, maximize=True)[1]
    of_best = logs[range(len(a)), columns]
    ahead, moved = logs[:, columns] - of_best[:, None], np.zeros(len(a))
    for _ in a:
        moved = np.minimum(moved, (moved[:, None] - ahead).min(axis=0))
    by_column = np.empty(len(a))
    by_column[columns] = moved
    return np.ldexp(a, (np.rint(-of_best - moved)[:, None] + np.rint(by_column)).clip(-(10**5), 10**5).astype(int))


def pk_parameters(k: float, n_records: int, attributes: Mapping[str, int | tuple[float, float]],
                  split: str | Mapping[str, float] = "equal") -> Perturbation:  # fmt: skip
    """Return the perturbation (every rho_j and phi_j) whose `pk_level` on `n_records` = N records is `k`.

    k : real, in (1, N]; n_records : integer >= 2
    attributes, split : see `Perturbation.from_epsilon`; the paper does not say how the total is divided

    >>> from lib.microdata import pk_level, pk_parameters
    >>> change = pk_parameters(k=11, n_records=30_000, attributes={"sex": 2, "age": (0.0, 100.0)})
    >>> print(round(pk_level(change, 30_000), 6))
    11.0
    """
    epsilon, step = pk_epsilon(k, n_records), 2.0**-53
    while pk_level(made := Perturbation.from_epsilon(epsilon, attributes, split), n_records) < k:  # due to rounding
        epsilon, step = max(epsilon - step, 0.0), 2 * step
    return made


def _shares(attributes, split) -> dict:
    if isinstance(split, str):
        checks.one_of("split", split, ("equal",))
        split = dict.fromkeys(attributes, 1.0)
    if set(split) != set(attributes):
        raise ValueError(f"split must give a part for each of {', '.join(map(repr, attributes))}, got {dict(split)!r}")
    shares = {name: checks.number(f"share of {name!r}", share, "[0, inf)") for name, share in split.items()}
    total = math.fsum(shares.values())
    if not 0 < total < math.inf:
        raise ValueError(f"split must have a finite positive sum, got {total:g}")
    return {name: share / total for name, share in shares.items()}


def _mechanism(name, kind, epsilon):
    if np.ndim(kind) == 0:
        return RetentionReplacement.from_epsilon(epsilon, checks.whole(f"categories of {name!r}", kind, "[2, inf)"))
    if len(kind) != 2:
        raise ValueError(f"attribute {name!r} must be a number of categories or a range (low, high), got {kind!r}")
    return BoundedLaplace.from_epsilon(epsilon, *kind)
