"""Compute the privacy cost of a release by divergences, conversions, exact curves and composition.

`gaussian_epsilon` gives the cost of Gaussian noise, and `gaussian_sigma` gives the noise that a guarantee needs.
`Accountant` gives the joint cost of several mechanisms, and `sampled_gaussian.rdp_epsilon` gives the cost of DP-SGD by
Rényi DP. `zcdp_to_dp` and `rdp_to_dp` convert a cost to (epsilon, delta).
"""

from .bounded_range import compose_schedule  # epsilon of a schedule of AIM, composed numerically
from .certified import certified_zcdp  # a rho that is proved to imply (epsilon, delta)
from .composition import Accountant  # the bounds on what several mechanisms cost together
from .conversions import (
    bounded_range_zcdp,  # rho of epsilon-bounded range
    compose_rdp,  # the sum of Rényi budgets at each order
    dp_to_zcdp,  # the largest rho that gives (epsilon, delta)
    pure_dp_to_zcdp,  # rho of epsilon-DP
    rdp_to_delta,  # delta of a Rényi curve at epsilon
    rdp_to_dp,  # epsilon of a Rényi curve at delta
    zcdp_to_dp,  # epsilon of rho at delta
)
from .divergence import (
    renyi,  # the Rényi divergence of two laws, by numerical integration
    renyi_discrete,  # the Rényi divergence of two laws on a finite set
    renyi_gaussian,  # the Rényi divergence of two multivariate Gaussian laws
)
from .gaussian_curve import (
    gaussian_delta,  # the exact delta of the Gaussian mechanism at epsilon
    gaussian_epsilon,  # the exact epsilon of the Gaussian mechanism at delta
    gaussian_sigma,  # the smallest sigma of the Gaussian mechanism for (epsilon, delta)
    gaussian_zcdp,  # rho of the Gaussian mechanism
)
from .hockey_stick import (
    hockey_stick_gaussian,  # the hockey-stick divergence of two multivariate Gaussian laws
)
from .numerical import (
    EpsilonBounds,  # lower bound, estimate and upper bound of epsilon
    PrivacyLossVariable,  # the law of a mechanism's privacy loss
    compose_zcdp,  # rho of several mechanisms: the sum
    prv_compose,  # epsilon of composed privacy losses at delta
    prv_distribution,  # the law of composed privacy losses on a grid
)
from .privacy_loss import DiscreteLoss  # a privacy loss with finitely many values
