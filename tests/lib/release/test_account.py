"""The account of releases: costs add up exactly, nothing exceeds the total, and nothing is lost or forgotten."""

import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from lib.accounting import certified_zcdp
from lib.release import Synthesizer, account, sources, synthesizer
from lib.release.account import Account, Balance, cost, epsilon_of
from tests.lib.release.test_synthesizer import PUBLIC, trips

SMALL = {"attributes": {name: PUBLIC["attributes"][name] for name in ("home", "begin")}}
MIXED = {"attributes": {"home": {"values": ["a", "b"], "missing": "a", "unseen": "a"}}}


@pytest.fixture
def opened(tmp_path):
    return Account.new(tmp_path / "trips.account", 1.0)


# ---- what is added up


def test_the_total_can_be_spent_to_the_last_digit_and_no_further(opened):
    total, least = opened.balance().rho, Fraction(1, 10**60)
    parts = [total / 3, total / 7, total - total / 3 - total / 7 - least]
    assert [opened.reserve(part, "unbounded", "a part") for part in parts] == [1, 2, 3]
    before = opened.balance()
    assert before.spent == total - least and before.left == 0
    with pytest.raises(
        ValueError, match=r"would exceed the total epsilon 1 of .*trips.account, so no record was counted"
    ):
        opened.reserve(2 * least, "unbounded", "too much")
    assert opened.balance() == before
    opened.settle(opened.reserve(least, "unbounded", "the last"))
    now = opened.balance()
    assert now.spent == total == cost(1.0, 1e-9) and epsilon_of(now.spent, now.delta) == 1.0
    assert [each.what for each in now.entries] == 3 * ["a part"] + ["the last"]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.1, 1e-9, 1e-300])
@pytest.mark.parametrize("epsilon", [2e-6, 0.1, 0.7000001, 1, 7.34567, 12345.678])
def test_the_epsilon_shown_is_rounded_in_the_safe_direction(epsilon, delta):
    decimals, digit = Fraction(repr(delta)), Fraction(2, 10**5)
    for rho in (cost(epsilon, delta), cost(epsilon, delta) * Fraction(1001, 1000), 2 * cost(epsilon, delta)):
        up, down = (Fraction(repr(epsilon_of(rho, delta, up))) for up in (True, False))
        assert certified_zcdp(down, decimals) <= rho <= certified_zcdp(up, decimals)
        assert up <= max(down * (1 + digit), down + digit / 10**6)
        assert all(float(f"{float(each):.6g}") == float(each) for each in (up, down))
    assert epsilon_of(cost(1.0, delta), delta) == epsilon_of(cost(1.0, delta), delta, up=False) == 1
    for rho, up in ((Fraction(0), 0), (Fraction(1, 10**40), 1e-6)):  # below 1e-6, no epsilon is certified
        assert (epsilon_of(rho, delta), epsilon_of(rho, delta, up=False)) == (up, 0)


def test_a_total_is_raised_by_an_explicit_act_only(opened):
    with pytest.raises(ValueError, match="would exceed"):
        opened.reserve(cost(1.5, 1e-9), "unbounded", "much")
    for epsilon in (1.0, 0.5):
        with pytest.raises(ValueError, match=f"epsilon must be above 1, the total of .*, got {epsilon}"):
            opened.raise_to(epsilon)
    opened.raise_to(1.5)
    opened.settle(opened.reserve(cost(1.5, 1e-9), "unbounded", "much"))
    with pytest.raises(FileExistsError):
        Account.new(opened.path, 9.0)
    assert (opened.balance().spent, opened.balance().left) == (cost(1.5, 1e-9), 0)


def test_costs_for_different_neighbours_are_not_added_up(opened):
    with pytest.raises(ValueError, match="neighbours must be 'unbounded', as in all releases of .*, got 'bounded'"):
        opened.reserve(cost(0.1, 1e-9), "bounded", "another kind")
    assert opened.balance().spent == 0
    other = Account.new(opened.path.with_name("other"), 1.0, neighbours="bounded")
    assert other.reserve(cost(0.1, 1e-9), "bounded", "its kind") == 1


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda it: it.reserve(0.1, "unbounded", ""), "rho must be a Fraction in"),
        (lambda it: it.reserve(Fraction(-1), "unbounded", ""), "rho must be a Fraction in"),
        (lambda it: it.settle(1), "number must be that of a reserved release of .*trips.account, got 1"),
        (lambda it: it.settle(0, state="free"), "state must be one of"),
        (lambda it: it.raise_to(1e7), "epsilon must be in"),
        (lambda it: Account.new(it.path.with_name("x"), 0), "epsilon must be in"),
        (lambda it: Account.new(it.path.with_name("x"), 1.0, 2.0), "delta must be in"),
        (lambda it: Account.new(it.path.with_name("x"), 1.0, neighbours="all"), "neighbours must be one of"),
    ],
)
def test_bad_acts_change_nothing(opened, act, said):
    before = opened.path.read_bytes()
    with pytest.raises(ValueError, match=said):
        act(opened)
    assert opened.path.read_bytes() == before and len(list(opened.path.parent.iterdir())) == 1


def test_an_account_that_cannot_be_written_is_not_half_made(tmp_path, monkeypatch):
    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as writing:
        writing.setattr(account, "_digest", full)
        with pytest.raises(OSError, match="trips.account cannot be read or written .*full"):
            Account.new(tmp_path / "trips.account", 1.0)
    assert not list(tmp_path.iterdir()) and Account.new(tmp_path / "trips.account", 1.0).balance().left == 1.0


def test_a_release_is_settled_once(opened):
    number = opened.reserve(cost(0.5, 1e-9), "unbounded", "once")
    opened.settle(number)
    for state in ("withdrawn", "made"):
        with pytest.raises(ValueError, match="number must be"):
            opened.settle(number, state=state)
    assert opened.balance().spent == cost(0.5, 1e-9)


# ---- several processes, and what is left of a process that dies

RESERVES = """
import sys
from fractions import Fraction
from lib.release.account import Account
it, made = Account(sys.argv[1]), 0
part = it.balance().rho / 20
print(flush=True)
sys.stdin.readline()
for _ in range(16):
    try:
        it.settle(it.reserve(part, "unbounded", sys.argv[2]))
        made += 1
    except ValueError as error:
        assert "would exceed" in str(error), error
print(made)
"""
DIES = """
import os, signal, sys
from fractions import Fraction
from lib.release.account import Account
it = Account(sys.argv[1])
part = it.balance().rho / 20
if sys.argv[2] == "counting":
    it.reserve(part, "unbounded", "cut short")
else:
    with it._acting() as (now, append):
        append("reserve", rho=part, neighbours="unbounded", what="never")
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


def started(program, *words):
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_processes_lose_no_entry_and_do_not_exceed_the_total_together(opened):
    several = [started(RESERVES, opened.path, name) for name in "ab"]
    for each in several:
        each.stdout.readline()
    for each in several:
        each.stdin.write("\n")
        each.stdin.flush()
    made = [int(each.communicate(timeout=120)[0]) for each in several]
    now = opened.balance()
    assert [sum(entry.what == name for entry in now.entries) for name in "ab"] == made and sum(made) == 20
    assert now.spent == now.rho and [each.number for each in now.entries] == list(range(1, 21))


def test_nobody_else_writes_between_the_check_and_the_entry(opened, monkeypatch):
    monkeypatch.setattr(account, "_WAIT", 0)
    with opened._acting() as (now, append):
        with pytest.raises(OSError, match="trips.account cannot be read or written as an account .*locked"):
            opened.reserve(now.rho, "unbounded", "in between")
        assert opened.balance() == now
        append("reserve", rho=now.rho, neighbours="unbounded", what="first")
    assert [each.what for each in opened.balance().entries] == ["first"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows lacks SIGKILL")
@pytest.mark.parametrize(("moment", "kept"), [("counting", 1), ("writing", 0)])
def test_a_killed_release_counts_as_spent_once_it_is_reserved(opened, moment, kept):
    died = started(DIES, opened.path, moment)
    assert died.communicate(timeout=120) == ("", None) and died.returncode == -signal.SIGKILL
    now = opened.balance()
    assert [each.state for each in now.entries] == kept * ["reserved"] and now.spent == kept * now.rho / 20


# ---- files that are no accounts


def test_changed_bytes_are_noticed_or_change_nothing(opened):
    for epsilon in (0.3, 0.4):
        opened.settle(opened.reserve(cost(epsilon, 1e-9), "unbounded", "wages"), "f" * 64)
    good, content, told = opened.balance(), opened.path.read_bytes(), 0
    rng = np.random.default_rng(1)
    used = [place for place, byte in enumerate(content) if byte]
    for place in [*range(100), *rng.choice(used, 150, replace=False)]:
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        opened.path.write_bytes(changed)
        try:
            assert opened.balance() == good, place
        except (ValueError, OSError) as error:
            assert str(opened.path) in str(error)
            told += 1
    assert told > 100
    for length in (0, 50, 4096, len(content) - 1):
        opened.path.write_bytes(content[:length])
        with pytest.raises((ValueError, OSError), match="trips.account"):
            opened.balance()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE acts SET act = replace(act, 'wages', 'loans') WHERE number = 2",
        "DELETE FROM acts WHERE number = 1",
        "DELETE FROM acts WHERE number = 2",
        "DELETE FROM acts WHERE number = 3",  # the last
        "DELETE FROM acts",
        "UPDATE acts SET number = 9 - number",
        "UPDATE acts SET act = NULL WHERE number = 3",
        "UPDATE acts SET digest = 'x'",
        "DROP TABLE acts",
        "PRAGMA application_id = 7",
    ],
)
def test_lost_and_changed_acts_are_noticed(opened, change):
    for what in ("wages", "homes"):
        opened.reserve(cost(0.4, 1e-9), "unbounded", what)
    with sqlite3.connect(opened.path) as base:
        base.execute(change)
    base.close()
    for act in (opened.balance, lambda: opened.reserve(cost(0.1, 1e-9), "unbounded", "more")):
        with pytest.raises((ValueError, OSError), match="trips.account"):
            act()


@pytest.mark.parametrize("kind", ["text", "empty", "database", "folder", "none"])
def test_other_files_are_refused_by_name(tmp_path, kind):
    path = tmp_path / "odd?name#1"
    if kind == "folder":
        path.mkdir()
    elif kind == "database":
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE acts (number, act, digest)")
        base.commit()
        base.close()
    elif kind != "none":
        path.write_text("epsilon,1\n" * 900 if kind == "text" else "")
    before = path.read_bytes() if path.is_file() else None
    for act in (Account(path).balance, lambda: Account(path).raise_to(9.0)):
        with pytest.raises((ValueError, OSError), match="odd.name#1"):
            act()
    assert before == (path.read_bytes() if path.is_file() else None) and len(list(tmp_path.iterdir())) == (
        kind != "none"
    )


# ---- a fit


def test_a_fit_is_charged_before_a_record_is_counted_and_settled_after(opened, monkeypatch):
    seen, count = [], sources.count
    monkeypatch.setattr(sources, "count", lambda *given: (seen.append(opened.balance()), count(*given))[1])
    made = Synthesizer(SMALL, epsilon=0.7).fit(trips(300), account=opened.path)
    (before,), (after,) = seen[0].entries, opened.balance().entries
    assert before.state == "reserved" and after.state == "made"
    assert before.rho == after.rho == made.release_.rho >= made.result_.rho_used and made.epsilon_ == 0.7
    with pytest.raises(ValueError, match="would exceed the total epsilon 1"):
        Synthesizer(SMALL, epsilon=0.9).fit(trips(300), account=opened.path)
    with pytest.raises(ValueError, match="seed must be None for a release in an account, got 3"):
        Synthesizer(SMALL, epsilon=0.1, seed=3).fit(trips(300), account=opened.path)
    with pytest.raises(ValueError, match="neighbours must be 'unbounded'"):
        Synthesizer(SMALL, epsilon=0.1, neighbours="bounded").fit(trips(300), account=opened.path)
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        Synthesizer(SMALL, epsilon=0.1).fit(trips(300), account=opened.path.with_name("none"))
    with pytest.raises(ValueError, match="data must have one column 'home'"):
        Synthesizer(SMALL, epsilon=0.1).fit(trips(300)[["pay"]], account=opened.path)
    assert len(seen) == 1 and opened.balance().entries == (after,)


@pytest.mark.parametrize(
    ("place", "error", "state"),
    [
        ("sources.count", OSError, "withdrawn"),
        ("sources.count", KeyboardInterrupt, "reserved"),
        ("synthesizer.run", ValueError, "reserved"),
        ("synthesizer.run", KeyboardInterrupt, "reserved"),
    ],
)
def test_a_fit_that_fails_after_counting_has_spent_its_cost(opened, monkeypatch, place, error, state):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(f"lib.release.{place}", fails)
    with pytest.raises(error):
        Synthesizer(SMALL, epsilon=0.6).fit(trips(300), account=opened.path)
    now = opened.balance()
    assert [each.state for each in now.entries] == [state]
    assert now.spent == (0 if state == "withdrawn" else cost(0.6, 1e-9))


def test_a_release_that_cannot_be_settled_is_kept(opened, monkeypatch):
    def full(*_, **__):
        raise OSError("disk is full")

    monkeypatch.setattr(Account, "settle", full)
    made = Synthesizer(SMALL, epsilon=0.6)
    with pytest.raises(OSError, match="disk is full"):
        made.fit(trips(300), account=opened.path)
    assert made.query("count").low > 0 and opened.balance().entries[0].state == "reserved"


# ---- a release that is continued


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["unbounded", "bounded"])
def test_a_continued_release_uses_both_and_says_what_both_cost(tmp_path, neighbours):
    kept = Account.new(tmp_path / "kept", 1.0, neighbours=neighbours)
    public = {**SMALL, "never": ["home = a and begin < 4"]}
    first = Synthesizer(public, epsilon=0.5, neighbours=neighbours).fit(trips(300), account=kept.path)
    first.save(tmp_path / "first.npz")
    loaded = Synthesizer.load(tmp_path / "first.npz")
    made = Synthesizer(public, epsilon=0.6, neighbours=neighbours).fit(trips(300), account=kept.path, earlier=loaded)
    both = cost(0.5, 1e-9) + cost(0.6, 1e-9)
    held = len(first.release_.measurements)
    assert account.fingerprint(made.release_.measurements[:held]) == account.fingerprint(first.release_.measurements)
    assert len(made.release_.measurements) > held and {
        len(m.attributes) for m in made.release_.measurements[held:]
    } <= {1, 2}
    changed = 1 if neighbours == "unbounded" else 2  # counts of a table that a record changes
    new = sum(
        Fraction(step.epsilon) ** 2 / 8 + changed / (2 * Fraction(step.sigma) ** 2) for step in made.result_.steps
    )
    assert 0.9 * cost(0.6, 1e-9) < new <= made.result_.rho_used - cost(0.5, 1e-9) <= cost(0.6, 1e-9)
    assert kept.balance().spent == both == made.release_.rho >= made.result_.rho_used > cost(0.5, 1e-9)
    made.save(tmp_path / "made.npz")
    assert made.epsilon_ == Synthesizer.load(tmp_path / "made.npz").epsilon_ == epsilon_of(both, 1e-9) > 0.7
    assert f"({made.epsilon_:g}, 1e-09)-differentially private" in made.statement()
    assert kept.balance().entries[1].what.endswith(", continues release 1")
    assert not len(made.sample(500, where="home = a").query("begin < 4"))
    third = Synthesizer(public, epsilon=0.1, neighbours=neighbours).fit(trips(300), account=kept.path, earlier=made)
    assert third.release_.rho == kept.balance().spent


@pytest.mark.slow
def test_a_continued_release_is_closer_than_each_of_its_parts():
    """The distances from the truth are means over seeds, so that the noise of a run does not decide."""
    records, public, pairs = trips(2000), {"attributes": PUBLIC["attributes"]}, (("home", "work"), ("begin", "end"))
    off = np.zeros(3)
    for seed in range(4):
        first = Synthesizer(public, epsilon=0.5, seed=seed).fit(records)
        second = Synthesizer(public, epsilon=0.5, seed=seed + 50).fit(records)
        both = Synthesizer(public, epsilon=0.5, seed=seed + 50).fit(records, earlier=first)
        coded = sources.read(sources.frame(records), first.schema_)
        off += [sum(np.abs(made.release_.model.marginal(pair) - coded.marginal(pair)).sum() for pair in pairs) for made in (first, second, both)]  # fmt: skip
    assert off[2] < 0.8 * min(off[:2]), off


def test_only_a_release_that_fits_is_continued(opened):
    frame = trips(300)
    first, mixed = (Synthesizer(each, epsilon=0.3).fit(frame) for each in (SMALL, MIXED))
    for made, earlier, said in (
        (Synthesizer(PUBLIC, epsilon=0.3), first, "earlier must have the attributes and values of the schema"),
        (Synthesizer(MIXED | {"blanks": ["-"]}, epsilon=0.3), mixed, "earlier must have the bins of the schema and its treatment"),
        (Synthesizer({"attributes": {"home": MIXED["attributes"]["home"] | {"unseen": "b"}}}, epsilon=0.3), mixed, "earlier must have the bins"),
        (Synthesizer(SMALL, epsilon=0.3, neighbours="bounded"), first, "earlier must be a release for bounded neighbours"),
        (Synthesizer(SMALL, epsilon=0.3), Synthesizer(SMALL, seed=1).fit(frame), "earlier must have noise from the operating system"),
        (Synthesizer(SMALL, epsilon=0.3), Synthesizer(SMALL), "fit must be called before a release is continued"),
        (Synthesizer(SMALL, epsilon=9e5), Synthesizer(SMALL, epsilon=9e5).fit(frame), r"epsilon must be in \[1e-6, 1e6\]"),
        (Synthesizer(SMALL, epsilon=0.3), first, "earlier must be a release that .*trips.account contains"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            made.fit(frame, account=opened.path, earlier=earlier)
    assert opened.balance().entries == ()
    bounded = Synthesizer(SMALL, epsilon=0.3, neighbours="bounded").fit(frame)
    with pytest.raises(ValueError, match="earlier must have as many records as the table, 299, got 300"):
        Synthesizer(SMALL, epsilon=0.3, neighbours="bounded").fit(frame[:299], earlier=bounded)
    assert isinstance(opened.balance(), Balance) and synthesizer.check_earlier(first.release_, first.schema_.domain, "unbounded", None) is None  # fmt: skip
