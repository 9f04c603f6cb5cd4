"""`dp-compendium epsilon`, `sigma` and `compose`: the cost of noise, and the noise that a guarantee needs."""

from __future__ import annotations

import re
from functools import partial

import click

from .. import gaussian_synthesis as synthesis
from ..accounting import Accountant, gaussian_sigma, sampled_gaussian
from ..gaussian_synthesis.releases import released_dp, released_epsilon
from ..mechanisms import Gaussian, Laplace, RandomizedResponse
from ..numerics.checks import number
from .answers import answer, as_json, by_each_way

WHICH = click.Choice(("unbounded", "bounded"))
# The theorems of miura2022 and of the chapter that extends them, with the pairs of data sets that each covers.
THEOREMS = {
    "unbounded": {
        "Theorem 3.1": synthesis.unbounded_epsilon,
        "Theorem D": synthesis.unbounded_epsilon_tight,
    },
    "bounded": {
        "Theorem 3.2": synthesis.bounded_epsilon,
        "Theorem A": synthesis.bounded_epsilon_tight,
        "Theorem B": synthesis.bounded_epsilon_joint,
    },
}
KINDS = {"gaussian": Gaussian, "laplace": Laplace, "pure": RandomizedResponse}


def option(name: str, said: str, *, default=None, kind=click.FLOAT):
    """Return an option that must be given, unless it has a default."""
    shown = {"default": default, "show_default": True} if default is not None else {"required": True}
    return click.option(f"--{name}", type=kind, help=said, **shown)


sensitivity = option(
    "sensitivity", "How far one record moves the answer, in L2 (Gaussian) or L1 (Laplace).", default=1.0
)
delta = option("delta", "In (0, 1).")
neighbours = option(
    "neighbours", "A record more or less, or another one in its place.", default="unbounded", kind=WHICH
)
sampling = option("sampling", "The probability with which a step takes a record, in [1e-6, 1].")
steps = option("steps", "How many steps, a whole number.", kind=click.INT)


@click.group(epilog="\b\nExample:\n  dp-compendium epsilon gaussian --sigma 4 --delta 1e-6")
def epsilon():
    """Give what a mechanism costs, for its noise."""


@epsilon.command("gaussian", epilog="\b\nExample:\n  dp-compendium epsilon gaussian --sigma 4 --delta 1e-6")
@option("sigma", "The standard deviation of the noise.")
@sensitivity
@delta
@as_json
def of_gaussian(sigma, sensitivity, delta, as_json):
    """Give the smallest epsilon at DELTA of normal noise, and rho of zero-concentrated privacy (Balle and Wang 2018)."""
    made = Gaussian(sigma, sensitivity)
    answer({"epsilon": made.epsilon_at(delta), "delta": delta, "rho": made.rho}, as_json)


@epsilon.command("laplace", epilog="\b\nExample:\n  dp-compendium epsilon laplace --scale 2 --sensitivity 1")
@option("scale", "The scale of the noise.")
@sensitivity
@option("delta", "In [0, 1).", default=0.0)
@as_json
def of_laplace(scale, sensitivity, delta, as_json):
    """Give epsilon of Laplace noise, or the smaller one at DELTA (Balle, Barthe, Gaboardi 2020)."""
    made = Laplace(scale, sensitivity)
    answer({"epsilon": made.epsilon_at(delta), "delta": delta, "rho": made.rho}, as_json)


@epsilon.command(
    "dp-sgd",
    epilog="\b\nExample:\n  dp-compendium epsilon dp-sgd --noise-multiplier 1.1 --sampling 0.01 --steps 10000 --delta 1e-5",
)
@option("noise-multiplier", "The noise's standard deviation over the clipping norm, in [0.1, 1e6].")
@sampling
@steps
@delta
@neighbours
@as_json
def of_dp_sgd(noise_multiplier, sampling, steps, delta, neighbours, as_json):
    """Give an upper bound, at most 5 % or 0.0002 above the truth, for normal noise on sums over Poisson samples, step by step."""
    found = sampled_gaussian.epsilon(noise_multiplier, sampling, steps, delta, neighbours)
    answer({"epsilon": found, "delta": delta, "neighbours": neighbours}, as_json)


@epsilon.command(
    "gaussian-synthesis",
    epilog="\b\nExample:\n  dp-compendium epsilon gaussian-synthesis --records 1000000000 --attributes 6 --sigma 0.01 --delta 1e-6 --made 100",
)
@option("records", "n: all data sets that are compared have so many records at least.", kind=click.INT)
@option("attributes", "d, each scaled to [-1, 1].", kind=click.INT)
@option("sigma", "The least eigenvalue of the covariance, in (0, 1): a promise about the data that nobody checks here.")
@delta
@click.option(
    "--made",
    type=click.IntRange(1),
    help="How many are drawn, a number fixed in advance: that of the records may be private.  [default: n]",
)
@neighbours
@as_json
def of_gaussian_synthesis(records, attributes, sigma, delta, made, neighbours, as_json):
    """Give the smallest epsilon, over all orders, of records drawn from one fitted Gaussian (miura2022), by each theorem."""

    def by(bound):
        return released_dp(records, delta, attributes, sigma, size=made, bound=bound).epsilon

    ways = {name: partial(by, bound) for name, bound in THEOREMS[neighbours].items()}
    if neighbours == "unbounded":
        ways["Theorem E"] = partial(released_epsilon, records, delta, attributes, sigma, size=made)
    answer(by_each_way(ways) | {"delta": delta, "neighbours": neighbours}, as_json)


@click.group(epilog="\b\nExample:\n  dp-compendium sigma gaussian --epsilon 1 --delta 1e-6")
def sigma():
    """Give how much noise a guarantee needs."""


@sigma.command(
    "gaussian", epilog="\b\nExample:\n  dp-compendium sigma gaussian --epsilon 1 --delta 1e-6 --sensitivity 2"
)
@option("epsilon", "What is promised.")
@delta
@sensitivity
@as_json
def for_gaussian(epsilon, delta, sensitivity, as_json):
    """Give the smallest sigma of normal noise (Balle and Wang 2018), and the one through rho, which adds up over several."""
    by_rho = gaussian_sigma(epsilon, delta, sensitivity, "zcdp")
    found = {"sigma": gaussian_sigma(epsilon, delta, sensitivity), "sigma by zcdp": by_rho}
    answer(found | {"epsilon": epsilon, "delta": delta}, as_json)


@sigma.command("laplace", epilog="\b\nExample:\n  dp-compendium sigma laplace --epsilon 0.5")
@option("epsilon", "What is promised.")
@sensitivity
@as_json
def for_laplace(epsilon, sensitivity, as_json):
    """Give the scale of Laplace noise."""
    answer({"scale": Laplace.calibrated(epsilon, sensitivity).scale, "epsilon": epsilon}, as_json)


@sigma.command(
    "dp-sgd", epilog="\b\nExample:\n  dp-compendium sigma dp-sgd --epsilon 3 --delta 1e-5 --sampling 0.01 --steps 10000"
)
@option("epsilon", "What is promised.")
@delta
@sampling
@steps
@neighbours
@as_json
def for_dp_sgd(epsilon, delta, sampling, steps, neighbours, as_json):
    """Give the noise multiplier of DP-SGD, at most 0.3 % above the smallest that the accountant allows."""
    found = sampled_gaussian.noise_multiplier(epsilon, delta, sampling, steps, neighbours)
    answer({"noise multiplier": found, "epsilon": epsilon, "delta": delta, "neighbours": neighbours}, as_json)


class Mechanism(click.ParamType):
    """gaussian:SIGMA, laplace:SCALE or pure:EPSILON, and xCOUNT: a mechanism, and how often it runs."""

    name = "mechanism"

    def convert(self, value, param, ctx):
        found = re.fullmatch(r"(\w+):([^x]+)(?:x(\d+))?", value)
        if found is None or found[1] not in KINDS:
            self.fail(
                f"{value!r} must be gaussian:SIGMA, laplace:SCALE or pure:EPSILON, with xCOUNT if it runs often",
                param,
                ctx,
            )
        try:
            return KINDS[found[1]](number("its number", found[2], "(0, inf)")), int(found[3] or 1)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


@click.command(
    epilog="\b\nExamples:\n  dp-compendium compose gaussian:10x100 --delta 1e-6"
    "\n  dp-compendium compose laplace:20x30 gaussian:15x20 pure:0.01 --delta 1e-6 --json"
)
@click.argument("mechanisms", nargs=-1, required=True, type=Mechanism())
@delta
@as_json
def compose(mechanisms, delta, as_json):
    """Give what several mechanisms cost together by every available method, and name the method with the smallest cost.

    A mechanism is gaussian:SIGMA or laplace:SCALE, noise for a sensitivity of 1, or pure:EPSILON, known only by its epsilon;
    xCOUNT is how often it runs. The mechanisms are fixed in advance, and see the same records.
    """
    accountant = Accountant(mechanisms, delta)
    answer(by_each_way({name: getattr(accountant, name) for name in accountant.bounds}) | {"delta": delta}, as_json)
