"""Make synthetic data from categorical records: Private-PGM, AIM, PrivBayes (`miura2025`) and staged residuals."""

from .adaptive_iterative import aim  # AIM: measures the marginals that its model gets most wrong
from .bayesian_network import privbayes  # PrivBayes: a Bayesian network, then noisy conditionals
from .entropic_mirror_descent import mirror_descent  # the fit of a graphical model by mirror descent
from .graphical_model import (
    GraphicalModel,  # a distribution with potentials on cliques
    Measurement,  # a noisy marginal
)
from .plan import (
    OURS,  # the default plan of `aim`
    PRINTED,  # the plan of the paper, as printed
    Plan,  # what AIM measures first, how it chooses, and when it lowers the noise
)
from .record_moving import moved  # synthetic records, moved until their pair counts meet targets
from .residual_stages import staged_residuals  # residuals of attributes, pairs and triples, in planned stages
from .table import (
    Domain,  # attributes and how many values each has
    Table,  # records of a domain, as codes
)
from .utility import (
    marginal_error,  # the mean distance between two tables over all sets of alpha attributes
    mutual_information,  # the mutual information of all pairs of attributes
    mutual_information_error,  # the mean error of a synthetic table's mutual information
    workload_error,  # the mean distance over a workload of marginals
)
