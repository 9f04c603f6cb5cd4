"""The bounds of miura2022 over a million settings, which should take less than a second."""

import numpy as np

from lib import gaussian_synthesis

N = np.geomspace(1e3, 1e15, 10**6).round()


def bench_unbounded_epsilon() -> int:
    return gaussian_synthesis.unbounded_epsilon(n=N, alpha=4, d=6, sigma=0.01).size


def bench_bounded_epsilon() -> int:
    return gaussian_synthesis.bounded_epsilon(n=N, alpha=4, d=6, sigma=0.01).size
