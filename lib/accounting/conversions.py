"""Conversions between notions of privacy: Rényi DP, zero-concentrated DP and (epsilon, delta)-DP.

- Rényi DP (RDP), an epsilon at each order alpha > 1: `compose_rdp`, `rdp_to_dp`, `rdp_to_delta`
- zero-concentrated DP (zCDP), epsilon = rho alpha: `pure_dp_to_zcdp`, `zcdp_to_dp`, `dp_to_zcdp`

A guarantee holds for the kind of neighbours (unbounded or bounded) for which its sensitivity or RDP curve was computed.
The argument `conversion` selects the conversion to (epsilon, delta): "canonne2020" (Canonne, Kamath, Steinke 2020,
Prop. 12) or the older, looser "mironov2017" (Mironov 2017, Prop. 3; miura2022, Prop. 2.5).

Arguments broadcast; results are plain floats if every argument is a scalar. Bad arguments raise ``ValueError``, and
extreme inputs raise ``ArithmeticError``. A cost too large for a double is inf. A cost or delta that underflows
becomes the smallest normal double, not 0: rounding must not turn an approximate guarantee into a pure one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..numerics import checks
from ..numerics.checks import Numbers, plain
from ..numerics.elementwise import TINY, delta_from_log, half_square, root, total_up

CONVERSIONS = ("canonne2020", "mironov2017")


class ApproximateDP(NamedTuple):
    """An (epsilon, delta)-DP guarantee and `alpha`, the order at which the RDP curve gives it (NaN if none does)."""

    epsilon: float | np.ndarray
    delta: float | np.ndarray
    alpha: float | np.ndarray


# Rényi DP. In formulas, x = alpha - 1 > 0.
def _saving(x, conversion: str):
    """Return the amount that `conversion` subtracts from Mironov's epsilon at order 1 + x."""
    return 0.0 if conversion == "mironov2017" else np.log1p(1 / x) + np.log1p(x) / x


def _curve(alpha, name: str, epsilon, conversion: str):
    """Return the checked orders minus one and the checked RDP epsilons, both flattened."""
    checks.one_of("conversion", conversion, CONVERSIONS)
    alpha = checks.real("alpha", alpha, "(1, inf)")
    epsilon = checks.real(name, epsilon, "[0, inf]")
    if alpha.shape != epsilon.shape or alpha.size == 0:
        raise ValueError(f"alpha and {name} must have the same non-empty shape, got {alpha.shape} and {epsilon.shape}")
    return alpha.ravel() - 1, epsilon.ravel()


def _best_order(x, values):
    """Return the minimum of `values` over the last axis (orders 1 + x) and its order (NaN if all values are inf)."""
    best = values.argmin(axis=-1)
    least = np.take_along_axis(values, best[..., None], axis=-1)[..., 0]
    return least, plain(np.where(np.isinf(least), np.nan, 1 + x[best]))


def compose_rdp(epsilons: Iterable[ArrayLike], counts: ArrayLike | None = None) -> Numbers:
    """Return the RDP epsilon of an adaptive composition, the sum of the mechanisms' epsilons at each order.

    epsilons : K curves with values in [0, inf], each a scalar (one order) or an array over a common grid of orders;
        they broadcast. Pass a single curve as ``[curve]``
    counts : K integers >= 0, the number of times that each mechanism runs. The default is 1
    Coq checks the sum for two mechanisms with finitely many outcomes, except for rounding: `two_rounds` in proofs/.
    Source: Mironov 2017, Proposition 1; miura2022, Proposition 2.4.

    >>> from lib.accounting import compose_rdp
    >>> print(round(compose_rdp([0.1, 0.2], counts=[3, 1]), 3))
    0.5
    """
    curves = [checks.real("epsilons", curve, "[0, inf]") for curve in epsilons]
    counts = checks.integer("counts", np.ones(len(curves)) if counts is None else counts, "[0, inf)")
    if not curves or counts.shape != (len(curves),):
        raise ValueError(
            "epsilons must contain at least one curve, and counts must contain one integer for each curve, got "
            f"{len(curves)} curves and counts of shape {counts.shape}"
        )
    table, runs = np.stack(np.broadcast_arrays(*curves)), [int(count) for count in counts]
    sums = [total_up(column, runs) for column in table.reshape(len(runs), -1).T]
    return plain(np.reshape(sums, table.shape[1:]))


def rdp_to_dp(alpha: ArrayLike, epsilon: ArrayLike, delta: ArrayLike, conversion: str = "canonne2020") -> ApproximateDP:
    """Return the smallest epsilon at `delta` that an RDP curve gives over its grid of orders.

    alpha, epsilon : orders in (1, inf) and RDP epsilons in [0, inf] (inf: no guarantee), of the same shape
    delta : in (0, 1), any shape; the result has the same shape
    conversion : "mironov2017" or "canonne2020"

    - "mironov2017" is ``epsilon + log(1/delta)/(alpha-1)``.
    - "canonne2020", never larger, is ``epsilon + log((alpha-1)/alpha) - (log(delta) + log(alpha))/(alpha-1)``.

    A negative epsilon becomes 0, because it implies (0, delta)-DP; `alpha` is the order that gave the smallest epsilon
    before this replacement. If the curve is infinite everywhere, epsilon is inf and alpha is NaN.
    Coq checks both conversions for finitely many outcomes, except for rounding: `renyi_eps` and `renyi_eps_mironov` in
    proofs/.

    >>> import numpy as np
    >>> from lib.accounting import rdp_to_dp
    >>> orders = np.arange(2, 100)
    >>> found = rdp_to_dp(orders, orders * 0.02, delta=1e-6)
    >>> print(round(found.epsilon, 4), "at order", found.alpha)
    0.8999 at order 24.0
    """
    x, curve = _curve(alpha, "epsilon", epsilon, conversion)
    delta = checks.real("delta", delta, "(0, 1)")
    saving, price = _saving(x, conversion), -np.log(delta)[..., None] / x
    least, order = _best_order(x, curve - saving + price + 2.0**-50 * (curve + saving + price))
    return ApproximateDP(plain(np.maximum(least, 0.0)), plain(delta), order)


def rdp_to_delta(
    alpha: ArrayLike, epsilon_rdp: ArrayLike, epsilon: ArrayLike, conversion: str = "canonne2020"
) -> ApproximateDP:
    """Return the smallest delta at `epsilon` that an RDP curve gives: the inverse of `rdp_to_dp`.

    alpha, epsilon_rdp : the curve, as for `rdp_to_dp`; epsilon : [0, inf), any shape
    The delta is at most 1. If the curve is infinite everywhere, delta is 1 and alpha is NaN.
    Coq checks "canonne2020" for finitely many outcomes, except for rounding: `renyi_delta` in proofs/.

    >>> import numpy as np
    >>> from lib.accounting import rdp_to_delta
    >>> orders = np.arange(2, 100)
    >>> print(f"{rdp_to_delta(orders, orders * 0.02, epsilon=1.0).delta:.2e}")
    8.86e-08
    """
    x, curve = _curve(alpha, "epsilon_rdp", epsilon_rdp, conversion)
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    with np.errstate(over="ignore"):
        saved = _saving(x, conversion) + epsilon[..., None]
        least, order = _best_order(x, x * (curve - saved + 2.0**-50 * (curve + saved)))
    return ApproximateDP(plain(epsilon), delta_from_log(least), order)


# Zero-concentrated DP. The optimal order is a root in u = log(alpha - 1).
def pure_dp_to_zcdp(epsilon: ArrayLike) -> Numbers:
    """Return epsilon^2 / 2, the rho of every epsilon-DP mechanism, for each `epsilon` in [0, inf).

    Coq checks this rho for finitely many outcomes, except for rounding: `pure_dp_zcdp` in proofs/.
    Source: Bun and Steinke 2016, Proposition 1.4.

    >>> from lib.accounting import pure_dp_to_zcdp
    >>> print(pure_dp_to_zcdp(0.5))
    0.125
    """
    return plain(half_square(checks.real("epsilon", epsilon, "[0, inf)")))


def bounded_range_zcdp(epsilon: ArrayLike) -> Numbers:
    """Return epsilon^2/8, the rho of every mechanism of bounded range epsilon, for each `epsilon` in [0, inf).

    Coq checks this rho for finitely many outcomes, except for rounding: `bounded_range_zcdp` in proofs/.
    Source: Cesar and Rogers 2021; Rogers and Steinke 2021; miura2025, Definition 2.6.

    >>> from lib.accounting import bounded_range_zcdp
    >>> print(bounded_range_zcdp(0.5))
    0.03125
    """
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    return plain(np.where(epsilon > 0, np.maximum(half_square(epsilon / 2), TINY), 0.0))


def zcdp_to_dp(rho: ArrayLike, delta: ArrayLike, conversion: str = "canonne2020") -> Numbers:
    """Return an epsilon for which rho-zCDP implies (epsilon, delta)-DP, the smallest over all real orders > 1.

    rho : [0, inf); delta : (0, 1); they broadcast
    conversion : "canonne2020" (miura2025, Proposition 2.4, solved for epsilon; a negative epsilon becomes 0) or
        "mironov2017", the closed form ``rho + 2 sqrt(rho log(1/delta))`` (Bun and Steinke 2016, Proposition 1.3)

    Coq checks the closed form and, for rounds chosen adaptively as in AIM, both conversions, for finitely many outcomes
    and except for rounding: `zcdp_eps`, `aim_budget` and `aim_budget_sharp` in proofs/.

    >>> from lib.accounting import zcdp_to_dp
    >>> print(round(zcdp_to_dp(0.02, 1e-6), 4), round(zcdp_to_dp(0.02, 1e-6, "mironov2017"), 4))
    0.8999 1.0713
    """
    checks.one_of("conversion", conversion, CONVERSIONS)
    rho = checks.real("rho", rho, "[0, inf)")
    log_inverse = -np.log(checks.real("delta", delta, "(0, 1)"))
    if conversion == "mironov2017":
        with np.errstate(over="ignore"):
            return plain((rho + 2 * np.sqrt(rho) * np.sqrt(log_inverse)) * (1 + 2.0**-50))
    # The epsilon is stationary where rho x^2 + log(1 + x) = log(1/delta). At `high`, one term alone reaches the
    # right-hand side; at `low`, neither term exceeds half of that side. The margins of 1 absorb rounding.
    log_ratio = np.log(log_inverse) - np.log(np.maximum(rho, TINY))
    high = np.minimum(log_ratio / 2, log_inverse) + 1
    low = np.minimum(log_ratio / 2, np.log(log_inverse)) - np.log(2) - 1
    x = np.exp(root(lambda u, r, c: r * np.exp(2 * u) + np.logaddexp(0, u) - c, low, high, rho, log_inverse))
    with np.errstate(over="ignore"):
        saving, price = _saving(x, conversion), rho * (1 + x) + log_inverse / x  # any x is valid
        return plain(np.maximum(price - saving + 2.0**-50 * (price + saving), 0.0))


def dp_to_zcdp(epsilon: ArrayLike, delta: ArrayLike, conversion: str = "canonne2020") -> Numbers:
    """Return the largest rho that implies (`epsilon`, `delta`)-DP by `zcdp_to_dp`, up to rounding.

    `certified_zcdp` returns a rho that is rounded down.

    epsilon : [0, inf); delta : (0, 1); they broadcast; conversion : as for `zcdp_to_dp`

    >>> from lib.accounting import dp_to_zcdp
    >>> print(round(dp_to_zcdp(1.0, 1e-9), 6))
    0.014973
    """
    checks.one_of("conversion", conversion, CONVERSIONS)
    epsilon = checks.real("epsilon", epsilon, "[0, inf)")
    log_inverse = -np.log(checks.real("delta", delta, "(0, 1)"))
    if conversion == "mironov2017":
        return plain((epsilon / (np.sqrt(epsilon + log_inverse) + np.sqrt(log_inverse))) ** 2)

    def epsilon_at(u, target, c):
        # For rho = (c - log(1+x)) / x^2 the order 1 + x is optimal. The epsilon decreases in u.
        x = np.exp(u)
        return (2 + 1 / x) * (c - np.logaddexp(0, u)) / x - np.logaddexp(0, -u) - target

    high = log_inverse + 1  # alpha > 1/delta: no positive rho has so high an optimum
    # At `low`, epsilon_at exceeds 2/x - 1/2 > epsilon.
    low = np.log(np.maximum(np.minimum(log_inverse, 1) / 4 / (1 + epsilon), TINY))
    x = np.exp(root(epsilon_at, low, high, epsilon, log_inverse))
    return plain((epsilon + _saving(x, conversion) - log_inverse / x) / (1 + x))
