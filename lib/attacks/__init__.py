"""What can be found out: audits of mechanisms and of local protocols' reports, membership inference."""

from .audit import (
    Audit,
    audit_mechanism,
    audit_oracle,
    clopper_pearson,
    epsilon_lower_bound,
    epsilon_lower_bound_of_categories,
    most_provable,
)
from .exact_law import ExactLoss, NotEnumerable, exact_loss, report_law
from .one_run import one_run
from .report_audit import Examination, ReportAudit, audit_reports, examine, uneven_draws
