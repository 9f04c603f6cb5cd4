"""Count records in many parts, such as the files of a folder, in this process or with the workers of dask.distributed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..numerics.extras import extra
from ..tables.counting import Workload
from ..tables.table import Domain
from .counter import Counter

if TYPE_CHECKING:
    from distributed import Client


def count(parts: Iterable[Any], batches: Callable[[Any], Iterable[Mapping[str, ArrayLike]]], domain: Domain,
          workload: Workload = 2, *, max_cells: int = 10_000_000, client: Client | None = None) -> Counter:  # fmt: skip
    """Return the records of all `parts` in one `Counter`.

    parts : arguments of `batches`, for example paths
    batches : a function that maps a part to its records, in batches for `Counter.add`
    domain, workload, max_cells : as for `Counter`
    client : a `distributed.Client`, whose workers each count one part at a time. With None, this process counts all
        parts

    This process and each worker need memory for a few counters and a batch. If a worker is lost, another worker
    recounts the lost worker's part. Sums of integers do not depend on their order, so the counts are the same as with
    one process.

    Raises ``ValueError``, with a message that names the part, for records that do not fit the domain, and any error of
    `batches`.

    >>> from lib.release.parts import count
    >>> from lib.tables import Domain
    >>> morning, evening = [{"sex": [0, 1]}], [{"sex": [1]}, {"sex": [1, 1]}]  # two parts, of one batch and of two
    >>> counter = count([morning, evening], iter, Domain({"sex": 2}), workload=1)
    >>> print(len(counter), counter.marginal(["sex"]))
    5 [1 4]
    """
    total = Counter(domain, workload, max_cells=max_cells)
    given = batches, domain, workload, max_cells
    for counted in (_counted(part, *given) for part in parts) if client is None else _by_workers(client, parts, given):
        total += counted
    return total


def _counted(part, batches, domain, workload, max_cells) -> Counter:
    counter = Counter(domain, workload, max_cells=max_cells)
    for batch in batches(part):
        try:
            counter.add(batch)
        except ValueError as error:
            raise ValueError(f"{part}: {error}") from None
    return counter


def _by_workers(client, parts, given):
    with extra("cluster"):
        from distributed import as_completed  # imported here because it is slow to import and seldom needed

    calls = [client.submit(_counted, part, *given, pure=False) for part in parts]
    for future in as_completed(calls, loop=client.loop):
        yield future.result()
        future.release()
