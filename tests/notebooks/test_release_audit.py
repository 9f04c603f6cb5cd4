"""AIM's exact release as a whole, under attack, and what planted bugs give away: `notebooks.studies.release_audits`, with fewer runs."""

import functools

import numpy as np
import pytest

from book.kept import results
from lib import accounting
from lib.tables.table import Table
from notebooks.studies import release_audits as audits

RHO = functools.cache(accounting.certified_zcdp)


@pytest.fixture(autouse=True)
def one_rho(monkeypatch):
    """All runs share what hangs on epsilon and delta alone: it takes half the time of a run."""
    monkeypatch.setattr(accounting, "certified_zcdp", RHO)


def run(attack, runs=40):
    """Run an attack, with `runs` runs on each of two neighbours; the kept table has more.

    Half of the runs test the event that the others choose. Forty can prove an epsilon of 0.77.
    """
    return attack.run(17, **({"runs": runs} if attack.audit is audits.neighbours_apart else {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [attack for attack in audits.ATTACKS if attack.epsilon == 0.5 or attack.audit is audits.canaries],
    ids=lambda attack: f"{attack.says} {attack.epsilon:g}",
)
def test_no_attack_proves_more_than_the_claim(attack):
    """Each bound has a confidence of 99.9 %."""
    assert not run(attack).refutes(attack.epsilon)


def test_at_a_large_epsilon_the_attacks_are_sharp_enough_to_prove_a_part_of_it():
    """With this small number of runs, only the attacks on canaries do."""
    assert [run(attack).epsilon_lower >= 1 for attack in audits.ATTACKS if attack.says == audits.ONE_RUN] == [
        False,
        False,
        True,
    ]


# A tenth of the noise takes more runs on two neighbours than a test has; one run on many canaries shows it.
@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [bug for bug in audits.BUGS if bug.says != "a record added"],
    ids=lambda attack: f"{attack.bug.__name__}",
)
def test_a_planted_bug_is_caught(attack):
    found = run(attack, runs=100 if attack.says == "the first choice" else 40)
    assert found.refutes(attack.epsilon), found


def test_a_planted_bug_is_gone_afterwards():
    assert run(audits.BUGS[0]).refutes(0.5)
    assert not run(audits.ATTACKS[0]).refutes(0.5)


@pytest.mark.parametrize("neighbours, sizes", [("unbounded", (51, 50)), ("bounded", (50, 50))])
def test_the_two_tables_are_neighbours(neighbours, sizes):
    first, second = audits.pair(neighbours, (1, 0))
    assert (len(first), len(second)) == sizes
    both = np.abs(first.marginal(("a", "b")) - second.marginal(("a", "b"))).sum()
    assert both == (1 if neighbours == "unbounded" else 2)


def test_an_exact_run_within_its_budget_is_what_is_attacked():
    table = Table(audits.OTHERS, audits.CROWD)
    result = audits.released(table, 0.5, np.random.default_rng(1), workload=[("a",)])
    assert result.rho_used <= result.rho and result.measurements[0].values.dtype.kind == "i"


def test_the_kept_table_has_every_attack_and_each_bug_caught():
    kept = results.load(audits.FILE)
    assert list(kept["attack"]) == [attack.says for attack in (*audits.ATTACKS, *audits.BUGS)]
    assert (kept["refuted"] == kept["bug"].notna()).all()
