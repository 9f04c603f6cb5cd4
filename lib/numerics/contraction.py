"""Sum products of tensors over most of their variables, and differentiate the sums, in plain numbers.

Every request to a graphical model has this form: multiply tensors that share variables, and sum some variables out.
`Contraction` compiles one such request into a list of array operations on buffers that are allocated once. Repeating
the request then costs little beyond the arithmetic.

Variables are eliminated one by one (Zhang and Poole 1996; Koller and Friedman 2009, section 9.3). The tensors that
contain a variable are split into two groups, chosen to keep tables small. Each group is multiplied, and one batched
matrix product of the two results sums the variable out. The table over all variables involved is never formed. Running
the list backwards gives the derivatives with respect to every input at about twice the cost (reverse mode; Darwiche
2003). Each tensor is used once, so its derivative has only one term.

Tensors hold plain numbers, not logarithms. `marginal_oracle` falls back on `log_space` when products leave the range of
a double.
"""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import bit_sets

_SPLIT_EXHAUSTIVELY = 7  # up to this number of tensors, all splits into two groups are compared


class Tensor(NamedTuple):
    """An array, the variables of its axes, and the array for its derivative (or None)."""

    array: np.ndarray
    axes: tuple[int, ...]
    derivative: np.ndarray | None = None


class Contraction:
    """A compiled request for the product of `inputs`, summed over the variables in `order`.

    inputs : `Tensor`s with entries >= 0. Each run reads the arrays again, so they may be overwritten in place. Either
        all inputs have derivatives, or none does
    sizes : number of values of each variable (a tuple, indexed by variable)
    order : the variables that are in `inputs` but not in `keep`, in the order of their elimination
    keep : the variables that are not summed out, none if an input has a derivative; each must occur in `inputs`

    After `run`, `roots` holds one number for each connected component. The product of these numbers is the sum over all
    variables (which could be too small for a float). With `keep`, `result` holds the sums, an array whose axes are
    `keep`. `tensors` lists the inputs and then the result of each step of `steps`.
    """

    def __init__(
        self, inputs: Iterable[Tensor], sizes: Sequence[int], order: Iterable[int], keep: Sequence[int] = ()
    ) -> None:
        self._sizes = sizes
        self._forward: list[tuple] = []
        self.tensors = list(inputs)
        self._differentiate = any(tensor.derivative is not None for tensor in self.tensors)
        scopes = tuple(tensor.axes for tensor in self.tensors)
        keep = tuple(keep)
        self.steps, rest = schedule(scopes, sizes, tuple(order), keep)
        backward = [self._compile(step) for step in self.steps]
        self.roots = [self.tensors[index] for index in rest]
        if keep:
            product, _ = self._product(self.roots, keep)
            self.result = product.array
        # A step must pass derivatives to its inputs before the inputs pass derivatives to theirs.
        self._backward = [operation for operations in reversed(backward) for operation in operations]

    def run(self) -> None:
        """Multiply and sum, and write the results into `roots` and `result`."""
        _execute(self._forward)

    def run_backward(self, seed: float = 1.0) -> None:
        """Write the derivatives of `seed` times the logarithm of the sum into each tensor's `derivative`.

        Call the method after `run`, and only if no root is 0.
        """
        for root in self.roots:
            np.divide(seed, root.array, out=root.derivative)
        _execute(self._backward)

    def _compile(self, step: _Step) -> list[tuple]:
        """Append the operations of `step` to the forward pass, and return its operations for the backward pass."""
        batch, rows, columns, k = step.shape
        left, undo_left = self._matrix(step.left, step.batch + step.rows + (step.variable,), (batch, rows, k))
        out = self._new(step.batch + step.rows + step.columns)
        self.tensors.append(out)
        sums = out.array.reshape(batch, rows, columns)
        d_sums = None if out.derivative is None else out.derivative.reshape(sums.shape)
        if not step.right:
            self._forward.append((np.add.reduce, (left.array, -1), sums[:, :, 0]))
            return [(np.positive, (d_sums,), left.derivative), *undo_left]
        right, undo_right = self._matrix(step.right, step.batch + step.columns + (step.variable,), (batch, columns, k))
        self._forward.append((np.matmul, (left.array, right.array.transpose(0, 2, 1)), sums))
        if d_sums is None:
            return []
        spread = np.multiply if columns == 1 else np.matmul
        to_left = (spread, (d_sums, right.array), left.derivative)
        to_right = (np.matmul, (d_sums.transpose(0, 2, 1), left.array), right.derivative)
        return [to_left, to_right, *undo_left, *undo_right]

    def _matrix(self, indices, axes, shape):
        """Return the product of the tensors `indices`, its axes joined to give `shape`, and its backward operations."""
        product, undo = self._product([self.tensors[index] for index in indices], axes)
        try:
            return _reshaped(product, shape), undo
        except ValueError:  # the axes to be joined do not lie side by side: join those of a copy
            copy = self._new(axes)
            self._forward.append((np.positive, (product.array,), copy.array))
            undo = [(np.positive, (copy.derivative,), product.derivative), *undo]
            return _reshaped(copy, shape), undo

    def _product(self, tensors, axes):
        """Multiply `tensors`, smallest first; return the product, a view along `axes`, and its backward operations."""
        first, *others = sorted(tensors, key=lambda tensor: tensor.array.size) if len(tensors) > 1 else tensors
        undo: list[tuple] = []
        for second in others:
            along = tuple(v for v in axes if v in first.axes or v in second.axes)
            product = self._new(along)
            factors = _along(first, along).array, _along(second, along).array
            self._forward.append((np.multiply, factors, product.array))
            if self._differentiate:
                undo[:0] = [_undo_product(product, first, second), _undo_product(product, second, first)]
            first = product
        return _along(first, axes), undo

    def _new(self, axes) -> Tensor:
        shape = [self._sizes[v] for v in axes]
        return Tensor(np.empty(shape), axes, np.empty(shape) if self._differentiate else None)


def _execute(operations) -> None:
    for function, arguments, out in operations:
        function(*arguments, out=out)


def _undo_product(product: Tensor, factor: Tensor, other: Tensor):
    """Return the operation that computes the derivative of `factor` from that of `product` = `factor` * `other`."""
    if len(factor.axes) == len(product.axes):
        aligned, wide = _along(factor, product.axes), _along(other, product.axes)
        return np.multiply, (product.derivative, wide.array), aligned.derivative
    subscripts = _subscripts(product.axes, other.axes, factor.axes)
    return np.einsum, (subscripts, product.derivative, other.array), factor.derivative


@functools.lru_cache(maxsize=4096)
def _subscripts(product, other, factor) -> str:
    """Return ``np.einsum`` subscripts from the axes of a product and of one factor to the axes of the other factor."""
    letter = dict(zip(sorted(product), string.ascii_letters))  # there may be more variables than letters
    whole, known, wanted = ("".join(letter[v] for v in axes) for axes in (product, other, factor))
    return f"{whole},{known}->{wanted}"


def _along(tensor: Tensor, along) -> Tensor:
    """Return a view whose axes are `along`; an axis that the tensor lacks has length 1."""
    if tensor.axes == along:
        return tensor
    order, index = _alignment(tensor.axes, along)
    derivative = None if tensor.derivative is None else tensor.derivative.transpose(order)[index]
    return Tensor(tensor.array.transpose(order)[index], along, derivative)


@functools.lru_cache(maxsize=4096)
def _alignment(axes, along) -> tuple:
    """Return the transposition and the index that turn an array with axes `axes` into a view with axes `along`."""
    order = [axes.index(v) for v in along if v in axes]
    return order, (*(slice(None) if v in axes else None for v in along), ...)  # the ... gives a view even of a number


def _reshaped(tensor: Tensor, shape) -> Tensor:
    """Return a view with some axes joined; `axes` is not updated. Raises ``ValueError`` if a copy is needed."""
    derivative = None if tensor.derivative is None else tensor.derivative.reshape(shape, copy=False)
    return Tensor(tensor.array.reshape(shape, copy=False), tensor.axes, derivative)


class _Step(NamedTuple):
    """Sum `variable` out of the product of the tensors `left` and `right` (indices into `tensors`). The result has the
    axes `batch` (in both groups), then `rows` (in left only), then `columns` (in right only). `shape` gives the number
    of cells over each of these three groups of axes and the number of values of the variable."""

    variable: int
    left: tuple[int, ...]
    right: tuple[int, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    shape: tuple[int, int, int, int]


@functools.lru_cache(maxsize=4096)
def schedule(
    scopes: tuple[tuple[int, ...], ...], sizes: tuple[int, ...], order: tuple[int, ...], keep: tuple[int, ...]
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return steps that eliminate the variables in `order` one by one, and the numbers of the remaining tensors.

    scopes : the tensors' variables; sizes : number of values of each variable; keep : the variables that remain
    """
    active = {number: bit_sets.of(scope) for number, scope in enumerate(scopes)}
    plan = []
    for v in order:
        numbers = [number for number, scope in active.items() if scope >> v & 1]
        joined = tuple(map(active.pop, numbers))
        left, right, in_left, in_right = _best_split(joined, sizes)
        plan.append((v, [numbers[place] for place in left], [numbers[place] for place in right], in_left, in_right))
        active[len(scopes) + len(plan) - 1] = (in_left | in_right) & ~(1 << v)
    return _with_layouts(plan, sizes, len(scopes), keep), tuple(active)


@functools.lru_cache(maxsize=16384)
def _best_split(scopes, sizes):
    """Split the tensors of a variable into two groups for the matrix product; return places and scope of each group."""
    if len(scopes) == 1:
        return (0,), (), scopes[0], 0
    # Places and union of each set of groups; sets are numbered by bits, the last group's bit lowest.
    places, unions = [()], [0]
    for its, scope in reversed(_few_groups(scopes, sizes)):
        places += [its + others for others in places]
        unions += [scope | union for union in unions]

    def cost(group):  # a single tensor is used in place; a product has to be written out
        cells = bit_sets.cells(unions[group], sizes)
        return cells if len(places[group]) > 1 else cells / 4

    every, half = len(unions) - 1, len(unions) // 2
    right = min(range(1, half), key=lambda group: cost(every ^ group) + cost(group)) if half > 2 else 1
    left = every ^ right
    if bit_sets.cells(unions[left], sizes) < bit_sets.cells(unions[right], sizes):
        left, right = right, left
    return places[left], places[right], unions[left], unions[right]


def _few_groups(scopes, sizes):
    """Return the places and the scope of each tensor, or of each group of tensors if there are too many to compare."""

    def together(pair):
        (places, scope), (others, other) = pair
        return places + others, scope | other

    groups = [((place,), scope) for place, scope in enumerate(scopes)]
    while len(groups) > _SPLIT_EXHAUSTIVELY:
        pair = min(itertools.combinations(groups, 2), key=lambda pair: bit_sets.cells(together(pair)[1], sizes))
        groups = [group for group in groups if group not in pair] + [together(pair)]
    return groups


def _sorted_like(variables: int, wish) -> tuple[int, ...]:
    """Return the members of a set, each sorted by its place in `wish` or, if it is not there, by its own number."""
    members = bit_sets.members(variables)
    if len(members) < 2 or not wish:
        return members
    place = {u: position for position, u in enumerate(wish)}
    return tuple(sorted(members, key=lambda u: place.get(u, u)))


def _with_layouts(plan, sizes, inputs: int, keep) -> tuple[_Step, ...]:
    """Choose the order of the axes of each result, from the last step on back, to suit the step that reads it."""
    wanted, steps, cells = dict[int, tuple[int, ...]](), [], bit_sets.cells
    for number, (v, left, right, in_left, in_right) in reversed(list(enumerate(plan, start=inputs))):
        wish = wanted.get(number, keep)
        if right and wish and in_left & ~in_right & 1 << wish[-1]:
            left, right, in_left, in_right = right, left, in_right, in_left
        both, only_left, only_right = (
            axes & ~(1 << v) for axes in (in_left & in_right, in_left & ~in_right, in_right & ~in_left)
        )
        batch, rows, columns = (_sorted_like(axes, wish) for axes in (both, only_left, only_right))
        for group, axes in ((left, batch + rows + (v,)), (right, batch + columns + (v,))):
            for tensor in group:
                wanted[tensor] = axes
        shape = cells(both, sizes), cells(only_left, sizes), cells(only_right, sizes), sizes[v]
        steps.append(_Step(v, tuple(left), tuple(right), batch, rows, columns, shape))
    return tuple(reversed(steps))
