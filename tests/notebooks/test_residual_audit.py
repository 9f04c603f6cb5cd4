"""Exact runs of staged residuals as a whole, under attack, and what planted bugs give away, with fewer runs than the study's."""

import functools

import pytest

from book.kept import results
from lib.accounting.certified_gaussian import certified_mu
from lib.tables import Table, residual_stages
from notebooks.studies import residual_audits as audits

MU = functools.cache(certified_mu)


@pytest.fixture(autouse=True)
def one_mu(monkeypatch):
    """All runs share what hangs on epsilon and delta alone: it takes half the time of a run."""
    monkeypatch.setattr(residual_stages, "certified_mu", MU)


def some(attacks, kept, **ids):
    """Return the parameters for `attacks`, of which `make test` runs those for which `kept` holds."""
    return pytest.mark.parametrize(
        "attack", [pytest.param(each, marks=() if kept(each) else pytest.mark.full) for each in attacks], **ids
    )


def run(attack, runs=40):
    """Run an attack, with `runs` runs on each of two neighbours; the kept table has more.

    Half of the runs test the event that the others choose. Forty can prove an epsilon of 0.77, and 140 one of 2.1.
    """
    return attack.run(17, **({"runs": runs} if attack.audit is audits.neighbours_apart else {}))


@pytest.mark.slow
@some(
    [attack for attack in audits.ATTACKS if attack.epsilon <= 2],
    lambda attack: attack.epsilon == 0.5 and attack.says not in ("differences of answers", "last digits"),
    ids=lambda attack: f"{attack.says} {attack.epsilon:g}",
)
def test_no_attack_proves_more_than_the_claim(attack):
    """Each bound has a confidence of 99.9 %. No number of runs that a test has would prove more than 20."""
    assert not run(attack, runs=40 if attack.epsilon == 0.5 else 140).refutes(attack.epsilon)


def test_at_a_large_epsilon_the_attacks_are_sharp_enough_to_prove_a_part_of_it():
    proved = [audits.Attack("", 20.0, audits.canaries).run(seed).epsilon_lower for seed in range(3)]
    assert min(proved) >= 1


@pytest.mark.slow
@some(
    audits.BUGS,
    lambda attack: attack.says not in ("a record added", "triples alone"),
    ids=lambda attack: f"{attack.says} {attack.bug.__name__}",
)
def test_a_planted_bug_is_caught(attack):
    found = run(attack, runs={"a record added": 150, "norms alone": 80, "triples alone": 80}.get(attack.says, 40))
    assert found.refutes(attack.epsilon), found


def test_a_planted_bug_is_gone_afterwards():
    assert run(audits.BUGS[0]).refutes(0.5)
    assert not run(audits.ATTACKS[0]).refutes(0.5)


def test_an_exact_run_within_its_budget_is_what_is_attacked():
    table = Table(audits.OTHERS, audits.CROWD)
    result = audits.released(table, 0.5, audits.np.random.default_rng(1), workload=[("a",)])
    assert 0 < result.mu_used <= result.mu == certified_mu(0.5, audits.DELTA)
    assert [names for names, _, _ in audits.answers(result)] == [("a",), ("a",), ("a",)]


def test_the_kept_table_has_every_attack_and_each_bug_caught():
    kept = results.load(audits.FILE)
    assert list(kept["attack"]) == [attack.says for attack in (*audits.ATTACKS, *audits.BUGS)]
    assert (kept["refuted"] == kept["bug"].notna()).all()
