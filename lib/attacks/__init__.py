"""Attack what programs release: audit mechanisms and local protocols' reports, and infer membership."""

from .audit import (
    Audit,  # the result of a statistical audit, with its counts
    audit_mechanism,  # a lower bound of epsilon, from outputs on two neighbours
    audit_oracle,  # a lower bound of epsilon, from reports of a frequency oracle
    clopper_pearson,  # exact confidence limits of a probability
    epsilon_lower_bound,  # a lower bound of epsilon, from scores on two neighbours
    epsilon_lower_bound_of_categories,  # a lower bound of epsilon, from outputs that are categories
    most_provable,  # the largest epsilon that a number of trials can prove
)
from .exact_law import exact_loss  # the largest privacy loss of a frequency oracle, by enumeration of its draws
from .membership_inference import (
    Attack,  # how well scores tell members from other records
    advantage_bound,  # the largest membership advantage under (epsilon, delta)
    auc_bound,  # the largest area under the ROC curve under (epsilon, delta)
    play,  # the membership game: attacks on one model
    posterior_bound,  # the largest posterior probability of membership under epsilon
    tpr_bound,  # the largest true positive rate at a false positive rate
)
from .report_audit import (
    audit_reports,  # a lower bound of epsilon, from features that are learned from raw reports
    examine,  # every audit of a frequency oracle
)
