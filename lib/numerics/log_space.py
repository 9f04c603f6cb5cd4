"""Marginals of a graphical model by variable elimination on logarithms: slow, but for numbers of any size.

This module computes the results of `contraction` in the textbook way (Koller and Friedman 2009, section 9.3). The
module writes out the table over a variable and all variables joined with it, and sums the variable out. The method
needs the memory of the junction tree and an exponential for every cell, and works where plain products would overflow
or underflow.

A tensor is a pair (array of logarithms, tuple of the variables that are its axes).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from . import in_order


class Bucket(NamedTuple):
    """One variable's elimination: the tensors numbered `inputs` are multiplied into `joint`, over `axes` (the variable
    last), which is summed over the variable into the tensor numbered `out`."""

    inputs: list[int]
    joint: np.ndarray
    axes: tuple[int, ...]
    out: int


def eliminate(
    tensors: Sequence[tuple[np.ndarray, tuple[int, ...]]], sizes: Sequence[int], order: Iterable[int]
) -> tuple[list[Bucket], float]:
    """Return the buckets of all variables, in `order`, and log Z, the logarithm of the sum over everything.

    order : all variables, each in some tensor
    Raises ``ValueError`` if the product is zero everywhere.
    """
    pool, active, buckets = list(tensors), list(range(len(tensors))), []
    for v in order:
        inputs = [number for number in active if v in pool[number][1]]
        joint, axes = _joint([pool[number] for number in inputs], v, sizes)
        active = [number for number in active if number not in inputs] + [len(pool)]
        buckets.append(Bucket(inputs, joint, axes, len(pool)))
        pool.append((_log_sum(joint), axes[:-1]))
    log_z = in_order.total(float(pool[number][0]) for number in active)
    if log_z == -np.inf:
        raise ValueError("potentials must leave some record possible, got a model that is zero everywhere")
    return buckets, log_z


def marginals(
    tensors: Sequence[tuple[np.ndarray, tuple[int, ...]]], sizes: Sequence[int], order: Iterable[int]
) -> tuple[float, list[np.ndarray]]:
    """Return log Z and, for each tensor, the probabilities of its cells under the product of `tensors`."""
    buckets, log_z = eliminate(tensors, sizes, order)
    scopes = [axes for _, axes in tensors] + [bucket.axes[:-1] for bucket in buckets]
    # P(v and its companions) = P(companions) P(v | companions), from the last variable to the first.
    probabilities = [np.ones(())] * len(scopes)
    for inputs, joint, axes, out in reversed(buckets):
        log_sum = np.maximum(_log_sum(joint), np.finfo(float).min)  # for companions that never occur together
        joint = np.exp(joint - log_sum[..., None]) * probabilities[out][..., None]
        for number in inputs:
            probabilities[number] = _sum_to(joint, axes, scopes[number])
    return log_z, probabilities[: len(tensors)]


def contract(tensors: Iterable[tuple[np.ndarray, tuple[int, ...]]], sizes: Sequence[int], order: Iterable[int],
             keep: Sequence[int]) -> np.ndarray:  # fmt: skip
    """Return the logarithm of the product of `tensors` summed over `order`, an array whose axes are `keep`."""
    tensors = list(tensors)
    for v in order:
        joint, axes = _joint([tensor for tensor in tensors if v in tensor[1]], v, sizes)
        tensors = [tensor for tensor in tensors if v not in tensor[1]] + [(_log_sum(joint), axes[:-1])]
    return _add(tensors, keep, [sizes[v] for v in keep])


def _joint(tensors, v, sizes):
    """Return the product of `tensors` over v and all its companions, with v's axis last, and its axes."""
    companions = sorted({u for _, axes in tensors for u in axes} - {v})
    axes = (*companions, v)
    return _add(tensors, axes, [sizes[u] for u in axes]), axes


def _add(tensors, along, shape):
    total = np.zeros(shape)
    for array, axes in tensors:
        order = [axes.index(v) for v in along if v in axes]
        total += array.transpose(order)[(*(slice(None) if v in axes else None for v in along), ...)]
    return total


def _log_sum(array):
    """Return the logarithm of the sum of exponentials over the last axis, -inf where all entries are -inf."""
    highest = np.maximum(array.max(axis=-1, keepdims=True), np.finfo(float).min)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(array - highest).sum(axis=-1)) + highest[..., 0]


def _sum_to(array, axes, wanted):
    summed = array.sum(axis=tuple(position for position, v in enumerate(axes) if v not in wanted))
    left = [v for v in axes if v in wanted]
    return summed.transpose([left.index(v) for v in wanted])
