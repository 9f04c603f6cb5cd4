"""`dp-compendium epsilon`, `sigma` and `compose`: the cost of noise, and the noise that a guarantee needs."""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial

import click

from ..accounting import Accountant, gaussian_sigma, sampled_gaussian
from ..gaussian_synthesis import THEOREMS
from ..mechanisms import Gaussian, Laplace, RandomizedResponse
from ..numerics.checks import number
from .answers import answer, as_json, by_each_way

WHICH = click.Choice(("unbounded", "bounded"))
KINDS = {"gaussian": Gaussian, "laplace": Laplace, "pure": RandomizedResponse}


class Number(click.types.FloatParamType):
    """A number, which may be given as a fraction such as 256/60000."""

    def convert(self, value, param, ctx):
        return super().convert(of_fraction(value), param, ctx)


class Whole(click.IntRange):
    """An integer, which may be given in a form such as 1e4."""

    name = "integer"

    def convert(self, value, param, ctx):
        with suppress(ValueError, TypeError):
            if float(value).is_integer():  # finite
                value = str(int(Decimal(value)))
        return super().convert(value, param, ctx)


def of_fraction(value):
    """Return `value` as a number if it is a fraction of integers, and otherwise unchanged."""
    with suppress(ValueError, TypeError, ArithmeticError):
        return float(Fraction(value)) if "/" in value else value
    return value


def option(name: str, said: str, *, default=None, kind: click.ParamType | None = None):
    """Return an option that must be given, unless it has a default."""
    shown = {"default": default, "show_default": True} if default is not None else {"required": True}
    return click.option(f"--{name}", type=kind or Number(), help=said, **shown)


sensitivity = option(
    "sensitivity", "The largest change of the answer by one record, in L2 (Gaussian) or L1 (Laplace).", default=1.0
)
delta = option("delta", "The delta of the guarantee, in (0, 1).")
neighbours = option(
    "neighbours",
    "Unbounded: one record is added or removed. Bounded: one record is changed.",
    default="unbounded",
    kind=WHICH,
)
sampling = option("sampling", "The probability that a step samples a record, in [1e-6, 1], for example 256/60000.")
steps = option("steps", "The number of steps, an integer.", kind=Whole())


@click.group(epilog="\b\nExample:\n  dp-compendium epsilon gaussian --sigma 4 --delta 1e-6")
def epsilon():
    """Compute the privacy cost of a mechanism from its noise."""


@epsilon.command("gaussian", epilog="\b\nExample:\n  dp-compendium epsilon gaussian --sigma 4 --delta 1e-6")
@option("sigma", "The standard deviation of the noise.")
@sensitivity
@delta
@as_json
def of_gaussian(sigma, sensitivity, delta, as_json):
    """Compute the smallest epsilon of Gaussian noise.

    The command gives the epsilon at DELTA (Balle and Wang 2018) and the rho of zero-concentrated DP.
    """
    made = Gaussian(sigma, sensitivity)
    answer({"epsilon": made.epsilon_at(delta), "delta": delta, "rho": made.rho}, as_json)


@epsilon.command("laplace", epilog="\b\nExample:\n  dp-compendium epsilon laplace --scale 2 --sensitivity 1")
@option("scale", "The scale of the noise.")
@sensitivity
@option("delta", "The delta of the guarantee, in [0, 1).", default=0.0)
@as_json
def of_laplace(scale, sensitivity, delta, as_json):
    """Compute the smallest epsilon of Laplace noise.

    The command gives the epsilon at DELTA, which may be 0 (Balle, Barthe and Gaboardi 2020), and the rho of
    zero-concentrated DP.
    """
    made = Laplace(scale, sensitivity)
    answer({"epsilon": made.epsilon_at(delta), "delta": delta, "rho": made.rho}, as_json)


@epsilon.command(
    "dp-sgd",
    epilog="\b\nExample:\n  dp-compendium epsilon dp-sgd --noise-multiplier 1.1 --sampling 0.01 --steps 10000 --delta 1e-5",
)
@option("noise-multiplier", "The standard deviation of the noise divided by the clipping norm, in [0.1, 1e6].")
@sampling
@steps
@delta
@neighbours
@as_json
def of_dp_sgd(noise_multiplier, sampling, steps, delta, neighbours, as_json):
    """Compute an upper bound on the epsilon of DP-SGD.

    The bound is too large by at most 5 % or 0.0002, whichever is larger. At each step, DP-SGD adds Gaussian noise to a
    sum over a Poisson sample of the records.
    """
    found = sampled_gaussian.epsilon(noise_multiplier, sampling, steps, delta, neighbours)
    answer({"epsilon": found, "delta": delta, "neighbours": neighbours}, as_json)


@epsilon.command(
    "gaussian-synthesis",
    epilog="\b\nExample:\n  dp-compendium epsilon gaussian-synthesis --records 1000000 --attributes 6 --sigma 0.01 --delta 1e-6 --made 100",
)
@option(
    "records",
    "n, the number of records, without the record that is added or removed.",
    kind=Whole(),
)
@option("attributes", "d, the number of attributes, each scaled to [-1, 1].", kind=Whole())
@option(
    "sigma",
    "The variance that is added to each attribute, at most 1 for bounded neighbours. If nothing is added, the smallest eigenvalue that the covariance may have, in (0, 1), an assumption about the data that is not checked.",
)
@option(
    "covariance",
    "Regularised: sigma is added to each variance before the drawing, and nothing is assumed about the data. Plain: nothing is added.",
    default="regularised",
    kind=click.Choice(("regularised", "plain")),
)
@delta
@click.option(
    "--made",
    type=Whole(1),
    help="The number of synthetic records. Fix it in advance, because the number of records may be private.  [default: n]",
)
@neighbours
@as_json
def of_gaussian_synthesis(records, attributes, sigma, covariance, delta, made, neighbours, as_json):
    """Compute the epsilon of records drawn from a Gaussian.

    The Gaussian is fitted to the data (Miura et al. 2022). Each theorem that covers the case gives an epsilon. Theorem H
    needs no assumption about the data. Theorems E and H use the law of the privacy loss, and the other theorems use the
    best Rényi order.

    An epsilon for n records also holds for more records, if the number of synthetic records stays the same. For
    Theorems D and E, this is proved for n >= 3 or, if there is one attribute, for n >= 1 / sqrt(1 - sigma). For bounded
    neighbours, n must be at least 2.
    """
    ways = {
        theorem.name: partial(theorem.epsilon, records, delta, attributes, sigma, size=made)
        for theorem in THEOREMS
        if theorem.neighbours == neighbours and covariance in theorem.covariance
    }
    answer(by_each_way(ways) | {"delta": delta, "neighbours": neighbours, "covariance": covariance}, as_json)


@click.group(epilog="\b\nExample:\n  dp-compendium sigma gaussian --epsilon 1 --delta 1e-6")
def sigma():
    """Compute the noise that a guarantee needs."""


@sigma.command(
    "gaussian", epilog="\b\nExample:\n  dp-compendium sigma gaussian --epsilon 1 --delta 1e-6 --sensitivity 2"
)
@option("epsilon", "The epsilon of the guarantee.")
@delta
@sensitivity
@as_json
def for_gaussian(epsilon, delta, sensitivity, as_json):
    """Compute the smallest sigma of Gaussian noise.

    The sigma is that of Balle and Wang (2018). The command also gives a sigma that follows from rho, the cost in
    zero-concentrated DP, which adds up over releases.
    """
    by_rho = gaussian_sigma(epsilon, delta, sensitivity, "zcdp")
    found = {"sigma": gaussian_sigma(epsilon, delta, sensitivity), "sigma by zcdp": by_rho}
    answer(found | {"epsilon": epsilon, "delta": delta}, as_json)


@sigma.command("laplace", epilog="\b\nExample:\n  dp-compendium sigma laplace --epsilon 0.5")
@option("epsilon", "The epsilon of the guarantee.")
@sensitivity
@as_json
def for_laplace(epsilon, sensitivity, as_json):
    """Compute the scale of Laplace noise."""
    answer({"scale": Laplace.calibrated(epsilon, sensitivity).scale, "epsilon": epsilon}, as_json)


@sigma.command(
    "dp-sgd", epilog="\b\nExample:\n  dp-compendium sigma dp-sgd --epsilon 3 --delta 1e-5 --sampling 0.01 --steps 10000"
)
@option("epsilon", "The epsilon of the guarantee.")
@delta
@sampling
@steps
@neighbours
@as_json
def for_dp_sgd(epsilon, delta, sampling, steps, neighbours, as_json):
    """Compute the noise multiplier that DP-SGD needs.

    The result is at most 0.3 % above the smallest noise multiplier that the accountant allows.
    """
    found = sampled_gaussian.noise_multiplier(epsilon, delta, sampling, steps, neighbours)
    answer({"noise multiplier": found, "epsilon": epsilon, "delta": delta, "neighbours": neighbours}, as_json)


class Mechanism(click.ParamType):
    """A mechanism: gaussian:SIGMA, laplace:SCALE or pure:EPSILON, followed by xCOUNT if it runs COUNT times."""

    name = "mechanism"

    def convert(self, value, param, ctx):
        found = re.fullmatch(r"(\w+):([^x]+)(?:x(.+))?", value)
        if found is None or found[1] not in KINDS:
            self.fail(
                f"{value!r} must be gaussian:SIGMA, laplace:SCALE or pure:EPSILON, with xCOUNT if it runs several times",
                param,
                ctx,
            )
        try:
            parameter = number("the number after the colon", of_fraction(found[2]), "(0, inf)")
            return KINDS[found[1]](parameter), Whole().convert(found[3] or "1", param, ctx)
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
    """Compute the total cost of several mechanisms.

    Every available method gives a cost, and the smallest is marked. A mechanism is gaussian:SIGMA or laplace:SCALE for noise at sensitivity 1, or pure:EPSILON if only its epsilon is known.
    Append xCOUNT if it runs COUNT times. The mechanisms are fixed in advance and use the same records.
    """
    accountant = Accountant(mechanisms, delta)
    answer(by_each_way({name: getattr(accountant, name) for name in accountant.bounds}) | {"delta": delta}, as_json)
