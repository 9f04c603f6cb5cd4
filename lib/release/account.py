"""An account of all releases of the same records: what each release costs, and a total that they cannot exceed.

The account is a small file beside the data. Costs are exact fractions rho of zero-concentrated DP, which add up even if
each release is chosen after seeing the earlier ones. The total is shown as (epsilon, delta), with epsilon rounded up.

Before any record is counted, one transaction checks the cost against the total and reserves it. So processes that run
at the same time cannot exceed the total together, and no entry is lost. If the program or the machine stops, the
reservation is never settled and counts as spent, because a noisy number may have left the program. A reservation is
withdrawn only if an error ends the counting, before any noise is drawn. A release that uses less than its cost gets
nothing back.

The file is an SQLite database. On every system, SQLite locks a file and writes to it durably, either completely or not
at all; a file of JSON lines would need our own code for this. The locks work only on a local disk. Each act is a line
of JSON. The digest stored with an act covers it and all earlier acts, and so shows whether one of them was changed or
lost. Anyone who may write the file can still forge it or put back a copy.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..accounting import certified_zcdp, zcdp_to_dp
from ..mechanisms.sensitivity import NEIGHBOURS
from ..numerics import checks
from ..tables.graphical_model import Measurement

_MARK = 0x64704163  # SQLite's application_id of an account
_WAIT = 60  # seconds for other processes, each of which holds the file for milliseconds
DIGITS = Context(prec=6)


def in_decimals(number: Any) -> Any:
    """Return a float in (0, inf) as the decimal number that it is written as, because the float 0.1 exceeds 1/10."""
    return Fraction(repr(float(number))) if isinstance(number, float) and 0 < number < np.inf else number


def cost(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """Return the rho that a release without `seed` costs, rounded down so that it implies (epsilon, delta)-DP.

    epsilon : [1e-6, 1e6]; delta : [1e-300, 1). Floats are taken as the decimal numbers that they are written as

    >>> from lib.release.account import cost
    >>> print(round(float(cost(1.0, 1e-9)), 6))
    0.014973
    """
    return certified_zcdp(in_decimals(epsilon), in_decimals(delta))


def epsilon_of(rho: Fraction, delta: float | Fraction, up: bool = True) -> float:
    """Return the smallest epsilon of six digits whose `cost` at `delta` is at least `rho`; `rho` implies this epsilon.

    rho : [0, inf); delta : [1e-300, 1)
    up : with False, return the largest epsilon of six digits whose cost is at most `rho`, or 0 if it is below 1e-6

    Raises ``ValueError`` for an epsilon above 1e6.

    >>> from lib.release.account import cost, epsilon_of
    >>> print(epsilon_of(2 * cost(1.0, 1e-9), 1e-9), epsilon_of(2 * cost(1.0, 1e-9), 1e-9, up=False))
    1.43715 1.43714
    """
    if not (size := checks.number("rho", rho, "[0, inf)")):
        return 0.0
    found = DIGITS.create_decimal(float(zcdp_to_dp(size, checks.number("delta", delta, "[1e-300, 1)"))))
    if up:
        found = max(found, Decimal("1e-6"))
        while cost(Fraction(found), delta) < rho:
            found = DIGITS.next_plus(found)
        return float(found)
    while found >= 1e-6 and cost(Fraction(found), delta) > rho:
        found = DIGITS.next_minus(found)
    return float(found) if found >= 1e-6 else 0.0


def fingerprint(measurements: Iterable[Measurement]) -> str:
    """Return a digest of noisy counts. An account uses it to recognize a release."""
    found = hashlib.sha256()
    for each in measurements:
        found.update(json.dumps([each.attributes, float(each.sigma), np.shape(each.values)]).encode())
        found.update(np.asarray(each.values, "<f8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Entry:
    """One release: its number from 1, user, time (UTC), description, cost, neighbours, and state.

    state : "reserved" (running, or never settled), "made", or "withdrawn"; only a withdrawn release costs nothing
    fingerprint : the `fingerprint` of its measurements, empty until it is made
    """

    number: int
    who: str
    when: str
    what: str
    rho: Fraction
    neighbours: str
    state: str = "reserved"
    fingerprint: str = ""


@dataclass(frozen=True)
class Balance:
    """The declared total (epsilon, delta) for `neighbours`, its rho, and all entries in order."""

    epsilon: Fraction
    delta: Fraction
    neighbours: str
    rho: Fraction
    entries: tuple[Entry, ...] = ()

    @property
    def spent(self) -> Fraction:
        """Return the total rho of all entries that are not withdrawn."""
        return sum((each.rho for each in self.entries if each.state != "withdrawn"), Fraction(0))

    @property
    def left(self) -> float:
        """Return the largest epsilon that one more release can have at `delta`, rounded down."""
        return epsilon_of(self.rho - self.spent, self.delta, up=False)


class Account:
    """The account in the file `path`, which `Account.new` makes.

    All methods raise ``FileNotFoundError`` if the file is missing, ``ValueError`` if it is damaged or not an account, and
    ``OSError`` if it cannot be read or written. Each message contains the path.

    >>> import tempfile
    >>> from lib.release.account import Account, cost
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = Account.new(f"{folder}/people.account", epsilon=1.5, delta=1e-9)
    ...     account.settle(account.reserve(cost(1.0, 1e-9), "unbounded", "wages by age"))
    ...     print(account.balance().left)
    ...     try:
    ...         account.reserve(cost(1.2, 1e-9), "unbounded", "wages by region")
    ...     except ValueError as error:
    ...         print("would exceed" in str(error))
    1.08546
    True
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def new(cls, path: str | Path, epsilon: float, delta: float = 1e-9, neighbours: str = "unbounded") -> Account:
        """Make the file, declare the total of all releases, and return the account.

        epsilon : [1e-6, 1e6]; delta : [1e-300, 1); neighbours : the neighbours for which all releases are private

        Raises ``ValueError`` for values outside these ranges, and ``FileExistsError`` if the file exists.
        """
        checks.one_of("neighbours", neighbours, NEIGHBOURS)
        total = {"rho": cost(epsilon, delta), "epsilon": in_decimals(epsilon), "delta": in_decimals(delta)}
        Path(path).touch(exist_ok=False)
        try:
            with (made := cls(path))._acting(new=True) as (_, append):
                append("new", **total, neighbours=neighbours)
        except BaseException:  # for example, the disk is full
            Path(path).unlink()
            raise
        return made

    def balance(self) -> Balance:
        """Return the total and the entries as they are now."""
        with self._acting("BEGIN") as (now, _):
            return now

    def raise_to(self, epsilon: float) -> None:
        """Declare a larger total at the account's delta: `epsilon` must be above the present total and at most 1e6."""
        with self._acting() as (now, append):
            if (rho := cost(epsilon, now.delta)) <= now.rho:
                raise ValueError(
                    f"epsilon must be above {float(now.epsilon):g}, the total of {self.path}, got {epsilon}"
                )
            append("raise", epsilon=in_decimals(epsilon), rho=rho)

    def reserve(self, rho: Fraction, neighbours: str, what: str, continues: str = "") -> int:
        """Reserve the cost of a release, before its records are counted, and return its number.

        rho : (0, inf), a Fraction
        neighbours : the neighbours of the account; costs for different neighbours do not add up
        what : a description, with nothing from the records
        continues : the `fingerprint` of an earlier release whose measurements the new release also uses

        Raises ``ValueError``, and reserves nothing, if the release would exceed the total, if the account has other
        neighbours, or if it does not contain the earlier release.
        """
        if not isinstance(rho, Fraction) or rho <= 0:
            raise ValueError(f"rho must be a Fraction in (0, inf), got {rho!r}")
        with self._acting() as (now, append):
            if neighbours != now.neighbours:
                raise ValueError(
                    f"neighbours must be {now.neighbours!r}, as in all releases of {self.path}, because costs for different neighbours do not add up, got {neighbours!r}"
                )
            made = {each.fingerprint: each.number for each in now.entries if each.state == "made"}
            if continues and continues not in made:
                raise ValueError(f"earlier must be a release that {self.path} contains, got another one")
            if now.spent + rho > now.rho:
                raise ValueError(
                    f"this release would exceed the total epsilon {float(now.epsilon):g} of {self.path}, so no record was counted; at delta {float(now.delta):g}, "
                    f"one more release by AIM can have at most epsilon {now.left:g}, and one by staged residuals less (dp-compendium account --raise declares a larger total)"
                )
            what = f"{what}, continues release {made[continues]}" if continues else what
            append("reserve", rho=rho, neighbours=neighbours, what=what)
            return len(now.entries) + 1

    def settle(self, number: int, fingerprint: str = "", state: str = "made") -> None:
        """Record that the reserved release `number` was made or, with the state "withdrawn", that it costs nothing.

        Withdraw a release only if its program has drawn no noise and will draw none.
        """
        checks.one_of("state", state, ("made", "withdrawn"))
        with self._acting() as (now, append):
            if number not in [each.number for each in now.entries if each.state == "reserved"]:
                raise ValueError(f"number must be that of a reserved release of {self.path}, got {number!r}")
            append("settle", number=number, state=state, fingerprint=fingerprint)

    @contextmanager
    def _acting(self, begin: str = "BEGIN IMMEDIATE", new: bool = False) -> Iterator[tuple[Any, Callable]]:
        """Provide the `Balance` and a function that appends an act, in one transaction, which an error rolls back."""
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} does not exist; dp-compendium account --new makes an account")
        try:
            address = f"{self.path.resolve().as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, _WAIT, isolation_level=None, uri=True)) as base:
                base.execute("PRAGMA synchronous = EXTRA")
                base.execute(begin)
                if new:
                    base.execute(f"PRAGMA application_id = {_MARK}")
                    base.execute("CREATE TABLE acts (number INTEGER PRIMARY KEY, act TEXT, digest TEXT)")
                now, count, last = (None, 0, "") if new else self._read(base)

                def append(act, **told):
                    when = datetime.now(UTC).isoformat(timespec="seconds")
                    text = json.dumps({"act": act, "who": _user(), "when": when, **told}, default=str)
                    base.execute("INSERT INTO acts VALUES (?, ?, ?)", (count + 1, text, _digest(last, text)))
                    base.execute(f"PRAGMA user_version = {count + 1}")

                yield now, append
                base.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            operational = isinstance(error, sqlite3.OperationalError)  # locked, full, read-only or without the table
            kind = OSError if operational else ValueError
            raise kind(f"{self.path} cannot be read or written as an account ({error})") from None

    def _read(self, base) -> tuple[Balance, int, str]:
        """Return the balance, the number of acts, and the last digest."""
        now: Any = None
        last = ""
        try:
            marks = [base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            acts = base.execute("SELECT number, act, digest FROM acts ORDER BY number").fetchall()
            for place, (number, act, digest) in enumerate(acts, 1):
                last = _digest(last, act)
                if (number, digest) != (place, last):
                    raise ValueError(f"act {place} was changed")
                now = _after(now, **json.loads(act))
            if now is None or marks != [_MARK, len(acts)]:
                raise ValueError("acts are missing")
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"{self.path} must be an account, got another file or a damaged one ({error})") from None
        return now, len(acts), last


def _digest(last, act) -> str:
    return hashlib.sha256(f"{last}\n{act}".encode()).hexdigest()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, LookupError, ImportError):  # in a container, a user may lack a name
        return "unknown"


def _after(now, act, who, when, **told):
    """Return the balance `now` after one more act."""
    told |= {name: Fraction(told[name]) for name in ("epsilon", "delta", "rho") if name in told}
    if act == "new":
        return Balance(**told)
    if act == "raise":
        return replace(now, **told)
    if act == "reserve":
        return replace(now, entries=(*now.entries, Entry(len(now.entries) + 1, who, when, **told)))
    number = told.pop("number")
    return replace(now, entries=tuple(replace(each, **told) if each.number == number else each for each in now.entries))
