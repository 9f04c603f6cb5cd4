"""A small, valid call of every public function of `lib`, in which `test_fuzz` corrupts one argument at a time.

`call` names the function and its arguments; `RNG` stands for a generator made anew for each call. `EXEMPT` lists the
functions that are not called, with the reason. A function that is in neither, or no longer exists, fails a test.

spare : parameters for the size of the result, so that a huge value asks for more than any machine has
allows : kinds of hostile arguments that are valid here
fixed : parameters that are not corrupted: names for messages, and arguments that are only passed on
"""

import importlib
import pkgutil
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pandas as pd

import lib

RNG = object()


def _modules() -> dict:
    """Return every module of the package by its last name, which is unique; a subpackage's `__init__` does not count."""
    found = {}
    for info in pkgutil.walk_packages(lib.__path__, "lib."):
        leaf = info.name.rpartition(".")[2]
        if not info.ispkg:
            assert leaf not in found, f"two modules are called {leaf}"
            found[leaf] = importlib.import_module(info.name)
    return found


MODULES = _modules()

# A name, or all that starts with a name that ends in a dot, and why it is not fuzzed.
KERNEL = "compiled inner loop, called with arrays that were checked"
INNER = "arithmetic inside other functions, which check what they are given"
EXEMPT = {
    "divergence.beyond_line": INNER,
    "numerical.BoundedRangeLoss.": INNER,
    "protocol.representable": INNER,
    "numerical.GaussianLoss.": INNER,
    "numerical.LaplaceLoss.": INNER,
    "numerical.PrivacyLossVariable.": INNER,
    "budget_schedule.ExactSchedule": "takes fractions that `aim` has made",
    "budget_schedule.ExactSchedule.multiplier_of": "takes fractions that `aim` has made",
    "bit_sets.": INNER,
    "certified.log_between": INNER,
    "certified_gaussian.delta_above": INNER,
    "certified.root_down": INNER,
    "certified.root_up": INNER,
    "certified.round_down": INNER,
    "checks.Interval.": "its texts stand in the code, its values are floats that `real` has made",
    "contraction.": INNER,
    "counting.Counts": "counts that `aim` asks for",
    "counting.Counted": "what `Table` and `Counter` have",
    "counting.Counted.": "what `Table` and `Counter` have",
    "datasets.": "reads and fetches files",
    "parts.": "reads files",
    "table.checked_codes": "checks the columns of tables and batches",
    "density_ratio.Features": INNER,
    "density_ratio.duality_gap": INNER,
    "files.": "writes files",
    "ending.": "of the command",
    "escapes.": "takes any text",
    "extras.": "around imports",
    "main.": "the command, of which a test of its own gives each word a wrong value",
    "answers.": "of the command",
    "costs.": "of the command",
    "verdicts.": "of the command",
    "compiled.": "a decorator",
    "double_double.": INNER,
    "dp_sgd.clip_errors": KERNEL,
    "marginal_effects.": INNER,
    "elementwise.": INNER,
    "private_draws.": "takes counts, fractions and marginals that `aim` has made",
    "residual_queries.RoundedDraws": "takes counts and fractions that `exact_answer` has made",
    "residual_queries.RoundedDraws.noisy": "takes counts and fractions that `exact_answer` has made",
    "in_order.total": INNER,
    "encodings.": "the columns of two data sets, read from files",
    "graphical_model.GraphicalModel.counts": "`marginal` for positions that were checked",
    "graphical_model.counts_of_sets": "`marginal` for positions that were checked",
    "hadamard_response.HadamardResponse.probabilities": INNER,
    "hadamard_response.odd": INNER,
    "hadamard_response.walsh_hadamard": INNER,
    "hierarchies.Hierarchy": "made by `categories`, `intervals` and `load`, which check",
    "hierarchies.load": "reads a file",
    "histogram_encoding.THE.probabilities": INNER,
    "intervals.fill_change_bounds": KERNEL,
    "iterative_bayes.ExpectationMaximisation": INNER,
    "iterative_bayes.ExpectationMaximisation.": INNER,
    "junction_trees.": INNER,
    "lbfgs.": INNER,
    "local_hashing.LocalHashing.probabilities": INNER,
    "local_hashing.bucket": INNER,
    "local_hashing.bucket_start": INNER,
    "local_hashing.scramble": INNER,
    "protocol.GRR.probabilities": INNER,
    "protocol.column_sums": INNER,
    "protocol.pure_variance": INNER,
    "log_space.": INNER,
    "marginal_oracle.": INNER,
    "mixing_proportions.": INNER,
    "views.": KERNEL,
    "backpropagation.": KERNEL,
    "network.count": INNER,
    "network.layers": INNER,
    "network.refuse_divergence": INNER,
    "network.workspace": "memory for the compiled loops",
    "kernel_matrix.": INNER,
    "privacy_loss.DiscreteLoss.cdf": INNER,
    "privacy_loss.DiscreteLoss.masses": INNER,
    "privacy_loss.DiscreteLoss.truncated_mean": INNER,
    "checks.plain": INNER,
    "private_networks.fill_laplace": KERNEL,
    "private_regression.minimiser": INNER,
    "reconciliation.": INNER,
    "residual_answers.": "noisy residuals that `staged_residuals` has made",
    "residual_plan.added": "precisions that `staged_residuals` has made",
    "residual_plan.for_norms": "pairs that `staged_residuals` has chosen",
    "residual_plan.shared": "precisions that `staged_residuals` has made",
    "residual_queries.rebuilt": INNER,
    "residual_queries.longest_change": INNER,
    "residual_queries.squared_length": INNER,
    "record_sampling.": INNER,
    "account.Account": "names a file",
    "account.Account.": "reads and writes files",
    "account.in_decimals": INNER,
    "account.fingerprint": "takes what `run` returned",
    "synthesizer.check_earlier": "takes what `run` returned",
    "synthesizer.errors": "takes what `run` returned",
    "synthesizer.measured": "takes what `run` returned",
    "synthesizer.unmeasured": "takes what `errors` returned",
    "synthesizer.treated": "takes what `run` returned",
    "synthesizer.doubts": "takes what `treated` returned",
    "synthesizer.write": "writes files",
    "synthesizer.Release.of": "takes what `run` returned",
    "synthesizer.intervals": "takes what `run` returned",
    "synthesizer.save": "writes a file",
    "synthesizer.load": "reads a file",
    "synthesizer.write_csv": "writes a file",
    "estimator.": "takes tables, and writes and reads files; its parameters are those of `synthesizer.run`",
    "conditions.": "takes a text and a schema, or what `parse` returned",
    "restrictions.": "takes what `run` and `conditions.parse` returned",
    "report.": "takes what `run` returned",
    "queries.": "takes what `run` returned, and a text",
    "interpolation.": INNER,
    "moments.": INNER,
    "residual_bounds.": INNER,
    "staged.TargetedModel.": "as for `GraphicalModel`, whose methods it has",
    "staged.packed": "called by `save`",
    "staged.unpacked": "called by `load`",
    "staged.run": "called by `synthesizer.run`",
    "synthesizer.evidence": "takes what `run` returned",
    "uncertainty.measured": INNER,
    "uncertainty.stages": INNER,
    "uncertainty.PassedOver.": INNER,
    "uncertainty.known": INNER,
    "uncertainty.mean_ends": INNER,
    "uncertainty.sum_interval": INNER,
    "sampled_gaussian.SampledGaussian.": INNER,
    "schema.": "reads a text or a file; what an attribute is asked comes from `sources`, which reads files",
    "simplex.": INNER,
    "sources.": "reads files and databases",
    "subset_selection.SubsetSelection.probabilities": INNER,
    "unary_encoding.OUE.probabilities": INNER,
    "unary_encoding.SUE.probabilities": INNER,
    "utility.common_domain": INNER,
}


@dataclass(frozen=True)
class Call:
    """A valid call `function(**arguments)`."""

    name: str
    function: object
    arguments: dict
    spare: tuple = ()
    allows: tuple = ()
    fixed: tuple = ()

    def __call__(self, **changed):
        given = {**self.arguments, **changed}
        return self.function(
            **{name: np.random.default_rng(1) if value is RNG else value for name, value in given.items()}
        )


def _resolve(name, on=None):
    module, *path = name.split(".")
    found = MODULES[module] if on is None else on
    for part in path if on is None else path[-1:]:
        found = getattr(found, part)
    return found


def call(name, /, *, on=None, spare=(), allows=(), fixed=(), function=None, **arguments) -> Call:
    """Return a valid call of what `name` says, "module.function", "module.Class" or "module.Class.method" (of the object `on`)."""
    return Call(
        name, function or _resolve(name, on), arguments, tuple(spare), (*allows, *SLOW.get(name, ())), tuple(fixed)
    )


ILL_CONDITIONED = ("2^53 entry",)  # of which scikit-learn warns
UNCONVERGED = (
    "1",
    "2",
    "digits",
    "true",
    "5e-324",
    "1e-300",
)  # iterations or a tolerance, of which the estimators warn
SAME = ("digits", "true")  # as 1, which takes long enough once
# Right, but a search of minutes.
SLOW = {"dp_sgd.Plan.calibrated": ("1/2",), "sampled_gaussian.noise_multiplier": ("1/2",)}
ORDERS = np.array([1.5, 2.0, 8.0])
COUNTS = np.array([3, 0, 5, 2])
DATA = np.array([[-0.5, 0.25], [0.75, -0.25], [0.5, 0.5], [-0.75, -0.5], [0.25, -0.75]])
LABELS = np.array([0, 1, 1, 0, 1])


def privacy():
    """Yield calls of divergences, accounting, mechanisms, composition and sensitivities."""
    from lib.accounting import bounded_range, conversions, divergence, privacy_loss
    from lib.mechanisms import additive_noise, randomized_response, selection

    yield call("checks.real", name="x", value=0.5, interval="(0, 1)", fixed=("name", "interval"))
    yield call("checks.integer", name="x", value=3, interval="[0, 10]", fixed=("name", "interval"))
    yield call("checks.features", value=np.array([[0.5]]), interval="(0, 1)", fixed=("interval",))
    yield call("checks.labels", value=np.array([0, 1]), n=2, classes=2, fixed=("n", "classes"))
    yield call("checks.one_of", name="x", value="a", allowed=("a", "b"), fixed=("name", "interval"))
    yield call("checks.number", name="x", value=0.5, interval="(0, 1)", fixed=("name", "interval"))
    yield call("checks.whole", name="x", value=3, interval="[0, 10]", fixed=("name", "interval"))

    yield call("divergence.log1pmx", x=0.5, allows=("complex", "complex array"))
    yield call("divergence.expm1mx", x=0.5)
    yield call("divergence.psi", t=0.5, alpha=2.0)
    yield call("divergence.kl_term", t=0.5)
    moments = {
        "mean1": np.array([0.0, 1.0]),
        "cov1": np.eye(2),
        "mean2": np.array([0.5, 0.0]),
        "cov2": np.diag([1.5, 1.25]),
    }
    yield call("divergence.gaussian_pair", **moments)
    yield call("divergence.renyi_gaussian", alpha=2.0, **moments)
    yield call("divergence.renyi_discrete", p=np.array([0.5, 0.25, 0.25]), q=np.array([0.25, 0.25, 0.5]), alpha=2.0)
    yield call(
        "divergence.renyi",
        log_p=_log_normal(0.0),
        log_q=_log_normal(0.5),
        alpha=2.0,
        support=(-np.inf, np.inf),
        points=(0.0,),
        allows=("1e308 entry", "all 1e308"),
    )
    yield call("hockey_stick.hockey_stick_gaussian", epsilon=0.5, count=3, tolerance=1e-9, **moments)
    pair = divergence.gaussian_pair(**moments)
    yield call("hockey_stick.hockey_stick_pair", pair=pair, epsilon=0.5, count=3, tolerance=1e-9, fixed=("pair",))
    yield call("divergence.GaussianPair.swapped", on=pair)

    yield call("conversions.compose_rdp", epsilons=[0.5, 0.25], counts=[2, 1], allows=("ragged",))
    yield call("conversions.rdp_to_dp", alpha=ORDERS, epsilon=0.1 * ORDERS, delta=1e-5, conversion="canonne2020")
    yield call(
        "conversions.rdp_to_delta", alpha=ORDERS, epsilon_rdp=0.1 * ORDERS, epsilon=1.0, conversion="mironov2017"
    )
    yield call("certified.certified_zcdp", epsilon=1.0, delta=1e-5)
    yield call("certified_gaussian.certified_mu", epsilon=1.0, delta=1e-5)
    yield call("conversions.pure_dp_to_zcdp", epsilon=1.0)
    yield call("gaussian_curve.gaussian_zcdp", sigma=2.0, sensitivity=1.0)
    for conversion in conversions.CONVERSIONS:
        yield call("conversions.zcdp_to_dp", rho=0.5, delta=1e-5, conversion=conversion)
        yield call("conversions.dp_to_zcdp", epsilon=1.0, delta=1e-5, conversion=conversion)
    yield call("gaussian_curve.gaussian_delta", sigma=2.0, epsilon=1.0, sensitivity=1.0)
    yield call("gaussian_curve.gaussian_epsilon", sigma=2.0, delta=1e-5, sensitivity=1.0)
    for calibration in ("balle2018", "zcdp"):
        yield call("gaussian_curve.gaussian_sigma", epsilon=1.0, delta=1e-5, sensitivity=1.0, calibration=calibration)
    mechanisms = [(additive_noise.Gaussian(2.0), 2), (additive_noise.Laplace(2.0), 1)]
    yield call("numerical.prv_compose", mechanisms=mechanisms, delta=1e-5, eps_error=0.1, spare=("eps_error",))
    yield call(
        "numerical.prv_distribution", mechanisms=mechanisms, eps_error=0.1, delta_error=1e-8, spare=("eps_error",)
    )

    for cls in ("Laplace", "Gaussian", "DiscreteLaplace", "DiscreteGaussian"):
        size = "scale" if "Laplace" in cls else "sigma"
        yield call(f"additive_noise.{cls}", sensitivity=1, **{size: 2.0})
        made = getattr(additive_noise, cls)(2.0, 1)
        yield call(f"additive_noise.{cls}.release", on=made, value=np.array([1, 2, 3]), rng=RNG)
        yield from _curves("additive_noise", cls, made)
    yield call("additive_noise.Laplace.calibrated", epsilon=1.0, sensitivity=1.0)
    yield call("additive_noise.DiscreteLaplace.calibrated", epsilon=1.0, sensitivity=1)
    yield call("additive_noise.Gaussian.calibrated", epsilon=0.5, delta=1e-5, sensitivity=1.0)
    yield call("additive_noise.DiscreteGaussian.calibrated", epsilon=1.0, delta=1e-5, sensitivity=1)
    yield call("randomized_response.RandomizedResponse", epsilon=1.0, k=3)
    response = randomized_response.RandomizedResponse(1.0, 3)
    yield call("randomized_response.RandomizedResponse.release", on=response, value=np.array([0, 1, 2]), rng=RNG)
    yield from _curves("guarantees", "FromLoss", response)
    yield call("selection.exact_exponential", scores=np.array([1, 2, 0]), epsilon=1.0, sensitivity=1, rng=RNG)
    yield call("selection.exponential", scores=np.array([1.0, 2.0, 0.0]), epsilon=1.0, sensitivity=1.0, rng=RNG)
    for cls in ("Exponential", "PermuteAndFlip"):
        yield call(f"selection.{cls}", epsilon=1.0, sensitivity=1.0)
        made = getattr(selection, cls)(1.0, 1.0)
        yield call(f"selection.{cls}.probabilities", on=made, scores=np.array([1.0, 2.0, 0.0]))
        yield call(f"selection.{cls}.release", on=made, value=np.array([1.0, 2.0, 0.0]), rng=RNG)
        yield from _curves("selection", cls, made)

    yield call("privacy_loss.randomized_response", epsilon=1.0, k=3)
    yield call("privacy_loss.discrete_laplace", scale=2.0, shift=1, spare=("scale", "shift"))
    yield call("privacy_loss.discrete_gaussian", sigma=2.0, shift=1, spare=("sigma", "shift"))
    yield call("privacy_loss.repeated_response", epsilon=1.0, count=3, spare=("count",))
    loss = privacy_loss.randomized_response(1.0, 3)
    yield call("privacy_loss.DiscreteLoss.delta", on=loss, epsilon=0.5)
    yield call("privacy_loss.DiscreteLoss.epsilon", on=loss, delta=1e-5)
    yield call("privacy_loss.DiscreteLoss.renyi", on=loss, alpha=2.0)
    yield call("privacy_loss.DiscreteLoss.rdp", on=loss, alpha=2.0)

    yield call("composition.basic", epsilons=[0.5, 1.0], deltas=[1e-6, 1e-5])
    yield call("composition.parallel", epsilons=[0.5, 1.0], deltas=[1e-6, 1e-5], neighbours="bounded")
    yield call("composition.advanced", epsilon=0.1, count=10, slack=1e-5, delta=1e-9)
    yield call("composition.optimal", epsilon=0.1, count=10, total_delta=1e-5, delta=1e-9)
    yield call("composition.gaussian", sigmas=[2.0, 3.0], delta=1e-5, sensitivities=[1.0, 1.0])
    both = [(additive_noise.Gaussian(4.0), 5), (additive_noise.Laplace(4.0), 2)]
    yield call("composition.Accountant", mechanisms=both, delta=1e-5)

    yield call("conversions.bounded_range_zcdp", epsilon=0.5)
    mechanisms = [(additive_noise.Gaussian(3.0), 1), (selection.Exponential(0.5), 1)]
    yield call("numerical.compose_zcdp", mechanisms=mechanisms)
    for treatment in bounded_range.TREATMENTS:
        yield call("bounded_range.compose_schedule", mechanisms=mechanisms, delta=1e-5, exponential=treatment, eps_error=0.1, resolution=4,
                   spare=("resolution", "eps_error"))  # fmt: skip

    yield call("sensitivity.of_sum", low=0.0, high=2.0, neighbours="bounded")
    yield call("sensitivity.of_histogram", norm=2, neighbours="bounded")
    yield call("sensitivity.of_mean", low=0.0, high=2.0, n=10, neighbours="unbounded")
    yield call(
        "sensitivity.brute_force",
        query=sum,
        domain=(0.0, 1.0),
        n=3,
        neighbours="unbounded",
        norm=1,
        spare=("n",),
        allows=("1e308 entry", "all 1e308"),
    )


def _curves(module, cls, mechanism):
    """Yield calls for the guarantee of a mechanism; where a class inherits a method, it is fuzzed under the name of the first."""
    for method, argument in (("delta", 0.5), ("epsilon_at", 1e-5), ("rdp", 2.0)):
        owner = next(base for base in type(mechanism).__mro__ if method in vars(base))
        name = f"{owner.__module__.rpartition('.')[2]}.{owner.__name__}.{method}"
        yield call(
            name, on=mechanism, **{{"delta": "epsilon", "epsilon_at": "delta", "rdp": "alpha"}[method]: argument}
        )


def _log_normal(mean):
    return lambda x: -((x - mean) ** 2) / 2 - np.log(2 * np.pi) / 2


def report_audits(protocol):
    """Yield calls for reports of local protocols: their law, and audits that learn from them."""
    from lib.attacks import exact_law, report_audit

    oracle, rng = protocol.GRR(3, 1.0), np.random.default_rng(1)
    yield call("exact_law.report_law", oracle=oracle, value=1, beside=[0, 2], seeds=(5, 7))
    yield call("exact_law.exact_loss", oracle=oracle, beside=[0], seeds=(5, 7))
    yield call("exact_law.ExactLoss.refutes", on=exact_law.exact_loss(oracle), epsilon=1.0)
    yield call(
        "report_audit.audit_reports", oracle=oracle, trials=50, rng=RNG, confidence=0.9, grid=0.5, spare=("trials",)
    )
    yield call("report_audit.uneven_draws", oracle=oracle, trials=3, rng=RNG, spare=("trials",))
    yield call("report_audit.features", reports=LABELS, supports=np.eye(2)[LABELS], learn_from=2)
    yield call(
        "report_audit.examine",
        make=protocol.GRR,
        epsilon=1.0,
        rng=RNG,
        trials=50,
        confidence=0.9,
        grid=0.5,
        spare=("trials",),
    )
    found = report_audit.examine(protocol.GRR, 1.0, trials=50, rng=rng)
    yield call("report_audit.Examination.caught_by", on=found, epsilon=1.0)


def noise():
    """Yield calls of samplers, the floating-point attack and audits."""
    from lib.attacks import audit
    from lib.local import protocol
    from lib.mechanisms import additive_noise

    yield call("noise.gaussian", shape=(3,), sigma=1.0, rng=RNG, spare=("shape",))
    yield call("noise.laplace", shape=(3,), scale=1.0, rng=RNG, spare=("shape",))
    yield call("noise.system_rng")
    yield call("noise.generator", rng=RNG)
    yield call(
        "noise.SystemRandomness.bytes",
        on=importlib.import_module("lib.mechanisms.noise").SystemRandomness(),
        length=3,
        spare=("length",),
    )
    yield call("exact_noise.bernoulli", num=np.array([1, 2]), den=3, rng=RNG)
    yield call("exact_noise.bernoulli_exp", num=np.array([1, 2]), den=3, rng=RNG, spare=("num",))
    yield call("exact_noise.uniform_integers", shape=(3,), bound=5, rng=RNG, spare=("shape",))
    yield call("exact_noise.discrete_laplace", shape=(3,), scale=1.5, rng=RNG, spare=("shape",))
    yield call("exact_noise.discrete_gaussian", shape=(3,), sigma=1.5, rng=RNG, spare=("shape",))
    yield call("rounded_noise.rounded_gaussian", shape=(3,), sigma=1.5, rng=RNG, spare=("shape",))
    yield call("exact_noise.fraction", name="x", value=0.5, fixed=("name", "interval"))
    yield call("floating_point.textbook_laplace", value=np.array([1.0, 2.0]), scale=1.0, rng=RNG, bits=53)
    yield call(
        "floating_point.reachable", output=np.array([1.5, 2.25]), value=1.0, scale=1.0, sampler="textbook", bits=53
    )
    yield call(
        "floating_point.attack",
        first=0.0,
        second=1.0,
        scale=1.0,
        trials=4,
        rng=RNG,
        sampler="numpy",
        bits=53,
        spare=("trials",),
    )
    yield call(
        "floating_point.lattice_laplace",
        value=np.array([1.0, 2.0]),
        epsilon=1.0,
        sensitivity=1.0,
        rng=RNG,
        granularity=2.0**-20,
    )

    yield call("audit.clopper_pearson", successes=3, trials=10, confidence=0.95)
    scores = np.array([0.1, 0.4, 0.9, 0.3, 0.7, 0.2])
    yield call("audit.epsilon_lower_bound", first=scores + 1, second=scores, delta=0.01, confidence=0.9)
    yield call("audit.epsilon_lower_bound_of_categories", first=LABELS, second=1 - LABELS, delta=0.01, confidence=0.9)
    yield call("audit.most_provable", trials=100, confidence=0.95, spare=("trials",))
    yield call(
        "audit.audit_mechanism",
        mechanism=additive_noise.Laplace(1.0),
        trials=50,
        rng=RNG,
        delta=0.0,
        confidence=0.9,
        spare=("trials",),
    )
    yield call("audit.audit_oracle", oracle=protocol.GRR(3, 1.0), trials=50, rng=RNG, confidence=0.9, spare=("trials",))
    yield from report_audits(protocol)
    yield call("audit.Audit.refutes", on=audit.epsilon_lower_bound(scores + 1, scores), epsilon=1.0)

    from lib.attacks.membership_inference import Attack

    members = np.array([True, False] * 4)
    yield call("membership_inference.Attack", scores=np.arange(8.0), members=members)
    yield call("membership_inference.Attack.tpr", on=Attack(np.arange(8.0), members), fpr=0.25)
    yield call(
        "membership_inference.Attack.advantage", on=Attack(np.arange(8.0) % 3, np.arange(8) < 4), rng=RNG, level=0.9
    )
    yield call("membership_inference.tpr_bound", fpr=0.1, epsilon=1.0, delta=0.01)
    yield call("membership_inference.advantage_bound", epsilon=1.0, delta=0.01)
    yield call("membership_inference.posterior_bound", prior=0.1, epsilon=1.0)
    yield call("membership_inference.auc_bound", epsilon=1.0, delta=0.01)
    used = np.array([[True, False, True], [False, True, False], [True, True, False], [False, False, True]])
    shadows = np.array([[0.6, 0.4, 0.7], [0.5, 0.6, 0.3], [0.8, 0.7, 0.4], [0.4, 0.3, 0.6]])
    yield call(
        "membership_inference.likelihood_ratio_scores", target=np.array([0.9, 0.5, 0.6]), shadows=shadows, used=used
    )
    model = _Coin()
    yield call("membership_inference.confidence", model=model, features=DATA, labels=LABELS, fixed=("features",))
    yield call("membership_inference.play", train=lambda features, labels, rng: _Coin(rng.uniform(0.2, 0.8)), features=np.tile(DATA, (4, 1)),
               labels=np.tile(LABELS, 4), shadows=8, rng=RNG, spare=("shadows",), fixed=("features",))  # fmt: skip


class _Coin:
    """A model that thinks of every record alike."""

    def __init__(self, p=0.7):
        self.p = p

    def predict_proba(self, features):
        return np.tile([1 - self.p, self.p], (len(features), 1))


def local():
    """Yield calls of frequency oracles and their post-processing."""
    from lib import local as oracles

    values = np.array([0, 1, 2, 3, 3, 2])
    more = {"SubsetSelection": {"d": 2}, "HadamardResponse": {"blocks": 2}, "THE": {"theta": 0.75}}
    seen = set()
    for name in ("GRR", "SUE", "OUE", "SHE", "THE", "BLH", "OLH", "SubsetSelection", "HadamardResponse"):
        cls = getattr(oracles, name)
        yield call(f"{cls.__module__.rpartition('.')[2]}.{name}", k=4, epsilon=1.0, **more.get(name, {}))
        oracle = cls(4, 1.0)
        reports = oracle.perturb(values, rng=np.random.default_rng(0))
        support = oracle.aggregate(reports)
        methods = {"perturb": {"values": values, "rng": RNG}, "supports": {"reports": reports}, "probability": {"reports": reports},
                   "aggregate": {"reports": reports}, "collect": {"values": values, "rng": RNG},
                   "estimate": {"counts": support, "n": 6}, "variance": {"f": 0.25, "n": 6}, "variances": {"counts": COUNTS},
                   "interval": {"counts": support, "n": 6, "confidence": 0.9}, "simulate": {"counts": COUNTS, "rng": RNG}}  # fmt: skip
        for method, arguments in methods.items():
            owner = next(base for base in cls.__mro__ if method in vars(base))
            full = f"{owner.__module__.rpartition('.')[2]}.{owner.__name__}.{method}"
            if (full, method) not in seen or method in ("estimate", "interval"):
                seen.add((full, method))
                yield call(full, on=oracle, spare=("n",) if method == "interval" else (), **arguments)
    yield call("protocol.count_law", own=2, n=5, p=0.7, q=0.2, spare=("n",))
    yield call("communication.report_bits", oracle=oracles.OLH(4, 1.0))
    yield call("protocol.whole_numbers", name="x", array=values, size=4, fixed=("name", "interval"))
    yield call("protocol.bit_rows", reports=np.eye(3, dtype=int), k=3)
    yield call("unary_encoding.coins", shape=(3, 2), probability=0.3, rng=RNG, spare=("shape",))
    yield call("histogram_encoding.optimal_threshold", epsilon=1.0)
    yield call("subset_selection.optimal_size", k=4, epsilon=1.0)
    yield call("local_hashing.optimal_buckets", epsilon=1.0)
    yield call("local_hashing.LocalHashing", k=4, epsilon=1.0, g=3)
    yield call("hadamard_response.published_blocks", k=4, epsilon=1.0)
    yield call("hadamard_response.power_of_two", name="x", value=4, fixed=("name", "interval"))
    yield call("consistency.base_cut", estimates=np.array([0.5, -0.1, 0.6]), deviation=0.1, alpha=0.05)
    yield call("consistency.norm_sub", estimates=np.array([0.5, -0.1, 0.6]))


def gaussian():
    """Yield calls of the mechanism of miura2022 and its bounds."""
    yield call("mechanism.fit", data=DATA)
    yield call("mechanism.sample", mean=np.zeros(2), cov=np.eye(2), size=3, rng=RNG, spare=("size",))
    yield call("mechanism.synthesize", data=DATA, size=3, sigma=0.1, rng=RNG, spare=("size",))
    yield call("mechanism.smallest_eigenvalue", data=DATA)
    yield call("mechanism.squared_mahalanobis", data=DATA, records=DATA[:2])
    for name in ("unbounded_epsilon", "bounded_epsilon", "bounded_epsilon_tight", "bounded_epsilon_joint", "bounded_epsilon_both", "bounded_epsilon_centred",
                 "unbounded_epsilon_tight", "regularised_epsilon"):  # fmt: skip
        yield call(f"bounds.{name}", n=10_000, alpha=4.0, d=2, sigma=0.1)
    for name in ("bounded_epsilon_attained", "unbounded_epsilon_attained", "regularised_epsilon_attained"):
        yield call(f"pairs.{name}", n=10_000, alpha=4.0, d=2, sigma=0.1)
    for name in ("divergence_added", "divergence_removed"):
        yield call(f"bounds.{name}", n=100, alpha=4.0, d=2, radius=5.0)
    yield call("bounds.largest_radius", d=2, sigma=0.1)
    yield call("pairs.attained_radius", n=100, d=2, sigma=0.1)
    yield call("pairs.worst_case_neighbours", n=100, d=2, sigma=0.1, spare=("n", "d"))
    yield call(
        "releases.released_dp",
        n=10_000,
        delta=1e-5,
        d=2,
        sigma=0.1,
        size=10,
        conversion="canonne2020",
        orders=ORDERS,
    )
    yield call("releases.extremal_pair", n=100, d=2, radius=5.0, spare=("d",))
    yield call(
        "releases.released_delta",
        n=10_000,
        epsilon=0.1,
        d=2,
        sigma=0.1,
        size=100,
        tolerance=1e-4,
        spare=("d",),
        allows=SAME,
    )
    yield call(
        "releases.released_epsilon",
        n=10_000,
        delta=1e-2,
        d=2,
        sigma=0.1,
        size=10,
        radius=5.0,
        spare=("d", "radius"),
        allows=SAME,
    )
    yield call(
        "releases.released_epsilon_attained",
        n=10_000,
        delta=1e-2,
        d=2,
        sigma=0.1,
        size=10,
        fixed=("size",),
        spare=("d", "delta"),
        allows=SAME,
    )
    yield call("releases.regularised_pair", n=100, d=2, sigma=0.5, spare=("d",))
    yield call(
        "releases.regularised_released_delta",
        n=10_000,
        epsilon=0.1,
        d=2,
        sigma=0.1,
        size=100,
        tolerance=1e-4,
        spare=("d",),
        allows=SAME,
    )
    for name in ("regularised_released_epsilon", "regularised_released_epsilon_attained"):
        yield call(
            f"releases.{name}",
            n=10_000,
            delta=1e-2,
            d=2,
            sigma=0.1,
            size=10,
            fixed=("size",),
            spare=("d", "delta"),
            allows=SAME,
        )
    from lib.gaussian_synthesis import theorems

    for at in (0, 4):
        yield call(
            "theorems.Theorem.epsilon",
            on=theorems.THEOREMS[at],
            n=10_000,
            delta=1e-2,
            d=2,
            sigma=0.1,
            size=10,
            fixed=("size",),
            spare=("d", "delta"),
            allows=SAME,
        )
    yield call("theorems.Theorem.falls_from", on=theorems.THEOREMS[2], d=2, sigma=0.1)
    yield call("releases.records_needed", epsilon=0.1, cost=lambda n: 1 / n, tolerance=0.0)


def models():
    """Yield calls of tables, graphical models, AIM and the other synthesizers, and of what they are judged by."""
    from lib.release import counter
    from lib.tables import adaptive_iterative, budget_schedule, graphical_model, plan, reconciliation, residual_queries
    from lib.tables.table import Domain, Table

    def advance(**given):
        """Advance a new schedule, because each call changes it."""
        return budget_schedule.Schedule(0.5, 4, 0.9).advance(**given)

    def measure(**given):
        return budget_schedule.Schedule(0.5, 4, 0.9).measure(**given)

    domain = Domain({"a": 2, "b": 3, "c": 2})
    table = Table(np.array([[0, 0, 0], [1, 2, 1], [0, 1, 1], [1, 1, 0]]), domain)
    yield call("table.Domain", sizes={"a": 2, "b": 3})
    yield call("table.Domain.from_labels", labels={"a": ["x", "y"], "b": [1, 2, 3]})
    for name in ("axes", "shape", "size", "project"):
        yield call(f"table.Domain.{name}", on=domain, attributes=("a", "c"))
    yield call("table.Domain.values", on=domain, attribute="a")
    yield call("table.Table", records=table.records, domain=domain)
    yield call("table.Table.from_frame", frame=table.to_frame(), domain=domain)
    yield call("table.Table.to_frame", on=table)
    yield call("table.Table.column", on=table, attribute="b")
    yield call("table.Table.marginal", on=table, attributes=("a", "c"))
    yield call("table.Table.project", on=table, attributes=("a", "c"))

    values = np.array([[1.5, 0.5, -0.2], [0.1, 1.2, 0.9]])
    measurement = graphical_model.Measurement(("a", "b"), values, 1.0)
    yield call("graphical_model.Measurement.checked", on=measurement, domain=domain)
    yield call("graphical_model.GraphicalModel", domain=domain, potentials={("a", "b"): values}, total=10.0)
    model = graphical_model.GraphicalModel(domain, {("a", "b"): values}, 10.0)
    yield call("graphical_model.GraphicalModel.fits", on=model, attributes=("a", "c"), limit=100)
    yield call("graphical_model.GraphicalModel.marginal", on=model, attributes=("a", "c"))
    yield call("graphical_model.GraphicalModel.synthesize", on=model, n=5, rng=RNG, spare=("n",))
    yield call(
        "graphical_model.fit",
        domain=domain,
        measurements=[measurement],
        total=5.0,
        tau=0.1,
        tolerance=0.01,
        max_evaluations=50,
    )
    known = reconciliation.Reconciliation(domain.sizes, None)
    known.add((0, 1), values, 1.0)
    yield call(
        "graphical_model.fit_reconciled",
        domain=domain,
        reconciliation=known,
        tau=0.1,
        tolerance=0.01,
        max_evaluations=50,
    )
    yield call("last_fit.fit", domain=domain, reconciliation=known, scale=1.0, kind="adaptive")
    yield call("last_fit.entropies", domain=domain, reconciliation=known)
    yield call("graphical_model.loss", model=model, measurements=[measurement])
    yield call("graphical_model.least_loss", domain=domain, measurements=[measurement], total=5.0)
    yield call("entropic_mirror_descent.mirror_descent", domain=domain, measurements=[measurement], total=5.0, steps=3, step_size=0.1,
               weights="inverse-variance", spare=("steps",))  # fmt: skip

    yield call("adaptive_iterative.aim", table=table, epsilon=1.0, delta=1e-5, workload=2, rng=RNG, plan=plan.OURS, neighbours="unbounded", records=5, errors=(1,),
               spare=("rounds", "records", "epsilon", "candidates"))  # fmt: skip
    run = adaptive_iterative.aim(table, 1.0, 1e-5, neighbours="bounded", rng=np.random.default_rng(1))
    yield call("uncertainty.count_intervals", result=run, attributes=("a",), level=0.9)
    yield call("uncertainty.expected_error", result=run, attributes=("a",))
    yield call("uncertainty.marginal_bounds", result=run, error=0.1)
    counted = counter.Counter(domain)
    yield call("counter.Counter", domain=domain, workload=2, max_cells=100)
    yield call("counter.Counter.add", on=counted, batch={name: table.column(name) for name in domain.attributes})
    yield call("counter.Counter.holds", on=counted, attributes=domain.attributes[:2])
    yield call("counter.Counter.marginal", on=counted, attributes=domain.attributes[:2])
    yield call("counting.downward_closure", domain=domain, workload=2)
    yield call("counting.requested", domain=domain, workload=2, most=2)
    yield call("budget_schedule.Schedule", rho=0.5, rounds=4, alpha=0.9)
    schedule = budget_schedule.Schedule(0.5, 4, 0.9)
    yield call("budget_schedule.Schedule.multiplier_of", on=schedule, share=0.1)
    yield call("budget_schedule.Schedule.measure", function=measure, share=0.1)
    yield call("budget_schedule.Schedule.advance", function=advance, anneal=True, growth=2)
    yield call("plan.Plan", start="sized", choice="printed", pace="tested", rounds=4, alpha=0.9, noise="gaussian", max_cells=100, candidates=2,
               round_fit=(0.1, 0.02), last_fit="adaptive")  # fmt: skip
    yield call("plan.Plan.rounds_for", on=plan.Plan(), d=5)
    yield call("plan.Plan.max_cells_for", on=plan.Plan(), d=5, rho=0.1, counted=100)
    yield call("plan.Plan.candidates_for", on=plan.Plan(), d=5)
    yield call("plan.parts", sizes=[2, 3])
    yield call("plan.first_share", noise=0.1, d=3)
    yield call("residual_queries.centred", table=values)
    yield call("residual_queries.answer", counts=values, sigma=1.0, rng=RNG)
    yield call("residual_queries.sigma_for", precision=0.5)
    yield call("residual_queries.integer_form", counts=np.array([[3, 1], [0, 2]]))
    draws = residual_queries.RoundedDraws(1, {}, np.random.default_rng(1))
    yield call("residual_queries.exact_answer", counts=np.array([[3, 1], [0, 2]]), precision=0.5, draws=draws)
    yield call("residual_queries.norm_answer", counts=values, expected=values, sigma=1.0, rng=RNG)
    yield call("residual_queries.exact_norm", counts=np.array([[3, 1], [0, 2]]), expected=[[1.5, 1.5], [1.5, 1.5]],
               precision=0.5, draws=draws)  # fmt: skip
    for name in ("residual_queries.squared_mu", "residual_queries.squared_mu_of_norms"):
        yield call(name, precisions={(0,): 0.5, (0, 1): 1.0}, sizes=domain.sizes, neighbours="bounded")
    yield call("residual_plan.stakes", sizes=domain.sizes, weights={(0, 1): 1.0, (1, 2): 2.0}, singles=1.0)
    yield call(
        "residual_plan.water_filling",
        stakes=[1.0, 2.0],
        prices=[0.5, 1.0],
        inverse_signals=[0.1, 0.0],
        known=[0.0, 0.3],
        budget=2.0,
    )
    yield call("residual_plan.first_signal", records=100.0, cells=6)
    yield call("residual_plan.inverse_signal", norm=10.0, sigma=2.0, error=1.0, sizes=(3, 4), guess=0.1)
    yield call("residual_plan.fewer_cells", guess=2.0, inverse_signal=0.1)
    yield call("residual_stages.set_weights", domain=domain, workload=2)
    yield call("residual_stages.staged_residuals", table=table, epsilon=1.0, delta=1e-5, workload=2, rng=RNG, neighbours="unbounded", total=4, records=5,
               max_cells=100, spare=("records", "total", "epsilon"))  # fmt: skip
    yield call(
        "record_moving.moved",
        table=table,
        targets={("a", "b"): values},
        rng=RNG,
        weights={("a", "b"): 1.0},
        singles=1.0,
        sweeps=2,
        spare=("sweeps",),
    )
    yield call("bayesian_network.privbayes", table=table, epsilon=1.0, rng=RNG, parents=1)
    yield call("bayesian_network.dependence", counts=np.array([[1, 2], [3, 4]]))

    other = Table(np.array([[0, 0, 0], [1, 2, 1], [0, 2, 1]]), domain)
    pair = {"real": table, "synthetic": other}
    yield call("utility.marginal_errors", workload=[("a",), ("a", "b")], **pair)
    yield call("utility.workload_error", workload=[("a",), ("a", "b")], weights=[1.0, 2.0], **pair)
    yield call("utility.marginal_error", alpha=2, **pair)
    yield call("utility.all_sets", domain=domain, alpha=2)
    yield call("utility.mutual_information", table=table)
    yield call("utility.mutual_information_error", **pair)
    weights = np.array([1.0, 2.0, 0.5, 1.0, 1.0])
    for name in ("logistic_regression", "support_vector_machine"):
        yield call(
            f"weighted_regression.{name}",
            features=DATA,
            labels=LABELS,
            weights=weights,
            penalty=0.1,
            allows=ILL_CONDITIONED,
        )
    yield call(
        "weighted_regression.linear_regression",
        features=DATA,
        values=DATA[:, 1],
        weights=weights,
        penalty=0.1,
        allows=ILL_CONDITIONED,
    )


def own_tables():
    """Yield calls for a user's table: its schema, its release, its report."""
    from lib.release import schema
    from lib.tables.graphical_model import GraphicalModel
    from lib.tables.table import Table

    public = schema.parse("attributes: {a: {values: [x, y]}, b: {range: [0, 9], bins: 3}}")
    table = Table(np.array([[0, 0], [1, 3], [2, 1], [3, 2]]), public.domain)
    yield call("account.cost", epsilon=1.0, delta=1e-5)
    yield call("account.epsilon_of", rho=Fraction(1, 9), delta=1e-5, up=False)
    yield call("staged.cost", epsilon=1.0, delta=1e-5)
    yield call("staged.epsilon_of", rho=Fraction(1, 9), delta=1e-5)
    model = GraphicalModel(public.domain, {}, 8.0)
    yield call("staged.TargetedModel", model=model, targets={("a", "b"): np.ones((4, 4)) / 2}, weights=None)
    yield call("synthesizer.asked", schema=public)
    yield call("synthesizer.marks", schema=public)
    yield call("synthesizer.run", table=table, epsilon=1.0, delta=1e-5, size=2, neighbours="bounded", records=5, seed=3,
               spare=("records", "epsilon"))  # fmt: skip
    yield call("synthesizer.run", table=table, epsilon=1.0, delta=1e-5, size=2, neighbours="bounded", records=5, seed=3,
               method="staged", spare=("records", "epsilon"))  # fmt: skip
    yield call("synthesizer.statement", epsilon=1.0, delta=1e-5, neighbours="bounded", seed=None, method="staged")
    yield call("synthesizer.decoded", table=table, schema=public, within="middle", rng=RNG)


def published():
    """Yield calls of perturbation and reconstruction, k-anonymity, microaggregation, regression and networks."""
    from lib.microdata import density_ratio, hierarchies, iterative_bayes, perturbation

    yield call("perturbation.RetentionReplacement", size=3, rho=0.5)
    yield call("perturbation.RetentionReplacement.from_epsilon", epsilon=1.0, size=3)
    yield call("perturbation.BoundedLaplace", low=0.0, high=2.0, phi=1.0)
    yield call("perturbation.BoundedLaplace.from_epsilon", epsilon=1.0, low=0.0, high=2.0)
    kept, bounded = perturbation.RetentionReplacement(3, 0.5), perturbation.BoundedLaplace(0.0, 2.0, 1.0)
    for one in (kept, bounded):
        name = f"perturbation.{type(one).__name__}"
        values = np.array([0, 1, 2])
        yield call(f"{name}.check", on=one, name="x", values=values, fixed=("name", "interval"))
        yield call(f"{name}.perturb", on=one, values=values, rng=RNG)
        yield call(f"{name}.density", on=one, outputs=values, inputs=values)
    yield call("perturbation.BoundedLaplace.distribution", on=bounded, outputs=values, inputs=values)
    yield call("perturbation.BoundedLaplace.normaliser", on=bounded, values=values)
    both = perturbation.Perturbation({"c": kept, "x": bounded})
    yield call("perturbation.Perturbation", mechanisms={"c": kept, "x": bounded})
    yield call(
        "perturbation.Perturbation.from_epsilon", epsilon=1.0, attributes={"c": 3, "x": (0.0, 2.0)}, split="equal"
    )
    records = np.array([[0, 0.5], [1, 1.5], [2, 1.0], [0, 0.25]])
    yield call("perturbation.Perturbation.check", on=both, records=records)
    yield call("perturbation.Perturbation.perturb", on=both, records=records, rng=RNG)
    yield call("perturbation.Perturbation.density", on=both, outputs=records, inputs=records)
    yield call("perturbation.Perturbation.transitions", on=both, outputs=records, inputs=records)
    yield call("perturbation.pk_level", perturbation=both, n_records=100)
    yield call("perturbation.pk_epsilon", k=5, n_records=100)
    yield call("perturbation.matching_posteriors", densities=np.array([[0.5, 0.2], [0.1, 0.4]]))
    yield call("perturbation.pk_parameters", k=5, n_records=100, attributes={"c": 3, "x": (0.0, 2.0)}, split="equal")

    yield call("density_ratio.normalised", weights=[1.0, 2.0])
    yield call("density_ratio.effective_sample_size", weights=[1.0, 2.0])
    matrix = np.array([[0.5, 0.2], [0.1, 0.4]])
    # What stores its arguments and checks them when it is fitted.
    for cls, more in ((density_ratio.KernelDensityRatio, {"width": 1.0}), (density_ratio.LinearDensityRatio, {})):
        fitted = _fitted(cls, both)
        yield call(
            f"density_ratio.{cls.__name__}",
            function=fitted,
            records=records,
            tol=0.1,
            max_iter=50,
            spare=("max_iter",),
            allows=UNCONVERGED,
            **more,
        )
        yield call(
            "density_ratio._DensityRatio.fit", function=fitted, records=records, tol=0.1, allows=UNCONVERGED, **more
        )
        model = cls(both, tol=0.1, **more).fit(records)
        yield call(f"density_ratio.{cls.__name__}.basis", on=model, records=records)
    bayes = _fitted(iterative_bayes.IterativeBayes, both)
    for name in ("", ".fit"):
        yield call(
            f"iterative_bayes.IterativeBayes{name}",
            function=bayes,
            records=records,
            bins=2,
            tol=1.0,
            max_iter=50,
            spare=("max_iter", "bins"),
            allows=UNCONVERGED,
        )
    yield call(
        "density_ratio.algorithm_1",
        P=matrix,
        K=matrix,
        fixed=("P", "K"),
        rate=0.1,
        tol=1e-6,
        max_iter=5,
        start=np.ones(2),
        spare=("max_iter",),
    )
    yield call(
        "density_ratio.maximum_likelihood",
        P=matrix,
        K=matrix,
        fixed=("P", "K"),
        tol=0.01,
        max_iter=5,
        spare=("max_iter",),
    )

    adult = hierarchies.adult(("age", "sex"))
    frame = pd.DataFrame({"age": [20, 30, 40, 41], "sex": ["Male", "Female", "Male", "Male"]})
    yield call("hierarchies.adult", attributes=("age", "sex"))
    age = adult["age"]
    yield call("hierarchies.categories", attribute="size", fixed=("attribute",), rows=[("s", "*"), ("l", "*")])
    yield call("hierarchies.intervals", attribute="age", fixed=("attribute",), starts=[[0, 2, 4], [0, 4]])
    age = adult["age"]
    yield call("hierarchies.Hierarchy.codes", on=age, values=frame["age"], level=1)
    yield call("hierarchies.Hierarchy.generalize", on=age, values=frame["age"], level=1)
    yield call("hierarchies.Hierarchy.losses", on=age, level=1)
    yield call("hierarchies.Hierarchy.midpoints", on=age, values=frame["age"], level=1)
    yield call("hierarchies.apply", frame=frame, hierarchies=adult, levels={"age": 1, "sex": 0})
    yield call("k_anonymity.generalize", records=frame, hierarchies=adult, k=2, max_suppression=0.25, loss="lm")
    yield call("k_anonymity.suppress", records=frame, k=2, attributes=("sex",))
    for name in ("class_sizes", "anonymity"):
        yield call(f"k_anonymity.{name}", frame=frame, attributes=("sex",))
    unit = (DATA + 1) / 2
    yield call("microaggregation.individual_ranking", values=unit[:, 0], k=2)
    yield call("microaggregation.noisy_centroids", features=unit, k=2, epsilon=1.0, rng=RNG)
    yield call("microaggregation.published", features=unit, labels=LABELS, epsilon=1.0, k=2, rng=RNG)
    yield call("microaggregation.private", features=unit, labels=LABELS, epsilon=1.0, levels=[0, 0], rng=RNG, groups=2)
    yield call(
        "private_regression.fit",
        features=DATA,
        labels=LABELS,
        epsilon=1.0,
        method="output",
        regularization=0.1,
        bound=2.0,
        rng=RNG,
    )
    yield call("private_regression.output_sensitivity", n=10, regularization=0.1)
    yield call("private_regression.objective_parameters", n=10, regularization=0.1, epsilon=1.0)
    yield call("private_regression.gamma_noise", d=3, scale=1.0, rng=RNG, spare=("d",))
    model = importlib.import_module("lib.networks.private_regression").fit(
        DATA, LABELS, 1.0, regularization=0.1, bound=2.0, rng=np.random.default_rng(0)
    )
    yield call("private_regression.LogisticRegression.predict_proba", on=model, features=DATA)
    yield call("private_regression.LogisticRegression.predict", on=model, features=DATA)


def _fitted(estimator, perturbation):
    return lambda records, **options: estimator(perturbation, **options).fit(records)


def networks():
    """Yield calls of neural networks and their private training."""
    from lib.networks import dp_sgd, network, private_networks

    net = network.Network.initial((2, 3, 2), rng=np.random.default_rng(0))
    unit = (DATA + 1) / 2
    records = {"features": unit, "labels": LABELS, "network": net}
    training = {"learning_rate": 0.1, "batch": 2, "epochs": 2, "l2": 0.01, "rng": RNG}
    yield call("network.Network", widths=(2, 3, 2), parameters=net.parameters)
    yield call("network.Network.initial", widths=(2, 3, 2), rng=RNG, scheme="he", dtype="float32", spare=("widths",))
    yield call("network.Network.of", weights=net.weights, biases=net.biases, dtype="float64")
    for name in ("outputs", "predict_proba", "predict"):
        yield call(f"network.Network.{name}", on=net, features=unit)
    for name in ("checked_records", "changes"):
        yield call(f"network.{name}", **records)
    yield call("network.checked_range", name="x", value=(0.0, 1.0), fixed=("name", "interval"))
    yield call(
        "network.train",
        **records,
        **training,
        weight_range=(-1.0, 1.0),
        bias_range=(-1.0, 1.0),
        spare=("epochs",),
    )
    yield call("network.checked_plan", records=5, **training)
    yield call("network.projected", network=net, weight_range=(-1.0, 1.0), bias_range=(-1.0, 1.0))

    ranges = {"epsilon": 1.0, "weight_range": (-1.0, 1.0), "bias_range": (-1.0, 1.0), "rng": RNG}
    yield call(
        "private_networks.PrivacyStatement", method="LearningFirst", epsilon=1.0, parameters=10, epochs=2, batches=3
    )
    statement = private_networks.PrivacyStatement("LearningFirst", 1.0, 10)
    yield call("private_networks.PrivacyStatement.epsilon_at", on=statement, delta=1e-5)
    for name in ("predict", "predict_proba"):
        yield call(
            f"private_networks.PrivateNetwork.{name}", on=private_networks.PrivateNetwork(net, statement), features=unit
        )
    yield call(
        "private_networks.learning_first", **records, **ranges, learning_rate=0.1, batch=2, epochs=2, spare=("epochs",)
    )
    yield call("private_networks.release", network=net, **ranges)
    yield call("private_networks.anonymized_learning", **records, **training, epsilon=1.0, weight_thresholds=(-1.0, 1.0),
               bias_thresholds=(-1.0, 1.0), clipping="sum", spare=("epochs",))  # fmt: skip

    run = {"delta": 1e-5, "sampling": 0.1, "steps": 3, "neighbours": "bounded"}
    yield call("sampled_gaussian.epsilon", noise_multiplier=2.0, **run, spare=("steps",))
    yield call("sampled_gaussian.rdp_epsilon", noise_multiplier=2.0, **run, spare=("steps",))
    yield call("sampled_gaussian.noise_multiplier", epsilon_wanted=1.0, **run, spare=("steps",))
    plan = {"sampling": 0.5, "steps": 3, "noise_multiplier": 2.0, "delta": 1e-5}
    yield call("dp_sgd.Plan", **plan)
    yield call("dp_sgd.Plan.calibrated", epsilon=1.0, **run, spare=("steps", "sampling"))
    yield call(
        "dp_sgd.train", **records, plan=dp_sgd.Plan(**plan), learning_rate=0.1, clip=1.0, momentum=0.5, l2=0.0, rng=RNG
    )

    yield call("intervals.change_bounds", network=net, variant="corrected")
    law = np.array([[[0.5, 0.25], [0.125, 0.125]], [[0.25, 0.25], [0.25, 0.25]]])
    yield call("parameterwise.loss", law=law, parameters=[0])
    yield call("parameterwise.losses", law=law)
    yield call("parameterwise.chain", first=np.array([[0.5, 0.5], [0.25, 0.75]]), second=np.full((2, 2, 2), 0.5))
    yield call("parameterwise.atoms", centre=0.5, scale=1.0, low=0.0, high=1.0)


FLOORS = (privacy, noise, local, gaussian, models, own_tables, published, networks)


def calls() -> list[Call]:
    """Return every valid call."""
    return [one for floor in FLOORS for one in floor()]
