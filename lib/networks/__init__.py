"""Train or publish neural networks with privacy, by the methods of `sei2017` and by DP-SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..numerics.extras import on_demand

if TYPE_CHECKING:  # the extra `networks` installs numba, so each name is imported at its first use
    from .intervals import change_bounds  # bounds of every parameter's change, for any record
    from .network import Network  # a fully connected network
    from .private_networks import (
        PrivacyStatement,  # what a release guarantees, and under which assumptions
        PrivateNetwork,  # a released network with its statement
        anonymized_learning,  # noise on every step of training
        learning_first,  # training without noise, then a release
        release,  # noise on the parameters of a trained network
    )

__getattr__, __dir__ = on_demand(__name__, __file__)
