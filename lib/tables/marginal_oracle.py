"""The marginal oracle: compute log Z and the marginals of every clique from potentials on cliques.

This is MARGINAL-ORACLE of miura2025 (Definition 2.10) for the model of its Definition 2.9,

    p(x) = exp(sum_c theta_c(x_c)) / Z.

The potentials are one flat array, clique after clique, with the cells in C order, and so are the marginals.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..numerics import in_order, log_space
from ..numerics.contraction import Contraction, Tensor
from ..numerics.junction_trees import Growth, components, elimination_order, junction_tree

_LOWEST = np.finfo(float).min
_LOG_RANGE = 708  # plain numbers reach from exp(-708) to exp(708) at full precision
_BALANCED = 5  # times that tensors are balanced before logarithms are used
_TOGETHER = 2**22  # entries of an array in `queries`, unless a single set needs more


class MarginalOracle:
    """An oracle for the marginals of models on the same cliques; one preparation serves all of these models.

    cliques : different tuples of variables. Each tuple is sorted and not empty
    sizes : number of values of each variable (a tuple, indexed by variable)
    order : an elimination order that is known to be good, for comparison with the orders that are found

    The potentials of a clique inside a larger clique are added to the tensor of the larger clique. A variable that is
    in no clique is uniform.
    """

    def __init__(
        self, cliques: Iterable[tuple[int, ...]], sizes: Sequence[int], order: tuple[int, ...] | None = None
    ) -> None:
        self.cliques, self.sizes = tuple(cliques), tuple(sizes)
        self.shapes = [self._shape(clique) for clique in cliques]
        ends = [0, *np.cumsum([math.prod(shape) for shape in self.shapes], dtype=int).tolist()]
        self.slices = [slice(start, end) for start, end in zip(ends, ends[1:])]
        self.cells = ends[-1]
        self._holding: list[list[int]] = [[] for _ in sizes]
        for number, clique in enumerate(self.cliques):
            for v in clique:
                self._holding[v].append(number)
        self._sets = list(map(frozenset, self.cliques))
        hosts = [
            clique
            for clique, own in zip(self.cliques, self._sets)
            if not any(own < self._sets[number] for number in self._holding[clique[0]])
        ]
        alone = [(v,) for v, holding in enumerate(self._holding) if not holding]
        self._scopes = (*hosts, *alone)
        self.tree = junction_tree(self._scopes, self.sizes, order)
        self._component = components(self._scopes, len(sizes))
        self._layers, self._starts, self._host_of_cell = self._gather(hosts)
        self._potentials = np.zeros(self.cells + 1)
        self._contraction, self._log_tensors = self._tensors(hosts, alone)
        holders = [[(table, axes) for table, axes in self._log_tensors if v in axes] for v in range(len(sizes))]
        self._shared = [
            [(table, tuple(axis for axis, u in enumerate(axes) if u != v)) for table, axes in tables]
            for v, tables in enumerate(holders)
        ]
        self._log_cells = in_order.total(map(math.log, sizes))
        self._limit = _LOG_RANGE - 40 - 2 * self._log_cells
        self._headroom = (_LOG_RANGE - 40 - self._log_cells) / max(len(hosts), 1)

    def _shape(self, clique):
        return tuple(self.sizes[v] for v in clique)

    def _gather(self, hosts):
        """Return which potentials to add up for each cell of the `hosts`, the cliques that are not inside others. The
        result has three parts: layers (depth, cells of all hosts) of positions in the flat potentials, or the position
        one past their end; the start of the cells of each host; and the host of each cell."""
        shapes = {host: self._shape(host) for host in hosts}
        sizes = {host: math.prod(shape) for host, shape in shapes.items()}
        ends = np.cumsum([0, *sizes.values()], dtype=int)
        hosted = dict[tuple, list]((host, []) for host in hosts)
        for clique, own, cells in zip(self.cliques, self._sets, self.slices):
            others = [self.cliques[number] for number in self._holding[clique[0]] if own < self._sets[number]]
            around = [other for other in others if other in hosted] or [clique]
            hosted[min(around, key=sizes.__getitem__)].append((clique, cells))
        gathered = np.full((max(map(len, hosted.values()), default=1), ends[-1]), self.cells)
        for (host, inside), start, end in zip(hosted.items(), ends, ends[1:]):
            for layer, (clique, cells) in zip(gathered, inside):
                kept = [n if v in clique else 1 for v, n in zip(host, shapes[host])]
                positions = np.arange(cells.start, cells.stop).reshape(kept)
                layer[start:end].reshape(shapes[host])[:] = positions
        return gathered, ends[:-1], np.repeat(np.arange(len(hosts)), list(sizes.values()))

    def _tensors(self, hosts, alone):
        """Return the compiled sum over all variables, and the logarithms of its tensors, as views of flat arrays."""
        flat = [np.empty(self._layers.shape[1]) for _ in range(3)]
        self._log_factors, self._factors, self._slopes = flat
        views = []
        for host, start in zip(hosts, self._starts.tolist()):
            shape = self._shape(host)
            cells = slice(start, start + math.prod(shape))
            views.append([array[cells].reshape(shape) for array in flat])
        tensors = [Tensor(factor, host, slope) for host, (_, factor, slope) in zip(hosts, views)]
        tensors += [Tensor(np.ones(self._shape(one)), one, np.empty(self._shape(one))) for one in alone]
        logs = [(log_factor, host) for host, (log_factor, _, _) in zip(hosts, views)]
        logs += [(np.zeros(self._shape(one)), one) for one in alone]
        return Contraction(tensors, self.sizes, self.tree.order), logs

    def fits(self, clique: tuple[int, ...], limit: float | Fraction) -> bool:
        """Return whether the model with `clique` added has at most `limit` cells, or no more cells than without it."""
        return self._growth.has(clique) or self._growth.within(limit, clique)

    @functools.cached_property
    def _growth(self):
        return Growth(self._scopes, self.sizes, self.tree)

    def __call__(self, potentials: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return (log Z, probabilities of the cells of each clique), for flat `potentials` (cells,).

        A potential may be -inf. Later calls of the other methods use the same potentials. Raises ``ValueError`` if no
        record is possible.
        """
        self._singles = dict[int, np.ndarray]()
        np.concatenate((potentials, [0.0]), out=self._potentials)  # the last entry is a potential that adds nothing
        self._collect()
        self._balance_if_sure()
        scale = 0.0
        for attempt in range(_BALANCED + 1):
            if attempt:
                self._balance()
            highest, scaled = self._exponentiate()
            self._contraction.run()
            roots = [float(root.array) for root in self._contraction.roots]
            log_z = in_order.total(map(math.log, roots)) + scaled if all(roots) else -math.inf
            depth = highest - log_z
            log_z, scale = log_z + scale, scale + scaled
            self._in_range = self._plain_numbers_do(depth)
            if self._in_range:
                break
        if self._in_range:
            self._seed = math.exp(self._limit - max(depth, 0.0))
            self._contraction.run_backward(self._seed)
            at_hosts: np.ndarray = self._factors * self._slopes / self._seed
        else:
            self._elimination = log_space.Elimination(self._log_tensors, self.sizes, self.tree.order)
            log_z = float(self._elimination.result) + scale
            if log_z == -math.inf:
                raise ValueError("potentials must leave some record possible, got a model that is zero everywhere")
            tables = map(np.ravel, self._elimination.marginals())
            at_hosts = np.concatenate([np.empty(0), *tables])[: len(self._factors)]
        if len(self._layers) > 1:
            weights = np.broadcast_to(at_hosts, self._layers.shape)
            at_hosts = np.bincount(self._layers.ravel(), weights.ravel(), self.cells + 1)[: self.cells]
        self.probabilities = at_hosts
        return log_z, self.probabilities

    def _plain_numbers_do(self, depth) -> bool:
        """Return whether plain numbers suffice for a sum Z of exp(-depth) times the product of the factors' maxima.
        A product below the range of plain numbers is less than exp(-708) times the product of the maxima. A sum loses
        at most one product for each cell of the domain, and a lost product is a factor in at most that number of terms.
        The loss matters only if Z itself is as small as the lost products.
        """
        return depth <= self._limit

    def _collect(self) -> None:
        """Set the logarithms of the tensors to the sums of their potentials."""
        np.take(self._potentials, self._layers[0], out=self._log_factors)
        for layer in self._layers[1:]:
            self._log_factors += self._potentials[layer]

    def _balance_if_sure(self) -> None:
        """Balance the tensors if it is certain that plain numbers do not suffice without balancing. Z is at least the
        product of the minima, and at most the product of the maxima of balanced tensors times the number of records."""
        logs, starts = self._log_factors, self._starts
        if not logs.size:
            return
        highest = np.maximum(np.maximum.reduceat(logs, starts), _LOWEST)
        ranges = np.minimum(highest - np.minimum.reduceat(logs, starts), self._limit + 1)  # whose sum does not overflow
        if ranges.sum() > self._limit:
            before = logs.copy()
            self._balance()
            fall = highest - np.maximum(np.maximum.reduceat(logs, starts), _LOWEST)
            if fall.sum() - self._log_cells <= self._limit:
                np.copyto(logs, before)

    def _balance(self) -> None:
        """Move functions of single variables between the tensors, so that for each value of each variable the tensors'
        maxima become equal. Their product stays the same, and the product of the maxima is then often nearer to Z."""
        with np.errstate(invalid="ignore", over="ignore"):  # values that some tensor excludes stay as they are
            for tables in self._shared:
                maxima = [table.max(axis=others, keepdims=True) for table, others in tables]
                mean = in_order.total(each.ravel() for each in maxima) / len(maxima)
                for (table, _), own in zip(tables, maxima):
                    shift = mean.reshape(own.shape) - own
                    table += np.where(np.isfinite(shift), shift, 0.0)

    def _exponentiate(self) -> tuple[float, float]:
        """Set the tensors to their scaled exponentials. Return the sum of the largest logarithms before scaling, and
        the logarithm of the scale. The scale makes the maxima as large as possible without overflow in a product or
        sum. Maxima below 1 would use only half of the range, and computing with the subnormal numbers at its lower end
        is slow."""
        logs = self._log_factors
        if not logs.size:
            return 0.0, 0.0
        highest = np.maximum(np.maximum.reduceat(logs, self._starts), _LOWEST)
        maximum = float(highest.sum())
        highest -= self._headroom
        logs -= highest[self._host_of_cell]
        np.exp(logs, out=self._factors)
        return maximum, float(highest.sum())

    def query(self, variables: tuple[int, ...]) -> NDArray[np.float64]:
        """Return the probabilities over `variables` (sorted) at the last potentials, an array with these axes."""
        parts: dict[int, list[int]] = {}
        for v in variables:
            parts.setdefault(self._component[v], []).append(v)
        if len(parts) == 1 < len(variables):
            return self._connected(variables)
        table = np.ones(())
        for part in parts.values():  # components are independent
            table = np.multiply.outer(table, self._single(*part) if len(part) == 1 else self._connected(tuple(part)))
        found = [v for part in parts.values() for v in part]
        return table.transpose([found.index(v) for v in variables])

    def _single(self, v):
        """Return `query` for one variable; the result is cached, to serve all independent pairs."""
        if v not in self._singles:
            self._singles[v] = self._connected((v,))
        return self._singles[v]

    def _connected(self, variables):
        """Return `query` for variables of one component."""
        around = [number for number in self._holding[variables[0]] if self._sets[number].issuperset(variables)]
        if around:
            number = min(around, key=lambda c: math.prod(self.shapes[c]))
            table = self.probabilities[self.slices[number]].reshape(self.shapes[number])
            return table.sum(axis=tuple(axis for axis, v in enumerate(self.cliques[number]) if v not in variables))
        if not self._in_range:
            others = [v for v in self.tree.order if v not in variables]
            found = log_space.Elimination(self._log_tensors, self.sizes, others, variables)
            return np.exp(found.result - self._elimination.result)
        inputs = self._around(variables)
        order = elimination_order(tuple(tensor.axes for tensor in inputs), self.sizes, variables, self.tree.order)
        contraction = Contraction(inputs, self.sizes, order, variables)
        contraction.run()
        return contraction.result / self._seed

    def _around(self, variables) -> list[Tensor]:
        """Return a few tensors whose product, summed over all other variables, is the marginal of `variables`.

        Each step of the contraction sums out one variable, and a later step reads the result, so the steps form a tree.
        The steps that sum out `variables`, and the steps between them on the tree, are needed. The inputs of these
        steps contain the sums of all steps below, and the derivative of the topmost result contains the sums of all
        steps above.
        """
        steps, tensors = self._contraction.steps, self._contraction.tensors
        parent = self._parent
        needed: set[int] = set()
        for number, step in enumerate(steps):
            k: int | None = number if step.variable in variables else None
            while k is not None and k not in needed:
                needed.add(k)
                k = parent[k]
        while True:
            top = max(needed)
            below = [k for k in needed if parent[k] == top]
            held = {steps[k].variable for k in needed if k != top}
            if len(below) != 1 or not set(variables) <= held.union(tensors[len(self._scopes) + below[0]].axes):
                break
            needed.remove(top)
        made = {len(self._scopes) + k for k in needed}
        read = [number for k in needed for number in steps[k].left + steps[k].right if number not in made]
        result = tensors[len(self._scopes) + top]
        inputs = [Tensor(tensors[number].array, tensors[number].axes) for number in read]
        return [*inputs, Tensor(result.derivative, result.axes)]

    @functools.cached_property
    def _parent(self) -> list[int | None]:
        """Return, for each step of the contraction, the step that reads its result, or None if no step does."""
        steps = self._contraction.steps
        reader = {number: k for k, step in enumerate(steps) for number in step.left + step.right}
        return [reader.get(len(self._scopes) + k) for k in range(len(steps))]

    def conditionals(self) -> list[tuple[int, list]]:
        """Return (variable, tensors of its conditional distribution) for each variable, in reverse elimination order.

        The product of the tensors is proportional to the probabilities of the variable given the variables earlier in
        the list. A tensor is a pair (array of logarithms, its axes), as in `log_space`.
        """
        if self._in_range:
            with np.errstate(divide="ignore"):
                pool = [(np.log(tensor.array), tensor.axes) for tensor in self._contraction.tensors]
        else:
            pool = self._elimination.pool
        return [
            (step.variable, [pool[number] for number in step.left + step.right])
            for step in reversed(self._contraction.steps)
        ]


def queries(
    oracle: MarginalOracle, sets: Iterable[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Yield (set, `oracle.query(set)`) for `sets`, in any order; for many sets this is faster than separate queries.

    sets : different sorted sets of two or three variables

    Each step of the contraction has a clique: the variable that it sums out, and those of its result. The steps of
    three variables have a median on the tree of all steps: the lowest of the steps that are above two of them.
    Given the clique C of this step, the three are independent: P(u, v, w) is the sum of P(u, C) P(v | C) P(w | C).
    """
    cliques = _cliques(oracle)
    place = {step.variable: k for k, step in enumerate(oracle._contraction.steps)}
    meeting = np.full((len(place), len(place)), len(place))  # the lowest step that is above both variables
    for k in reversed(range(len(place))):
        meeting[np.ix_(cliques[k][3], cliques[k][3])] = k
    lowest, tables = meeting.tolist(), [oracle.query(clique) for clique, _, _, _ in cliques]
    for batch, stacked, parts in _batches(oracle, cliques, sets):
        pairs, triples = defaultdict[int, list](list), defaultdict[int, dict](dict)
        for each in batch:
            if len(each) == 2:
                pairs[place[each[0]]].append(each)
            else:
                u, v, w = sorted(each, key=place.__getitem__)
                k, u, v, w = min((lowest[u][v], u, v, w), (lowest[u][w], u, w, v), (lowest[v][w], v, w, u))
                triples[k].setdefault((u, v), []).append((w, each))
        rows, ends = {}, 0
        for v in sorted(stacked, key=place.__getitem__):
            rows[v], ends = slice(ends, ends + oracle.sizes[v]), ends + oracle.sizes[v]
        if parts > 1:
            yield from _pairs_in_parts(oracle, cliques, tables, min(stacked), pairs, parts)
            continue
        for k, joint, given in _with_each(oracle, cliques, tables, rows):
            if k in pairs:
                sums = _with_first(joint, cliques[k][0], pairs[k])
                yield from ((pair, sums[rows[pair[1]]].T) for pair in pairs[k])
            joint, given = joint.reshape(len(joint), -1), given.reshape(len(given), -1)
            for (u, v), others in triples[k].items():
                start, stop = min(rows[w].start for w, _ in others), max(rows[w].stop for w, _ in others)
                both = (joint[rows[u], None] * given[rows[v]]).reshape(-1, given.shape[1])
                sums = (both @ given[start:stop].T).reshape(*oracle._shape((u, v)), -1)
                for w, triple in others:
                    table = sums[:, :, rows[w].start - start : rows[w].stop - start]
                    yield triple, table.transpose([(u, v, w).index(one) for one in triple])


def _with_first(joint, clique, pairs) -> np.ndarray:
    """Return P(u, v) from P(u, C), where v is the first variable of all `pairs`."""
    own = 1 + clique.index(pairs[0][0])
    return joint.sum(axis=tuple(axis for axis in range(1, joint.ndim) if axis != own))


def _pairs_in_parts(oracle, cliques, tables, last, pairs, parts):
    """Yield the results of `queries` for `pairs` with the variable `last`, some of whose values are stacked at a time."""
    found = defaultdict[tuple, list](list)
    for values in np.array_split(np.arange(oracle.sizes[last]), parts):
        rows = {last: slice(0, len(values))}
        for k, joint, _ in _with_each(oracle, cliques, tables, rows, values[0]):
            for pair in pairs.get(k, ()):
                found[pair].append(_with_first(joint, cliques[k][0], [pair]).T)
    for pair, tables_of_parts in found.items():
        yield pair, np.concatenate(tables_of_parts, axis=1)


def _cliques(oracle: MarginalOracle) -> list[tuple[tuple[int, ...], tuple[int, ...], list[int], list[int]]]:
    """Return, for each step, its clique, the variables of its result, the steps whose results it reads, and the
    variables summed out by it and by the steps below it. A last entry, with an empty clique, joins all components.
    """
    found = []
    for step, result in zip(oracle._contraction.steps, oracle._contraction.tensors[len(oracle._scopes) :]):
        clique = tuple(sorted((step.variable, *result.axes)))
        found.append((clique, tuple(sorted(result.axes)), list[int](), [step.variable]))
    found.append(((), (), [], []))
    for k, parent in enumerate(oracle._parent):
        _, _, children, below = found[-1 if parent is None else parent]
        children.append(k)
        below += found[k][3]
    return found


def _batches(oracle, cliques, sets):
    """Yield (batch of `sets`, variables to stack for it, parts): all variables of triples, and the last one of pairs.

    The variables are divided into blocks of which three can be stacked at a time, so that few batches share a block. If
    the values of a single variable are too many to be stacked together, `parts` is the number of parts needed.
    """
    cells = max(math.prod(oracle._shape(clique)) for clique, _, _, _ in cliques)
    cells = max(cells, in_order.total(math.prod(oracle._shape(kept)) for _, kept, _, _ in cliques))
    blocks = [3 * cells * end // _TOGETHER for end in itertools.accumulate(oracle.sizes)]
    batch, stacked, width = list[tuple[int, ...]](), set[int](), 0

    def parts(stacked):
        values = oracle.sizes[min(stacked)]
        return min(-(-cells * values // _TOGETHER), values) if len(stacked) == 1 else 1

    for each in sorted(sets, key=lambda each: ([blocks[v] for v in each[::-1]], each)):
        needed = set(each if len(each) > 2 else each[1:])
        if not needed <= stacked:
            width += in_order.total(oracle.sizes[v] for v in needed - stacked)
            if batch and cells * width > _TOGETHER:
                yield batch, stacked, parts(stacked)
                batch, stacked, width = [], set(), in_order.total(oracle.sizes[v] for v in needed)
            stacked |= needed
        batch.append(each)
    if batch:
        yield batch, stacked, parts(stacked)


def _with_each(oracle, cliques, tables, rows, first=0):
    """Yield (k, P(u, C), P(u | C)) for the clique C of each step k, from the last step on back.

    tables : P(C) for each step
    rows : for each variable u to stack, the places of its values on the first axis, a slice; the other axes are C
    first : the value of each variable that comes first in its slice

    Let S be the variables of a step's result. For all u below the step, P(u | S) follows from the steps below. For
    all other u, it follows from the step that reads the result.
    """
    width = max(part.stop for part in rows.values())
    given = [np.zeros((width, *oracle._shape(kept))) for _, kept, _, _ in cliques]
    inside = [np.zeros(width, dtype=bool) for _ in cliques]
    for mask, (_, _, _, below) in zip(inside, cliques):
        for v in below:
            mask[rows.get(v, slice(0))] = True

    def along(table, axes, clique):
        return table.reshape(-1, *(oracle.sizes[v] if v in axes else 1 for v in clique))

    def in_clique(k):
        clique, kept, children, _ = cliques[k]
        found = np.empty((width, *tables[k].shape))
        found[:] = along(given[k], kept, clique)
        for child in children:
            found[inside[child]] = along(given[child], cliques[child][1], clique)[inside[child]]
        for v in set(clique).difference(kept).intersection(rows):
            found[rows[v]] = along(np.eye(oracle.sizes[v])[first:][: rows[v].stop - rows[v].start], (v,), clique)
        return found

    def condition(joint, k, child):
        others = tuple(axis for axis, v in enumerate(cliques[k][0]) if v not in cliques[child][1])
        sums, weights = joint.sum(axis=tuple(axis + 1 for axis in others)), tables[k].sum(axis=others)
        given[child] = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)

    for k in range(len(cliques) - 1):
        condition(tables[k] * in_clique(k), k, k)
    for k in reversed(range(len(cliques))):
        own = in_clique(k)
        joint = tables[k] * own
        for child in cliques[k][2]:
            condition(joint, k, child)
        yield k, joint, own
