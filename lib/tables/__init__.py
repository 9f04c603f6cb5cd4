"""Tables of categorical records, and synthetic ones: Private-PGM, AIM, PrivBayes (`miura2025`)."""

from .adaptive_iterative import aim
from .bayesian_network import privbayes
from .counting import Counter
from .entropic_mirror_descent import mirror_descent
from .graphical_model import GraphicalModel, Measurement
from .table import Domain, Table
from .uncertainty import count_intervals, marginal_bounds
