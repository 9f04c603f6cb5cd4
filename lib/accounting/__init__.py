"""What privacy costs: divergences, conversions, exact curves, composition."""

from .bounded_range import compose_schedule
from .certified import certified_zcdp
from .conversions import (
    CONVERSIONS,
    ApproximateDP,
    bounded_range_zcdp,
    compose_rdp,
    dp_to_zcdp,
    pure_dp_to_zcdp,
    rdp_to_delta,
    rdp_to_dp,
    zcdp_to_dp,
)
from .divergence import renyi, renyi_discrete, renyi_gaussian
from .gaussian_curve import gaussian_delta, gaussian_epsilon, gaussian_sigma, gaussian_zcdp
from .hockey_stick import HockeyStick, hockey_stick_gaussian
from .numerical import (
    EpsilonBounds,
    PrivacyLossVariable,
    bounded_range_prv,
    compose_zcdp,
    gaussian_prv,
    laplace_prv,
    prv_compose,
    prv_distribution,
    pure_dp_prv,
)
from .odometer import two_steps
from .privacy_loss import DiscreteLoss
