"""What can be found out: audits of mechanisms, membership inference."""

from .audit import (
    Audit,
    audit_mechanism,
    audit_oracle,
    clopper_pearson,
    epsilon_lower_bound,
    epsilon_lower_bound_of_categories,
    most_provable,
)
