"""The cost of a schedule of Gaussian, Laplace and exponential mechanisms, composed numerically.

AIM (miura2025, Algorithm 2) selects by the exponential mechanism, which has bounded range: for two
neighbours, the log-likelihood ratios of its outputs lie in an interval [t - epsilon, t], 0 <= t <=
epsilon (Durfee and Rogers 2019). How much privacy cost this property saves depends on the accountant:

- `bounded_range_zcdp` gives rho = epsilon^2/8 (Cesar and Rogers 2021); the rhos of several mechanisms add up.
- `compose_schedule` with "bounded range" gives the smallest possible epsilon, up to the stated error.
- With "bounded range prv", it composes `numerical.BoundedRangeLoss`, one privacy random variable for all t.
- With "pure dp", it ignores the range and composes randomized response, the worst epsilon-DP mechanism.

The smallest epsilon is found as follows. Let L be the total privacy loss of the steps still to run, and let V(x) be the
maximum of their hockey-stick divergence E[(1 - e^(x - L))+] over all mechanisms. For one step, V_{before}(x) is the
maximum of E[V_{after}(x - l)] over the mechanisms of this step, where l is their loss. For each t, the worst mechanism
has only two outputs, because r V(x - log r) is convex in the likelihood ratio r, whose mean is 1 under the second
neighbour. So all mass lies at the two ends of the range of r: at e^t, which has probability (1 - e^(t-epsilon)) / (1 -
e^-epsilon) under the first neighbour, and at e^(t-epsilon). An adversary who sees all earlier outputs may choose a new
t at each step (Dong, Durfee, Rogers 2020). So t may depend on x, and k steps take k sweeps over all x.

The order matters, because the mean of a maximum is at least the maximum of the means. An adversary gains most from
seeing all noisy measurements first, and least from seeing them last. These two orders give an upper and a lower bound,
respectively, for any order of the measurements relative to the selections.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..numerics import checks, in_order
from . import conversions, numerical, privacy_loss
from .conversions import bounded_range_zcdp
from .numerical import EpsilonBounds

TREATMENTS = ("bounded range", "bounded range prv", "pure dp")


def compose_schedule(mechanisms: numerical.Mechanisms, delta: float, *,
                     exponential: str = "bounded range", eps_error: float | None = None,
                     resolution: int = 32) -> EpsilonBounds:  # fmt: skip
    """Return bounds on the epsilon at `delta` of a schedule; `upper` is the guarantee.

    mechanisms : pairs (mechanism, count) as for `numerical.prv_compose`, at least one. List the selections, which have
        bounded range, in their order of execution; the bounds hold for any positions of the other mechanisms
    delta : [1e-12, 1)
    exponential : one of `TREATMENTS`, which the module's docstring describes
    eps_error : (0, inf), the error of the numerical composition (of the measurements only, for "bounded range").
        The default is 0.2 % of the epsilon by zCDP, but at least 2e-4
    resolution : integer >= 2, for "bounded range" only: the number of mesh steps in a typical selection's epsilon.
        Rounding to the mesh raises this epsilon by a factor of up to 1 + 2/resolution, or more if the measurements
        dominate the cost. The run time is proportional to resolution^2 and to the number of selections to the power 3/2

    The true epsilon lies in [lower, upper]. For "bounded range" the true epsilon is the worst case over all mechanisms
    with these ranges, and `estimate` is the midpoint of the interval. The schedule is treated as fixed in
    advance. The bounds are therefore a diagnostic, not a guarantee, for a run of AIM, which chooses its steps from
    noisy outputs.
    Raises ``ValueError`` for bad arguments, and for a schedule whose epsilon at delta / 1000 is above 500 both by zCDP
    and by pure DP.

    >>> from lib.accounting import compose_schedule
    >>> from lib.mechanisms import Exponential, Gaussian
    >>> bounds = compose_schedule([(Exponential(0.5), 4), (Gaussian(8.0), 4)], 1e-6)
    >>> print(round(bounds.upper, 1))
    2.4
    """
    checks.one_of("exponential", exponential, TREATMENTS)
    delta = checks.number("delta", delta, "[1e-12, 1)")
    resolution = checks.whole("resolution", resolution, "[2, inf)")
    mechanisms = numerical._variables(mechanisms)
    rho = numerical.compose_zcdp(mechanisms)
    if eps_error is None:
        eps_error = max(2e-3 * float(conversions.zcdp_to_dp(rho, delta)), 2e-4)
    eps_error = checks.number("eps_error", eps_error, "(0, inf)")
    largest = in_order.total(count * prv.largest for prv, count in mechanisms)
    if (reach := min(conversions.zcdp_to_dp(rho, delta / 1000), largest)) > 500:
        raise ValueError(f"mechanisms must cost an epsilon of at most 500 at delta / 1000, got {reach:g} by zCDP")
    selected = [(prv, count) for prv, count in mechanisms if isinstance(prv, numerical.BoundedRangeLoss)]
    measured = _measurements(mechanisms)
    if exponential == "bounded range" and selected:
        ranges = [(prv.size, count) for prv, count in selected]
        return _least_epsilon(measured, ranges, delta, rho, eps_error, resolution)
    if exponential == "pure dp":
        measured += _counted([(privacy_loss.randomized_response(prv.size), count) for prv, count in selected])
    else:
        measured += _counted(selected)
    return numerical.prv_compose(measured, delta, eps_error=eps_error)


def _measurements(mechanisms):
    """Return the pairs that are not selections, with all Gaussians combined into one."""
    gaussian = [(prv, count) for prv, count in mechanisms if isinstance(prv, numerical.GaussianLoss)]
    others = (numerical.GaussianLoss, numerical.BoundedRangeLoss)
    measured = [(prv, count) for prv, count in mechanisms if not isinstance(prv, others)]
    if gaussian:  # several Gaussian mechanisms are exactly one
        measured.append((numerical.GaussianLoss(float(np.sqrt(2 * numerical.compose_zcdp(gaussian)))), 1))
    return _counted(measured)


def _counted(pairs):
    """Return each distinct variable once, with the sum of its counts."""
    counts: dict[numerical.PrivacyLossVariable, int] = {}
    for variable, count in pairs:
        counts[variable] = counts.get(variable, 0) + count
    return list(counts.items())


def _least_epsilon(measured, ranges, delta, rho, eps_error, resolution) -> EpsilonBounds:
    """Return the bounds that "bounded range" gives, by sweeps over curves on the lattice x = mesh * (-n, ..., n)."""
    delta_error = delta / 1000
    points, mass = np.zeros(1), np.ones(1)  # the privacy loss without measurements
    if measured:
        distribution = numerical.prv_distribution(measured, eps_error=eps_error, delta_error=delta_error)
        points, mass = distribution.domain.ts().astype(float), np.maximum(distribution.pmf, 0)
    else:
        eps_error = delta_error = 0.0
    epsilons, counts = np.array(ranges).T
    # The mesh is as fine as the selections' epsilons, but not finer than the measurements warrant.
    measured_rho = max(rho - counts @ bounded_range_zcdp(epsilons), 0)
    mesh = np.sqrt(max(counts @ epsilons**2, measured_rho / 2) / counts.sum()) / resolution
    strides = np.maximum(epsilons / mesh // resolution, 1).astype(int)
    widest = np.ceil(epsilons / mesh - 1e-9).astype(int) + strides  # a little too wide: see _sweeps
    narrowest = np.floor(epsilons / mesh + 1e-9).astype(int)

    # A mass below delta / 1000 lies beyond the reach (by zCDP), and no loss exceeds the sum of its parts.
    reach = conversions.zcdp_to_dp(rho + counts @ bounded_range_zcdp(widest * mesh), delta / 1000)
    n = int(np.ceil(reach / mesh)) + 1 if measured else int(min(np.ceil(reach / mesh) + 1, counts @ widest))
    x = mesh * np.arange(-n, n + 1)
    steps = list(zip(counts.astype(int), strides, widest, narrowest))[::-1]  # the last step is the innermost

    curve = np.maximum(-np.expm1(x), 0)
    for count, stride, width, _ in steps:
        curve = _sweeps(curve, x, mesh, count, stride, width, _above)
    upper = _crossing(
        lambda epsilon: mass @ _chords(curve, x, epsilon - eps_error - points) + delta_error - delta,
        x[-1] + eps_error,
    )
    curve = np.maximum(_hockey_stick(points, mass, x + eps_error) - delta_error, 0)
    for count, stride, _, width in steps:
        curve = _sweeps(curve, x, mesh, count, stride, width, _below)
    lower = min(max(x[curve > delta], default=0.0), upper)
    return EpsilonBounds(*map(float, (max(lower, 0), (max(lower, 0) + upper) / 2, upper)))


def _sweeps(curve, x, mesh, count, stride, width, beyond):
    """Return the curve before `count` selections, from the `curve` after them. A selection has the loss mesh * top or
    mesh * (top - width), where the tops are `stride` apart. A mechanism costs at most as much as another if the
    interval of its losses lies in the other's interval. If width >= epsilon / mesh + stride, the interval for each t
    lies in the interval for some top, so the maximum over the tops bounds the maximum over t.
    """
    tops = np.arange(stride, width + 1, stride)
    of_top = np.expm1(mesh * (tops - width)) / np.expm1(-mesh * width)
    ahead, part, other = np.empty_like(curve), np.empty_like(curve), np.empty_like(curve)
    for _ in range(count):
        outside = beyond(curve, x, mesh * np.arange(1, width + 1))
        padded = np.concatenate([outside[0][::-1], curve, outside[1]])
        ahead[:] = curve  # a selection independent of the data
        for top, probability in zip(tops, of_top):
            np.multiply(padded[width - top :][: len(curve)], probability, out=part)
            np.multiply(padded[2 * width - top :][: len(curve)], 1 - probability, out=other)
            np.maximum(ahead, np.add(part, other, out=part), out=ahead)
        curve, ahead = ahead, curve
    return curve


# A curve is decreasing, convex in e^x, 1 where e^x is 0, and at least 1 - e^x.
def _above(curve, x, distance):
    """Return upper bounds on a curve at a `distance` below and above the lattice x."""
    return 1 - np.exp(-distance) * (1 - curve[0]), np.full(distance.shape, curve[-1])


def _below(curve, x, distance):
    """Return lower bounds on a curve at a `distance` below and above the lattice x."""
    return np.maximum(-np.expm1(x[0] - distance), curve[0]), np.zeros(distance.shape)


def _chords(curve, x, at):
    """Return upper bounds on a curve at points `at`: chords in e^x, from 1 at e^x = 0, and a constant above max(x)."""
    return np.interp(np.exp(np.minimum(at, x[-1])), np.append(0, np.exp(x)), np.append(1, curve))


def _hockey_stick(points, mass, at):
    """Return E[(1 - e^(at - L))+] for a loss L with `mass` at `points`, which increase."""
    tail = np.append(np.cumsum(mass[::-1])[::-1], 0)
    tilted = np.append(np.cumsum((mass * np.exp(-points))[::-1])[::-1], 0)
    first = np.searchsorted(points, at, side="right")
    return tail[first] - np.exp(at) * tilted[first]


def _crossing(function, high) -> float:
    """Return the smallest argument in [0, high] where the decreasing `function` is not positive, rounded up."""
    low = 0.0
    if function(low) <= 0:
        return low
    if function(high) > 0:
        raise ArithmeticError(
            f"no epsilon up to {high:g} was found to hold: use a finer resolution or a smaller eps_error"
        )
    root, step = scipy.optimize.brentq(function, low, high, xtol=1e-10 * high), 1e-9 * high
    while function(root) > 0:
        root += step
    return root
