"""Neural networks trained or published with privacy (`sei2017`), and DP-SGD."""

from .network import Network
from .private_networks import PrivacyStatement, PrivateNetwork, anonymized_learning, learning_first, release
