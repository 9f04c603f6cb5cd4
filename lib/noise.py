"""Samplers of the noise that mechanisms add."""

from __future__ import annotations

import numpy as np

from lib import checks


def gaussian(shape, sigma, *, rng) -> np.ndarray:
    """Independent draws of `shape` from the normal distribution with standard deviation `sigma` in (0, inf)."""
    return rng.normal(scale=checks.real("sigma", sigma, "(0, inf)"), size=shape)


def laplace(shape, scale, *, rng) -> np.ndarray:
    """Independent draws of `shape` from the Laplace distribution with density exp(-|x|/scale)/(2 scale),
    `scale` in (0, inf); the standard deviation is sqrt(2) scale."""
    return rng.laplace(scale=checks.real("scale", scale, "(0, inf)"), size=shape)
