"""Define samplers of the noise that mechanisms add, and their sources of randomness.

The textbook samplers here compute in floating point; `floating_point` shows what their last bits reveal.
The samplers of `exact_noise` avoid this leak.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..numerics import checks


class SystemRandomness:
    """A source of random bytes from the operating system, for the samplers of `exact_noise`; see `system_rng`."""

    @staticmethod
    def bytes(length: int) -> bytes:
        """Return `length` >= 0 random bytes."""
        return os.urandom(length)


def system_rng() -> SystemRandomness:
    """Return an `rng` whose bits all come from the operating system (`os.urandom`): unpredictable and not repeatable.

    The samplers of `exact_noise` use only the method `bytes` of an `rng`, so they accept both this `rng` and numpy's
    generators. The floating-point samplers of this module accept only numpy's generators.
    """
    return SystemRandomness()


def gaussian(shape: int | Sequence[int], sigma: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
    """Return an array of `shape` of independent normal draws with mean 0 and standard deviation `sigma` in (0, inf)."""
    return generator(rng).normal(scale=checks.real("sigma", sigma, "(0, inf)"), size=shape)


def laplace(shape: int | Sequence[int], scale: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
    """Return an array of `shape` of independent draws from the Laplace distribution, density e^(-|x|/scale)/(2 scale).

    scale : (0, inf); the standard deviation is sqrt(2) scale
    """
    return generator(rng).laplace(scale=checks.real("scale", scale, "(0, inf)"), size=shape)


def generator(rng: object) -> np.random.Generator:
    """Return `rng`, or raise ``ValueError`` if it is not a numpy generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator for floating-point noise, got {type(rng).__name__}")
    return rng
