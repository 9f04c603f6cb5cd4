"""A synthesizer that follows scikit-learn's conventions: parameters, `fit`, and learned attributes with a final `_`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..numerics import checks
from ..numerics.extras import extra
from ..tables.table import Domain
from . import account as accounts
from . import conditions, files, queries, restrictions, sources, staged, synthesizer
from . import schema as schemas
from .conditions import Condition
from .queries import Answer
from .schema import Schema

with extra("data"):
    import narwhals as nw


class Synthesizer:
    """Make differentially private synthetic records of the user's table, and answer questions about it with intervals.

    schema : the public schema: a `Schema`, the path of a YAML file, a mapping with the content of such a file, or a
        `Domain` (see `schema.of`)
    epsilon, delta : the guarantee, in (0, inf) and (0, 1), or without `seed` in [1e-6, 1e6] and [1e-300, 1)
    workload : [1, number of attributes], the size of the sets of attributes whose joint counts are preserved; None
        means 2, or 1 if there is one attribute
    method : "aim", or "staged" for staged residuals (`tables.staged_residuals`)
    neighbours : "unbounded" if a record is added or removed, "bounded" if a record is replaced and the number of
        records is public
    records : [0, inf), the number of records that `write` writes; 0 means as many as in the table, a number that is
        noisy unless it is public
    within : where numbers lie in their bins. "interpolated" draws them so that the density follows the neighbouring
        counts and correlations are kept (`interpolation`), "uniform" draws them uniformly, and "middle" takes the
        middle of the bin
    seed : None, as a release needs, means the operating system's randomness. With an integer, the results can be
        repeated but must not be released

    After `fit`, `schema_` is the `Schema`, `release_` the `Release` with the model and the measurements, and `result_` the
    `Result` of AIM or the `StagedResult` (absent after `load`). `epsilon_` is the epsilon of the release. Parameters are stored as given and
    checked by `fit`. All methods except `fit` use only what was released, so they cost no privacy.

    >>> import pandas as pd
    >>> from lib.release import Synthesizer
    >>> frame = pd.DataFrame({"sex": ["f", "m"] * 500, "age": [20, 40] * 500})
    >>> public = {"attributes": {"sex": {"values": ["f", "m"]}, "age": {"range": [0, 99], "bins": 10}}}
    >>> synthesizer = Synthesizer(public, epsilon=1.0, seed=1).fit(frame)
    >>> made = synthesizer.sample(5, where="sex = f")
    >>> print(type(made).__name__, set(made["sex"]), synthesizer.query("mean(age) where sex = m").high > 40)
    DataFrame {'f'} True
    """

    schema_: Schema
    release_: synthesizer.Release
    result_: Any
    _kind: Any = "pandas"  # of table that `sample` returns

    def __init__(self, schema: Schema | str | Path | Mapping | Domain, epsilon: float = 1.0, delta: float = 1e-9, *,
                 workload: int | None = None, neighbours: str = "unbounded", records: int = 0, within: str = "interpolated",
                 seed: int | None = None, method: str = "aim") -> None:  # fmt: skip
        self.schema, self.epsilon, self.delta, self.workload = schema, epsilon, delta, workload
        self.neighbours, self.records, self.within, self.seed, self.method = neighbours, records, within, seed, method

    def fit(self, data: Any, table: str = "", *, account: str | Path | None = None,
            earlier: Synthesizer | None = None) -> Synthesizer:  # fmt: skip
        """Make the release from the records of `data` and return the synthesizer. Each call costs `epsilon` and `delta`.

        data : a pandas, polars or Arrow table, a file, a folder or an address, as for `sources.batches`
        table : the name of the database's table; empty for other sources
        account : the file of an `Account`. The cost is reserved before a record is counted, and stays reserved if the
            program stops after counting. If the file cannot be written at the end, ``OSError`` is raised, but the
            release is kept
        earlier : a fitted or loaded synthesizer for the same records and schema, to be continued. The model then
            follows the measurements of both releases, and `statement` gives their total epsilon

        Before a record is counted, warns (`schema.WideBins`) of bins so wide that a mean over them says little, and
        raises ``ValueError`` for parameters outside their ranges and for a release that the account refuses. Data that
        cannot be read raise ``ValueError`` as well.
        """
        public = self._checked()
        before = None if earlier is None else earlier._fitted("a release is continued").release_
        if before is not None:
            synthesizer.check_earlier(before, public.domain, self.neighbours, self.seed, self.method)
            if before.schema is not None and _meaning(before.schema) != _meaning(public):
                raise ValueError(
                    "earlier must have the bins of the schema and its treatment of missing and unlisted values, got a release with different ones"
                )
            if self.seed is None:  # the epsilon of both must be in its range
                _epsilon(self.method, _cost(self.method, self.epsilon, self.delta) + Fraction(before.rho), self.delta)
        kind: Any = "pandas"
        if not isinstance(data, (str, Path)):
            data = sources.frame(data)
            kind = data.implementation
        if said := schemas.wide(public):
            warnings.warn(said, schemas.WideBins, stacklevel=2)
        if account is not None:
            sources.check(data, public, table or "")
        settle = self._reserved(account, public, before)
        try:
            counted = sources.count(data, public, self._size(public), table or "")
        except Exception:  # before any noise is drawn, unlike an interruption, which may come at any time
            settle(state="withdrawn")
            raise
        result = synthesizer.run(counted, self.epsilon, self.delta, size=self._size(public), neighbours=self.neighbours,
                                 records=self.records, seed=self.seed, earlier=before, targets=public.targets, method=self.method)  # fmt: skip
        evidence = synthesizer.evidence(result)
        if public.never:
            model = restrictions.without(result.model, public.impossible, evidence)
            changed: dict[str, Any] = {"model": model}
            if self.method == "staged":
                model = result.model.of(model)
                changed = {"model": model, "targets": model.targets}
            result = replace(result, synthetic=model.synthesize(len(result.synthetic), rng=self._rng()), **changed)
        self.schema_, self.result_, self._kind = public, result, kind
        self.release_ = synthesizer.Release.of(result, public, self._settings())
        settle(accounts.fingerprint(evidence))  # if this fails, the release that was paid for is kept
        return self

    def _reserved(self, account, public, before) -> Callable[..., None]:
        """Reserve the cost in the file `account`, if given, and return the function that settles it."""
        if account is None:
            return lambda *_, **__: None
        if self.seed is not None:
            raise ValueError(f"seed must be None for a release in an account, got {self.seed}")
        what = f"{_TITLES[self.method]}, sets of {self._size(public)} of {len(public.attributes)} attributes, epsilon {self.epsilon:g}, delta {self.delta:g}"
        continues, opened = (
            accounts.fingerprint(synthesizer.evidence(before)) if before else "",
            accounts.Account(account),
        )
        rho = _cost(self.method, self.epsilon, self.delta)
        return partial(opened.settle, opened.reserve(rho, self.neighbours, what, continues))

    def _checked(self) -> Schema:
        """Return the schema. Raises ``ValueError`` for parameters outside their ranges."""
        public = schemas.of(self.schema)
        synthesizer.statement(self.epsilon, self.delta, self.neighbours, method=self.method)
        if self.seed is None:
            accounts.cost(self.epsilon, self.delta)
        else:
            checks.whole("seed", self.seed, "[0, inf)")
        if self.workload is not None:
            checks.whole("workload", self.workload, f"[1, {len(public.attributes)}]")
        checks.whole("records", self.records, "[0, inf)")
        checks.one_of("within", self.within, synthesizer.WITHIN)
        restrictions.check(public.domain, public.impossible)
        return public

    def sample(self, n: int | None = None, where: str = "") -> Any:
        """Return `n` synthetic records in a table of the kind that `fit` was given, or of pandas if it was given a file.

        n : [1, inf); None means as many as the model says that there are
        where : a condition that all records satisfy (`conditions`); they follow the model's distribution given the
            condition, without the targets of staged residuals

        Raises ``ValueError`` for an `n` out of range and for a condition that the model or its bins cannot satisfy.
        """
        public, model, beside = self._fitted("sample").schema_, self.release_.model, list[Condition]()
        if where:
            condition = conditions.parse(where, public.attributes)
            model, beside = restrictions.given(model, condition), [Condition("not", (condition,))]
        rng = self._rng()
        codes = model.synthesize(n, rng=rng)
        made = synthesizer.decoded(codes, public, self.within, rng=rng, never=beside, release=self.release_)
        return nw.from_arrow(made, backend=self._kind).to_native()

    def query(self, question: str, level: float = 0.95) -> Answer:
        """Return the `Answer` to a question such as ``mean(delay) where carrier = 'AS'``; see `queries.ask`."""
        released: Any = self._fitted("query").release_
        return queries.ask(released, self.schema_, question, level)

    def statement(self) -> str:
        """Return the guarantee of `fit` in words, as `synthesizer.statement` does."""
        fitted = hasattr(self, "release_")
        made = self.release_.settings if fitted else self._settings()
        others = (made[name] for name in ("delta", "neighbours", "seed", "method"))
        return synthesizer.statement(self.epsilon_ if fitted else made["epsilon"], *others)

    @property
    def epsilon_(self) -> float:
        """Return the epsilon of the release or, if it continues an earlier one, their total epsilon, rounded up."""
        released = self._fitted("epsilon_").release_
        epsilon, delta = released.settings["epsilon"], released.settings["delta"]
        if isinstance(released.rho, float) or released.rho <= _cost(
            released.settings["method"], epsilon, delta
        ):  # floats are from a seed
            return epsilon
        return _epsilon(released.settings["method"], released.rho, delta)

    def write(self, folder: str | Path, spreadsheet: bool = False) -> None:
        """Write the files of the release to `folder`, as `synthesizer.write` does. This works after `fit` only, not after `load`."""
        if not hasattr(self, "result_"):
            raise ValueError("fit must be called before write, on this synthesizer")
        made = self.release_.settings  # which `set_params` does not change
        size = made["workload"] or self._size(self.schema_)
        synthesizer.write(folder, self.result_, self.schema_, size, self.statement(),
                          within=made["within"], seed=made["seed"], settings=made, spreadsheet=spreadsheet)  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write the release to `path` (.npz). The file contains only public parameters and what was released."""
        released = self._fitted("save").release_
        with files.whole(path) as draft:
            synthesizer.save(released, draft, released.schema, released.settings)

    @classmethod
    def load(cls, path: str | Path, kind: str = "pandas") -> Synthesizer:
        """Return the synthesizer from a file that `save` wrote, or from the model.npz of a release.

        kind : what `sample` returns: a table of "pandas", "polars" or "pyarrow"

        Raises ``ValueError`` for any other file, and ``OSError`` if the file cannot be read.
        """
        release = synthesizer.load(path)
        release.settings.setdefault("method", "aim")  # the only one of earlier versions
        if release.schema is None or release.settings.keys() != inspect.signature(cls).parameters.keys() - {"schema"}:
            raise ValueError(
                f"{path} must contain its schema and parameters, got a release by another version or by `save`"
            )
        made = cls(release.schema, **release.settings)
        checks.one_of("kind", kind, ("pandas", "polars", "pyarrow"))
        made.schema_, made.release_, made._kind = release.schema, release, kind
        return made

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as given. `deep` has no effect; scikit-learn passes it."""
        return {name: getattr(self, name) for name in list(inspect.signature(type(self)).parameters)}

    def set_params(self, **params: Any) -> Synthesizer:
        """Set parameters and return the synthesizer. Raises ``ValueError`` for an unknown name."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"parameters must be among {', '.join(known)}, got {name!r}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v != defaults[k].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _size(self, public: Schema) -> int:
        return self.workload or min(2, len(public.attributes))

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params().items() if name != "schema"}

    def _rng(self) -> np.random.Generator:
        """Return a random generator that is used on released numbers only."""
        return np.random.default_rng(None if self.seed is None else checks.whole("seed", self.seed, "[0, inf)"))

    def _fitted(self, method: str) -> Synthesizer:
        if not hasattr(self, "release_"):
            raise ValueError(f"fit must be called before {method}")
        return self


def _cost(method: str, epsilon: float, delta: float) -> Fraction:
    """Return the zCDP cost of a release."""
    return staged.cost(epsilon, delta) if method == "staged" else accounts.cost(epsilon, delta)


def _epsilon(method: str, rho: Fraction, delta: float) -> float:
    """Return the epsilon of releases that cost `rho` together."""
    return staged.epsilon_of(rho, delta) if method == "staged" else accounts.epsilon_of(rho, delta)


_TITLES = {"aim": "AIM", "staged": "staged residuals"}


def _meaning(public: Schema) -> tuple:
    """Return the parts of a schema that decide which records each count contains, so not the format of dates in a file."""
    return [replace(each, form="") for each in public.attributes], public.blanks
