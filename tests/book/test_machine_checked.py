"""The proofs in proofs/: they assume nothing, the list and the page match them, and lib's formulas are those of the theorems.

Tests that need Coq are skipped if it is not installed; `make proofs` is the check itself.
"""

import fnmatch
import functools
import importlib
import itertools
import re
import shutil
import types
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import yaml
from docutils import nodes
from scipy import stats

from book._ext import claims as page
from book.kept import results
from book.ledger import cards, claims, machine_checked, scorecard
from lib.accounting import (
    bounded_range_zcdp,
    compose_rdp,
    composition,
    pure_dp_to_zcdp,
    rdp_to_delta,
    rdp_to_dp,
    renyi_discrete,
    renyi_gaussian,
    zcdp_to_dp,
)
from lib.accounting.divergence import psi
from lib.gaussian_synthesis import (
    bounded_epsilon,
    bounded_epsilon_both,
    bounded_epsilon_centred,
    bounded_epsilon_joint,
    bounded_epsilon_tight,
    bounds,
    divergence_added,
    divergence_removed,
    fit,
    largest_radius,
    regularised_epsilon,
    regularised_epsilon_attained,
    smallest_eigenvalue,
    squared_mahalanobis,
    unbounded_epsilon,
    unbounded_epsilon_tight,
)
from lib.local import GRR, pure_variance
from lib.mechanisms import DiscreteLaplace, Exponential, PermuteAndFlip, RandomizedResponse
from lib.networks.parameterwise import atoms
from proofs import cells, check, stated
from tests.book.coq_formulas import Definitions, Reader, value

ROOT = Path(__file__).resolve().parents[2]

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason=f"needs Coq: {' '.join(check.PACKAGES)}")

# ---- nothing is assumed


def test_no_file_assumes_anything():
    check.refuse_assumptions(stated.sources())


OUTSIDE = """
Axiom a : False.|Axioms a b : False.|Parameter p : R.|Parameters p q : R.|Conjecture c : False.|Local Axiom a : False.
Context (h : False).|Context {h : False}.|Variable taken : 1 = 2.|Variables (x y : R).|Hypothesis h : False.|Hypotheses (h : False).
Declare Module M : T.|Declare ML Module "plugin".|Declare Instance i : C.|Module Type T. Axiom a : False. End T.
Lemma l : False. Admitted.|Lemma l : False. Proof. Admitted.|Lemma l : False. Proof. Abort.|Lemma l : False. Proof. admit. Qed.
Lemma l : False. Proof. give_up. Qed.|Lemma l : False. Proof. intros; admit. Qed.|Next Obligation.|Admit Obligations.
Program Definition d : False := _.|Obligation Tactic := idtac.|Unset Guard Checking.|Unset Positivity Checking.
Unset Universe Checking.|Set Guard Checking.|#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.|#[local] Axiom a : False.
Local Unset Guard Checking.|Global Unset Guard Checking.|Typing Flags.|Primitive p := #int63_add.|Register p as kernel.q.
Notation "x <= y" := True.|Infix "<=" := any.|Local Notation sigma := 0.|Let p : False.|Canonical Structure c.|Coercion c : A >-> B.
Instance i : C.|Existing Instance i.|Require Import Elsewhere.|From Elsewhere Require Import A.|Load "A".|Import Elsewhere(a). Axiom b : 0.
Lemma l : True. Proof. Definition eps := 0. exact I. Qed.|Lemma l : True. Proof. - Unset Guard Checking. exact I. Qed.
Set Implicit Arguments. Set Universe Polymorphism.|Local Open Scope R_scope. Unset Program Cases.|Definition d := "(*". Axiom a : False. Definition e := "*)".
(* a comment (* in another *) *) Axiom a : False. (* and after it *)|Definition d : False. Proof. Defined.
"""


@pytest.mark.parametrize("planted", [each for line in OUTSIDE.strip().split("\n") for each in line.split("|")])
def test_an_assumption_is_refused_with_its_place(planted):
    texts = {
        "A.v": "(* No Axiom\n (* here. *) Axiom. *)\nDefinition a := 1.\n",
        "B.v": f"Definition b := 1.\n{planted}\n",
    }
    check.refuse_assumptions({"A.v": texts["A.v"]})
    with pytest.raises(check.Failed, match=r"^proofs/B\.v:2: "):
        check.refuse_assumptions(texts)


LEADING = (
    "-\t",
    "--+",
    "*\r\n",
    "\f",
    "{\t",
    "} {",
    "1: {",
    "1-2, 4 :",
    "[foo]: {",
    "[ foo' ] :{-",
    "!:{",
    "- (* so *)\t",
    "all: {",
    "+{1:{",
)
IN_A_PROOF = ("Definition eps := 0.", "Import Elsewhere.", "Unset Guard Checking.", "Notation eps := 0.", "Axiom a : 0.", "#[local] Axiom a : 0.", "give_up.", "abstract lra using eps.", "\xa0Axiom a : 0.")  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("command", IN_A_PROOF)
def test_a_command_in_a_proof_is_refused_behind_whatever_leads_to_it(leading, command):
    proof = "Lemma l : True.\nProof. split.\n{0}{1} exact I. Qed.\n"
    check.refuse_assumptions({"A.v": proof.format(leading, "lra.")})
    with pytest.raises(check.Failed, match=r"^proofs/A\.v:3: "):
        check.refuse_assumptions({"A.v": proof.format(leading, command)})


def test_a_proof_ends_at_its_qed_alone():
    ended = "Lemma l : True. Proof. - {0} Axiom a : False.\n"
    for qed in ("lra. Qed.", "let Qed := constr:(0) in idtac Qed.", "{ lra. }\tQed."):
        with pytest.raises(check.Failed, match=r"'Axiom a : False\.'"):
            check.refuse_assumptions({"A.v": ended.format(qed)})
    told = [
        each.proving for each in machine_checked.sentences("Lemma l : T. Proof. idtac Qed. }Qed. Definition d := 0.")
    ]
    assert told == [False, True, True, True, False]


def test_hypotheses_of_a_section_are_none():
    check.refuse_assumptions({"A.v": "Section S.\nVariable x : R.\nHypotheses (h : x = 1).\nLet y := x.\nEnd S.\n"})
    with pytest.raises(check.Failed, match=r"^proofs/A\.v:2: 'Variable x : R\.' is not a command"):
        check.refuse_assumptions({"A.v": "Section S. End S.\nVariable x : R.\n"})


@pytest.mark.parametrize(
    "planted", ["-arg -type-in-type", "-arg -impredicative-set", "-arg -noinit", "-R ../other Other"]
)
def test_coq_is_given_no_other_flag(planted):
    project = stated.sources()["_CoqProject"]
    with pytest.raises(check.Failed, match=r"^proofs/_CoqProject:1: "):
        check.refuse_assumptions({"_CoqProject": f"{planted}\n{project}"})


# ---- what is stated is kept


def test_what_is_stated_is_what_was_kept():
    stated.hold(stated.sources())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "was", "becomes"),
    [
        ("Theorem31.v", "in_D_sigma sigma D -> (alpha < n + 1)%coqR ->", "in_D_sigma sigma D -> (alpha < n)%coqR ->"),
        ("Theorem31.v", "(alpha1 : (1 < alpha)%coqR).", "(alpha1 : (2 < alpha)%coqR)."),  # a section's hypothesis
        ("Theorem31.v", "table D /\\ floor (cov D) sigma.", "table D /\\ floor (cov D) (2 * sigma)."),  # a definition
        ("Theorem31.v", " (inside : table D')", ""),  # dropped
        ("Theorem31.v", "(D D' : seq 'cV[R]_j.+1)", "(D : seq 'cV[R]_j.+1)"),
        ("Theorem31.v", "Let n : R := INR (size D).", "Let n : R := 2 * INR (size D)."),
        ("PublicN.v", "Section Public.", "Lemma eps_bounded : R. Proof. exact: 0. Qed.\nSection Public."),  # in another's place
        ("Formulas.v", "4 * d / sigma.", "5 * d / sigma."),
        ("Finite.v", "Local Open Scope R_scope.", "Local Open Scope nat_scope."),
        ("Cells.v", "m := 353517; e := 2", "m := 353517; e := 1"),
        ("_CoqProject", "Growth.v\n", ""),
    ],
)  # fmt: skip
def test_a_weaker_statement_is_seen(file, was, becomes):
    texts = stated.sources()
    assert was in texts[file]
    with pytest.raises(check.Failed, match=r"^--- statements\.txt\n(.|\n)*\n[-+](.|\n)*python -m proofs\.stated$"):
        stated.hold(texts | {file: texts[file].replace(was, becomes, 1)})


def test_another_proof_is_no_other_statement():
    texts = stated.sources()
    for old, new in (
        ("Proof. induction l as [|a l IH]; simpl; [lra|].", "Proof. induction l; simpl; [lra|]."),
        ("(* The sum", "(* A sum"),
    ):
        assert old in texts["Finite.v"]
        stated.hold(texts | {"Finite.v": texts["Finite.v"].replace(old, new)})


def test_a_lemma_beside_another_is_kept_and_a_comment_parts_words():
    lemma = "Lemma a : forall x : R, x = x{0}.\nProof. auto. Qed.\n"
    assert stated.kept(lemma.format("")) == ["Lemma a"]
    beside = stated.kept(lemma.format("\n  with(* so *)eps_bounded : R"))
    assert beside == ["Lemma a : forall x : R, x = x with eps_bounded : R."]
    assert stated.kept("Definition(* a *)b(* (* c *) *):= 1.") == ["Definition b := 1."]


REALS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}


def test_the_axioms_of_the_groups_are_these_and_interval_is_for_the_tables_alone():
    assert {name: set(group) for name, group in machine_checked.axioms().items()} == {
        "none": set(),
        "reals": REALS,
        "matrices": REALS | {"Epsilon.epsilon_statement"},
        "interval": REALS | {"PrimInt63.*", "Uint63.*"},
    }
    computed = [each.statement.name for each in machine_checked.headlines() if each.axioms == "interval"]
    assert computed == ["tables_1_and_2"]


def test_an_axiom_that_is_not_granted_is_named():
    theorem = machine_checked.headlines()[0]
    granted = {"ClassicalDedekindReals.sig_not_dec"}
    assert check.hold([theorem], [granted]) and check.hold([theorem], [set()])[0].endswith("no axiom")
    with pytest.raises(check.Failed, match=f"{theorem.statement.name} rests on Own.axiom, which 'reals'"):
        check.hold([theorem], [granted | {"Own.axiom"}])


# ---- the list, the page, the files


@pytest.mark.slow
def test_every_file_is_built_and_every_headline_has_its_place_and_words():
    listed = (ROOT / "proofs/_CoqProject").read_text(encoding="utf-8").split()
    assert {name for name in listed if name.endswith(".v")} == {
        name for name in stated.sources() if name.endswith(".v")
    }
    for theorem in machine_checked.headlines():
        stands = theorem.statement
        line = (ROOT / "proofs" / stands.file).read_text(encoding="utf-8").splitlines()[stands.line - 1]
        assert line.startswith(f"Theorem {stands.name}"), stands
        assert stands.says and stands.text.count("Theorem") == 1 and "Proof" not in stands.text, stands
        assert theorem.axioms in machine_checked.axioms(), stands.name


def test_the_page_shows_every_headline_with_its_statement():
    headlines = machine_checked.headlines()
    table, files = page.theorems(headlines), page.by_file(machine_checked.everything(), headlines)
    for theorem in headlines:
        stands = theorem.statement
        assert f"{{ref}}`{stands.name} <{page.label(stands)}>` (" in table
        assert files.count(f"({page.label(stands)})=") == 1 and stands.text in files
    assert len(table.splitlines()) == len(headlines) + 2


def test_file_and_line_lead_to_the_public_repository_or_to_a_copy(tmp_path):
    theorem = machine_checked.headlines()[0]
    stands = theorem.statement
    shown = f">{stands.file}, {stands.line}</a>; "
    public = types.SimpleNamespace(html_theme_options={"repository_url": "https://github.com/a/b"})
    unknown = types.SimpleNamespace(html_theme_options={})
    if not results.commit():
        pytest.skip("not a git checkout")
    files = page.in_public(public)
    assert re.fullmatch(r"https://github\.com/a/b/blob/[0-9a-f]{40}/proofs", files) and page.in_public(unknown) == ""
    assert f'<a href="{files}/{stands.file}#L{stands.line}"{shown}' in page.theorems([theorem], files)
    copied = re.search(f'<a href="([^"]+)"{re.escape(shown)}', page.theorems([theorem]))[1]
    for config, there in ((public, False), (unknown, True)):
        builder = types.SimpleNamespace(format="html")
        page.copy_files(types.SimpleNamespace(builder=builder, outdir=tmp_path, config=config), None)
        assert (tmp_path / copied).is_file() == there
    assert (tmp_path / copied).read_text() == (ROOT / "proofs" / stands.file).read_text()


def test_each_definition_that_the_page_shows_has_a_sentence_and_the_cells_are_among_them():
    everything = machine_checked.everything()
    defined = [each for file in everything.values() for each in file if each.kind in page.DEFINING]
    assert [(each.file, each.name) for each in defined if not each.says] == []
    assert {"neighbours", "cell", "cells"} <= {each.name for each in everything[cells.FILE]}
    files = page.by_file(everything, machine_checked.headlines())
    assert "kind := private_n; n := 1000" in files and "Definition rounds_to_printed" in files
    turn = next(each for each in everything["Distance.v"] if each.name == "turn")
    assert "```coq\nVariable a : R.\nVariable n : R.\nDefinition turn" in page.stated(turn)


def test_names_in_backticks_are_code_and_the_rest_is_literal():
    assert page.with_code("`past` and `a_b * c`: x_1 * `y`|z") == r"`past` and `a_b * c`: x\_1 \* `y`\|z"
    shown = page.theorems(machine_checked.headlines()) + page.by_file(machine_checked.everything(), [])
    assert r"\`" not in shown and "`past`" in shown


def test_greek_letters_that_the_files_spell_out_are_letters_on_the_page():
    told = "eps'-private, (eps^2 / 8), L1 sensitivity Delta, eps_added(n) and epsilon"
    assert page.greek(told) == "ε'-private, (ε² / 8), L1 sensitivity Δ, eps_added(n) and epsilon"


def test_what_a_theorem_is_said_to_be_about_exists():
    for theorem in machine_checked.headlines():
        for name in theorem.lib:
            module, _, function = name.rpartition(".")
            assert hasattr(importlib.import_module(module), function), name
        for pattern in theorem.claims:
            assert fnmatch.filter(claims.load().claims, pattern), (theorem.statement.name, pattern)


def test_a_claim_names_the_theorems_about_it_here_and_in_the_ledger_to_take_away():
    ledger_ = claims.load()
    for id, theorems in {
        "miura2022.table1.unbounded.n1e4": ["tables_1_and_2"],
        "sei2017.lemma2.cited": ["basic_composition"],
        "kiri2019.laplace.variance": [],
    }.items():
        record = claims.Record(id, ledger_[id].document, "", "", "", "reproduced", "", "", "notebooks/a/b.ipynb")
        found = cards.Finding(ledger_[id], record)
        assert scorecard._row(ledger_, found)["checked"] == ", ".join(theorems)
        for root in ("", "../../"):
            made = cards.entry(found, f"{root}scorecard.html#there" if root else "#there")
            for each in machine_checked.about(id):
                assert f'<a href="{root}{machine_checked.address(each.statement)}"><code>{each.statement.name}' in made
            assert ("Checked by a machine: " in made) == bool(theorems)


def test_the_box_that_a_theorem_is_said_to_stand_in_exists():
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*/*.ipynb"))
    labels = set(re.findall(r":label: ([\w-]+)", said))
    assert {theorem.box for theorem in machine_checked.headlines()} - {""} <= labels


def test_a_theorem_belongs_to_its_box():
    """What is said of it, or its name, begins with the box's name: Theorem D of miura2022-d."""
    called = {"thm-miura2022-unbounded": "Theorem 3.1", "thm-miura2022-bounded": "Theorem 3.2"}
    for theorem in machine_checked.headlines():
        if theorem.box:
            name = called.get(theorem.box) or rf"(?:Theorem|Lemma) {theorem.box.removeprefix('miura2022-').upper()}"
            assert re.match(rf"{name}\b", theorem.statement.says), (theorem.statement.name, theorem.box)


def test_a_box_names_what_is_checked_of_it_unless_it_does_so_itself():
    theorem = next(each for each in machine_checked.headlines() if each.box)

    def box(label, *inside):
        made = nodes.container("", nodes.section("", *inside), classes=["proof", "theorem"])
        made["label"] = label
        return made

    own = nodes.paragraph("", "", page.link_to(theorem.statement, "here"))
    doctree = nodes.container("", box(theorem.box), box("another"), box(theorem.box, own))
    assert page.mark(doctree, [theorem], "here") and not page.mark(nodes.container(), [theorem], "here")
    told = [each.astext() for each in doctree]
    assert told == [f"Checked by a machine: {theorem.statement.name}.", "", theorem.statement.name]
    assert [link["reftarget"] for link in doctree.findall(page.pending_xref)] == [page.label(theorem.statement)] * 2


SAID = re.compile(r"Coq checks [^:`.]+:\s+((?:`\w+`(?:,\s+|\s+and\s+)?)+)\s+in\s+proofs/\.")


def test_what_lib_does_names_the_theorem_that_is_checked_of_it():
    theorems: dict[str, set[str]] = {}
    for theorem in machine_checked.headlines():
        for name in theorem.lib:
            theorems.setdefault(name, set()).add(theorem.statement.name)
    for name, about in theorems.items():
        module, _, function = name.rpartition(".")
        said = getattr(importlib.import_module(module), function).__doc__
        named = SAID.findall(said)
        assert len(named) == 1 and set(re.findall(r"`(\w+)`", named[0])) <= about, name


def test_no_docstring_names_a_theorem_that_is_not_about_it():
    listed = {theorem.statement.name for theorem in machine_checked.headlines() if theorem.lib}
    for path in (ROOT / "lib").rglob("*.py"):
        for names in SAID.findall(path.read_text(encoding="utf-8")):
            assert set(re.findall(r"`(\w+)`", names)) <= listed, (path.name, names)


def test_a_theorem_that_is_in_no_file_is_refused(tmp_path, monkeypatch):
    lost = {"axioms": {}, "theorems": [{"name": "no_such_theorem"}]}
    (tmp_path / "headlines.yml").write_text(yaml.safe_dump(lost))
    monkeypatch.setattr(machine_checked, "LIST", tmp_path / "headlines.yml")
    with pytest.raises(ValueError, match="theorem no_such_theorem must be in one file of proofs/, found in 0"):
        machine_checked.headlines()


def test_statements_are_read_without_proofs_and_with_their_hypotheses(tmp_path):
    file = tmp_path / "A.v"
    file.write_text(
        "(* About. *)\nFrom Coq Require Import Reals.\nSection S.\nVariable x : R. (* any *)\nHypothesis h : 0.5 < x.\nLet z : R := 2 * x.\nLet p : 0 < z.\nProof. lra. Qed.\n"
        "(* Says\n   so. *)\nTheorem t y : x < y ->\n  0 < y.\nProof using h. intros. (* Theorem no : False. *) lra. Qed.\n"
        "Lemma l : 0 < x. Proof. lra. Qed.\nEnd S.\nTheorem u : True.\nProof. exact I. Qed.\n"
    )
    first, lemma, last = machine_checked.statements(file)
    assert (first.name, first.line, first.says) == ("t", 11, "Says so.")
    assert first.text == "Theorem t y : x < y ->\n  0 < y."
    assert first.context == ("Variable x : R.", "Hypothesis h : 0.5 < x.", "Let z : R := 2 * x.")
    assert (lemma.name, last.name, last.context, last.says) == ("l", "u", (), "")


# ---- the tables' cells


def test_the_cells_are_the_ledgers():
    ids = {id for id in claims.load().claims if re.match(r"miura2022\.table[12]\.", id)}
    written = re.findall(r"\{\| (.*?) \|\}.*\(\* (.*) \*\)", cells.text())
    assert {id for _, id in written} == ids and len(written) == 40
    for fields, id in written:
        cell = dict(field.split(" := ") for field in fields.split("; "))
        printed = claims.load()[id].printed
        assert int(cell["m"]) == int(printed.replace(".", "")) and int(cell["e"]) == len(printed.partition(".")[2])


# ---- the proved formula is lib's


def points(count=12):
    """Yield random rational points: n, alpha, d, sigma, so that the theorems' conditions hold."""
    rng = np.random.default_rng(21)
    for _ in range(count):
        d, sigma, alpha = (
            int(rng.integers(1, 9)),
            Fraction(int(rng.integers(1, 16)), 16),
            Fraction(int(rng.integers(17, 80)), 16),
        )
        yield int(alpha * 4 * d / sigma * int(rng.integers(2, 40))) + 2, alpha, d, sigma


COMPARED: set[str] = set()


def compares(*theorems):
    """Mark a test that compares lib's numbers with those of the definitions in the theorems."""
    COMPARED.update(theorems)
    return lambda test: test


def orders(count, seed):
    """Yield random rational points: an order alpha, a cost at this order, and a delta."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield (
            Fraction(int(rng.integers(17, 320)), 16),
            Fraction(int(rng.integers(0, 64)), 64),
            Fraction(1, int(rng.integers(2, 10**6))),
        )


@compares("renyi_eps", "renyi_eps_mironov")
def test_the_epsilons_of_a_renyi_divergence_are_libs():
    for alpha, cost, delta in orders(12, 31):
        for theorem, conversion in {"renyi_eps": "canonne2020", "renyi_eps_mironov": "mironov2017"}.items():
            proved = formula(theorem, r"close l \((.*)\) delta P Q\.$", alpha=alpha, cost=cost, delta=delta)
            found = rdp_to_dp(float(alpha), float(cost), float(delta), conversion).epsilon
            assert found == pytest.approx(max(proved, 0), rel=1e-12, abs=1e-12), theorem


@compares("renyi_delta", "zcdp_delta")
def test_the_delta_of_a_renyi_divergence_is_libs():
    assert headline("renyi_delta").text.endswith("close l eps (delta_at alpha cost eps) P Q.")
    assert headline("zcdp_delta").text.endswith("close l eps (delta_at alpha (rho * alpha) eps) P Q.")
    for alpha, cost, eps in orders(12, 32):
        proved = value("Moments.v", "delta_at", alpha, cost, eps * 4)
        found = rdp_to_delta(float(alpha), float(cost), float(eps * 4)).delta
        assert found == pytest.approx(min(float(proved), 1), rel=1e-9)


@pytest.mark.slow
@compares("zcdp_eps", "aim_budget", "aim_budget_sharp", "selections_private")
def test_the_epsilons_of_concentrated_privacy_are_libs():
    closed = {
        "zcdp_eps": r"close l \((.*)\) delta P Q\.$",
        "aim_budget": r"\(joint X O rounds \[\]\) \((.*)\) delta\.$",
        "selections_private": r"\(joint X O \(map select selections\) \[\]\)\s+\((.*)\) delta\.$",
    }
    none = Definitions("Finite.v")
    text = re.search(r"\(joint X O rounds \[\]\)\s+\((.*)\) delta\.$", headline("aim_budget_sharp").text)[1]
    for _, rho, delta in orders(6, 33):
        for theorem, pattern in closed.items():
            proved = formula(theorem, pattern, rho=rho, delta=delta)
            assert zcdp_to_dp(float(rho), float(delta), "mironov2017") == pytest.approx(proved, rel=1e-12), theorem
        at = {"rho": mp.mpf(float(rho)), "delta": mp.mpf(float(delta))}
        sharp = [
            float(Reader(none, text, at | {"alpha": 1 + mp.mpf(float(x))}).all()) for x in np.geomspace(1e-2, 1e7, 400)
        ]
        assert zcdp_to_dp(float(rho), float(delta)) == pytest.approx(max(min(sharp), 0), rel=2e-3, abs=1e-5)
        assert zcdp_to_dp(float(rho), float(delta)) <= max(min(sharp), 0) * (1 + 1e-12)
    cost = (
        machine_checked_text("Selections.v", "select").rpartition("=>")[2].rstrip(").").replace("epsilon s past", "e")
    )
    for epsilon in fractions(6, 1 / 64, 4, 34):
        at = {"e": mp.mpf(epsilon.numerator) / epsilon.denominator}
        proved = float(Reader(Definitions("Selections.v"), cost, at).all())
        assert Exponential(float(epsilon), 1.0).rho == pytest.approx(proved, rel=1e-12)


@compares("two_rounds", "renyi_filter", "zcdp_filter")
def test_the_costs_of_rounds_add_up_as_in_lib():
    assert "cost + cost2 a <= budget" in headline("two_rounds").text
    assert "=> snd r past + spent rest (past ++ [o]) later" in machine_checked_text("Filter.v", "spent")
    costs = [float(cost) for _, cost, _ in orders(12, 35)]
    assert compose_rdp(costs) == pytest.approx(sum(costs), rel=1e-12)


@compares("renyi_within_positive", "renyi_post", "close_excess", "post_processing")
def test_the_divergences_of_laws_are_libs():
    """The definitions in the words of numpy, and that a random map increases neither; outcomes may be impossible."""
    rng = np.random.default_rng(36)
    for alpha, eps, _ in orders(12, 37):
        p, q = rng.dirichlet(np.ones(6), 2)
        p[0] = 0  # impossible under one law
        p /= p.sum()
        channel = rng.dirichlet(np.ones(4), 6)
        moment = np.sum(q * (p / q) ** float(alpha))
        found = renyi_discrete(p, q, float(alpha))
        assert found == pytest.approx(np.log(moment) / (float(alpha) - 1), rel=1e-9)
        assert renyi_discrete(p @ channel, q @ channel, float(alpha)) <= found
        excess = lambda p, q: np.maximum(p - np.exp(float(eps)) * q, 0).sum()  # noqa: E731
        events = [p[list(event)].sum() - np.exp(float(eps)) * q[list(event)].sum() for event in subsets(6)]
        assert max(events) == pytest.approx(excess(p, q), abs=1e-15)
        assert excess(p @ channel, q @ channel) <= excess(p, q) + 1e-15


def subsets(count):
    return itertools.chain.from_iterable(itertools.combinations(range(count), k) for k in range(count + 1))


@compares("theorem_H", "H_falls")
def test_theorem_h_is_libs():
    for n, alpha, d, sigma in points():
        proved = value("Formulas.v", "eps_H", n, alpha, d, sigma)
        assert regularised_epsilon(n, float(alpha), d, float(sigma)) == pytest.approx(float(proved), rel=1e-9)


@compares("theorem_H_added", "theorem_H_removed", "H_added_attained", "H_removed_attained")
def test_each_direction_of_theorem_h_and_what_attains_it_are_libs():
    lost = {"added": r"psi alpha \((- 1 / \(n \+ 1\))\) / 2\)", "removed": r"psi alpha \((1 / n)\) / 2\)"}
    for n, alpha, d, sigma in points():
        attained = []
        terms = bounds._regularised_terms(*map(np.float64, (n, float(alpha), d, float(sigma))))
        for (name, pattern), term in zip(lost.items(), terms):
            whole = value("Formulas.v", f"eps_H_{name}", n, alpha, d, 4 * d / sigma)
            text = headline(f"H_{name}_attained").text
            assert f"(Formulas.eps_H_{name} n alpha d tau - d * Formulas.psi" in text
            other = Fraction(re.search(pattern, text)[1] == "1 / n" and Fraction(1, n) or Fraction(-1, n + 1))
            attained.append(float(whole - d * value("Formulas.v", "psi", alpha, other) / 2))
            assert term / 2 == pytest.approx(attained[-1], rel=1e-9)
        found = regularised_epsilon_attained(n, float(alpha), d, float(sigma))
        assert found == pytest.approx(max(attained), rel=1e-9)


@compares("channel_data", "noise_psd", "processing", "copies_renyi")
@pytest.mark.parametrize("seed", range(6))
def test_the_channel_of_theorem_h_and_its_divergences_are_libs(seed):
    """The theorems' equations, in the words of numpy, at random data of the cube."""
    rng = np.random.default_rng(seed)
    n, d, sigma, alpha = int(rng.integers(20, 60)), int(rng.integers(1, 5)), 0.5, 1.5
    D, x = rng.integers(-64, 65, (n, d)) / 64, rng.integers(-64, 65, d) / 64
    (mean, cov), (mean_x, cov_x) = fit(D), fit(np.vstack([D, x]))
    tau, v, near = 4 * d / sigma, x - mean, functools.partial(pytest.approx, rel=1e-9, abs=1e-12)
    noise, spread = sigma * np.eye(d) - np.outer(v, v) / tau, np.column_stack([v, np.eye(d)])
    assert np.linalg.eigvalsh(noise)[0] >= -1e-12

    def source(first, rest):
        made = np.zeros((d + 1, d + 1))
        made[0, 0], made[1:, 1:] = first, rest * cov
        return made

    more = n + 1
    first, second = source(1 / tau, 1), source((1 + n * tau / more**2) / tau, n / more)
    assert spread @ first @ spread.T + noise == near(cov + sigma * np.eye(d))
    assert spread @ second @ spread.T + noise == near(cov_x + sigma * np.eye(d))
    assert spread @ np.append(1 / more, np.zeros(d)) == near(mean_x - mean)
    one = renyi_gaussian(mean, cov + sigma * np.eye(d), mean_x, cov_x + sigma * np.eye(d), alpha)
    assert one <= regularised_epsilon(n, alpha, d, sigma)
    means, covs = np.tile([mean, mean_x], 3), [np.kron(np.eye(3), each + sigma * np.eye(d)) for each in (cov, cov_x)]
    assert renyi_gaussian(means[0], covs[0], means[1], covs[1], alpha) == pytest.approx(3 * one, rel=1e-9)
    last = [(means[i, -1:], covs[i][-1:, -1:]) for i in range(2)]  # a linear map: the last coordinate
    assert renyi_gaussian(*last[0], *last[1], alpha) <= one * (1 + 1e-9)


@compares("psi_nonneg", "psi_increasing", "psi_decreasing")
def test_psi_is_libs():
    for alpha, t in itertools.product((1.25, 2, 5.5), (-0.125, -0.03125, 0.25, 3)):
        assert psi(t, alpha) == pytest.approx(float(value("Formulas.v", "psi", alpha, t)), rel=1e-12)


BOUNDS = {
    "eps_unbounded": unbounded_epsilon,
    "eps_bounded": bounded_epsilon,
    "eps_bounded_tight": bounded_epsilon_tight,
    "eps_bounded_joint": bounded_epsilon_joint,
    "eps_bounded_both": bounded_epsilon_both,
    "eps_bounded_centred": bounded_epsilon_centred,
    "eps_unbounded_tight": unbounded_epsilon_tight,
}


@compares(
    "theorem_3_1",
    "theorem_3_2",
    "theorem_A",
    "theorem_B",
    "theorem_G",
    "theorem_G_centred",
    "theorem_D",
    "unbounded_falls",
    "tight_falls",
    "joint_falls",
    "both_falls",
    "bounded_falls",
    "centred_falls",
    "unbounded_tight_falls",
)
@pytest.mark.parametrize("name", BOUNDS)
def test_the_epsilons_are_libs(name):
    for n, alpha, d, sigma in points():
        proved = value("Formulas.v", name, n, alpha, d, sigma)
        assert BOUNDS[name](n, float(alpha), d, float(sigma)) == pytest.approx(float(proved), rel=1e-9)


@compares("theorem_3_1_added", "theorem_3_1_removed")
def test_the_epsilons_of_each_direction_are_libs():  # of which the larger one is `unbounded_epsilon`
    for n, alpha, d, sigma in points():
        *directions, _ = bounds._theorem_3_1_directions(*map(np.float64, (n, float(alpha), d, float(sigma))))
        for name, found in zip(("eps_added", "eps_removed"), directions):
            proved = value("Formulas.v", name, n, alpha, d, 4 * d / sigma)
            assert found == pytest.approx(float(proved), rel=1e-9), name


@compares("lemma_C", "theorem_D_added", "theorem_D_removed", "removed_grows")
def test_theorem_d_is_libs():
    for n, alpha, d, sigma in points():
        radius = value("Formulas.v", "largest_radius", d, sigma)
        assert largest_radius(d, float(sigma)) == pytest.approx(float(radius), rel=1e-12)
        for name, formula in {"div_added": divergence_added, "div_removed": divergence_removed}.items():
            for r in (Fraction(0), Fraction(1, 3), Fraction(int(radius))):
                proved = value("Formulas.v", name, n, alpha, d, r)
                assert formula(n, float(alpha), d, float(r)) == pytest.approx(float(proved), rel=1e-9), name


@compares("added_falls", "added_grows", "turn_sign")
def test_the_divergence_of_lib_turns_where_the_theorems_say():
    turn_ = machine_checked_text("Distance.v", "turn").partition(":=")[2].removesuffix(".")
    bound = headline("turn_sign").text.rpartition("a <= ")[2].removesuffix(".")
    for n, part, d in itertools.product((2, 7, 40), fractions(4, 1 / 16, 15 / 16, 29), (1, 5)):
        at = {"n": mp.mpf(n)}
        sign = Reader(Definitions("Distance.v"), bound, dict(at)).all()  # alpha up to which it grows from 0 on
        for alpha in (sign + (n + 1 - sign) * float(part), 1 + (sign - 1) * float(part)):
            turn = float(Reader(Definitions("Distance.v"), turn_, at | {"a": alpha}).all())
            assert (turn <= 0) == (alpha <= sign)
            near = divergence_added(n, float(alpha), d, np.maximum(turn, 0) + np.arange(8) / 8 * max(turn, 1))
            assert (np.diff(near) > 0).all()
            before = divergence_added(n, float(alpha), d, max(turn, 0) * np.arange(1, 9) / 8)
            assert (np.diff(before) < 0).all() or turn <= 0


@compares("grr_is_law", "grr_private", "grr_no_better", "grr_variance")
def test_randomized_response_is_libs():
    rng = np.random.default_rng(22)
    for _ in range(12):
        k, epsilon = int(rng.integers(2, 40)), Fraction(int(rng.integers(1, 160)), 32)
        truth, lie = (float(value("RandomizedResponse.v", name, k, epsilon)) for name in ("truth", "lie"))
        answer, oracle = RandomizedResponse(float(epsilon), k), GRR(k, float(epsilon))
        assert (answer.truth, answer.lie) == pytest.approx((truth, lie), rel=1e-12)
        assert (oracle.p, oracle.q) == pytest.approx((truth, lie), rel=1e-12)
        share, n = Fraction(int(rng.integers(0, 17)), 16), int(rng.integers(1, 1000))
        proved = value("RandomizedResponse.v", "pure_variance", truth, lie, share, n)
        assert pure_variance(truth, lie, float(share), n) == pytest.approx(float(proved), rel=1e-12)
        assert oracle.variance(float(share), n) == pytest.approx(float(proved), rel=1e-9)


@compares("theorem4_counterexample", "theorem4_is_false")
def test_the_limited_noise_of_learning_is_libs():
    text = machine_checked_text("Learning.v", "noisy")
    ends = [Definitions("Learning.v"), *re.findall(r"f (?:low|high) \* \((.*?\) / scale\))\)", text)]
    for centre, scale, low, high in ((0.25, 1.5, 0.0, 1.0), (-0.5, 0.3, -0.5, 0.5), (0.1, 2.0, -0.5, 0.5)):
        given = {"c": centre, "scale": scale, "low": low, "high": high}
        proved = [float(Reader(ends[0], end, dict(given)).all()) for end in ends[1:]]
        assert atoms(centre, scale, low, high) == pytest.approx(proved, rel=1e-12)


@pytest.mark.slow
@compares("noise_is_law", "discrete_laplace_private", "discrete_laplace_no_better")
def test_the_discrete_laplaces_noise_is_libs():
    for scale in (Fraction(1, 3), Fraction(2), Fraction(17, 4)):
        mechanism = DiscreteLaplace(scale, 1)
        for z in range(-3, 4):
            proved = [float(value("DiscreteLaplace.v", "noise", scale, at)) for at in (z, z - 1)]
            loss = np.log(proved[0] / proved[1])  # of neighbours 0 and 1 at the outcome z
            assert abs(loss) == pytest.approx(mechanism.epsilon, rel=1e-12)
        beyond = [float(value("DiscreteLaplace.v", "noise", scale, z)) for z in range(60 * int(scale + 1))]
        assert 2 * np.sum(beyond) - beyond[0] == pytest.approx(1, abs=1e-12)


@compares("permute_and_flip_is_law", "permute_and_flip_private", "law_is_integral")
def test_the_coins_of_permute_and_flip_are_libs():
    mechanism, scores = PermuteAndFlip(0.75, 2.0), np.array([3.0, 5.0, 4.0, -1.0])
    text = machine_checked_text("PermuteAndFlip.v", "coin")
    assert text.endswith("exp (- eps * (best k q - q i) / (2 * sensitivity)).")
    coins = np.exp(-0.75 * (scores.max() - scores) / (2 * 2.0))

    def choice(rest, r):  # the algorithm as `choice` has it: one is drawn, all alike; its coin, or on without it
        left = {i: [j for j in rest if j != i] for i in rest}
        return np.mean([coins[i] * (i == r) + (1 - coins[i]) * (choice(left[i], r) if left[i] else 0) for i in rest])

    by_recursion = [choice(range(4), r) for r in range(4)]
    assert by_recursion == pytest.approx(mechanism.probabilities(scores), rel=1e-12)


def fractions(count, low, high, seed):
    """Return random rational points in [low, high], in 64ths."""
    rng = np.random.default_rng(seed)
    return [Fraction(int(k), 64) for k in rng.integers(64 * low, 64 * high + 1, count)]


def formula(theorem, pattern, **values):
    """Return the value of a formula in a theorem, found by `pattern`, at these values."""
    found = re.findall(pattern, headline(theorem).text)
    assert len(found) == 1, theorem
    given = {name: mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x for name, x in values.items()}
    return float(Reader(Definitions(headline(theorem).file), found[0], given).all())


@functools.cache
def headline(name):
    return next(each.statement for each in machine_checked.headlines() if each.statement.name == name)


@pytest.mark.slow
@compares("rr_private", "rr_no_better")
@pytest.mark.parametrize("p", fractions(12, 33 / 64, 63 / 64, 23))
def test_the_epsilon_of_an_answer_of_two_is_libs(p):
    for name, pattern in (("rr_private", r"\(rr p\) \((.*)\)\.$"), ("rr_no_better", r"eps -> (ln .*) <= eps\.$")):
        epsilon = formula(name, pattern, p=p)
        assert RandomizedResponse(epsilon, 2).truth == pytest.approx(float(p), rel=1e-12)


@compares("grr_unbiased", "rr_unbiased")
@pytest.mark.parametrize("epsilon", fractions(6, 1 / 8, 4, 24))
def test_the_estimate_from_reports_is_libs(epsilon):
    oracle, counts = GRR(3, float(epsilon)), [17, 30, 53]
    text = machine_checked_text("RandomizedResponse.v", "estimate").partition(":=")[2].removesuffix(".")
    assert text.count("count v ys") == text.count("size ys") == 1
    text = text.replace("count v ys", "c").replace("size ys", "n")
    proved = [
        float(Reader(Definitions("Finite.v"), text, {"p": oracle.p, "q": oracle.q, "c": c, "n": 100}).all())
        for c in counts
    ]
    assert 100 * oracle.estimate(counts, 100) == pytest.approx(proved, rel=1e-9)


@compares("basic_composition")
def test_what_steps_cost_together_is_libs():
    assert headline("basic_composition").text.endswith("(sum steps snd).")  # the sum of the second entries: epsilons
    epsilons = fractions(12, 0, 4, 25)
    assert composition.basic([float(each) for each in epsilons]).epsilon == pytest.approx(
        float(sum(epsilons)), rel=1e-12
    )


@pytest.mark.slow
@compares("bounded_range_zcdp", "pure_dp_zcdp", "exponential_zcdp")
@pytest.mark.parametrize("epsilon", fractions(12, 0.02, 8, 26))
def test_the_conversions_to_concentrated_privacy_are_libs(epsilon):
    rho = (
        r"\bzero_concentrated (?:neighbours outcomes M|\(scores_within .*?\) outcomes \(exponential .*?\)) \((.*?)\)\.$"
    )
    for name, found in {
        "bounded_range_zcdp": bounded_range_zcdp(float(epsilon)),
        "pure_dp_zcdp": pure_dp_to_zcdp(float(epsilon)),
        "exponential_zcdp": Exponential(float(epsilon), 3.0).rho,
    }.items():
        assert float(found) == pytest.approx(formula(name, rho, eps=epsilon), rel=1e-12)


@compares("exponential_private", "exponential_zcdp")
@pytest.mark.parametrize("epsilon", fractions(6, 0.02, 8, 27))
def test_the_exponential_mechanism_is_libs(epsilon):
    mechanism, scores = Exponential(float(epsilon), 0.75), fractions(5, -4, 4, 28)
    weight, _, whole = (
        machine_checked_text("BoundedRange.v", "exponential").partition(":=")[2].partition(" / sum outcomes ")
    )
    assert " ".join(whole.split()) == f"(fun b => {weight.strip().replace('u a', 'u b')})."  # the sum of all weights
    values = [{"eps": float(epsilon), "sensitivity": 0.75, "score": float(each)} for each in scores]
    weights = [float(Reader(Definitions("Finite.v"), weight.replace("u a", "score"), each).all()) for each in values]
    assert mechanism.probabilities([float(each) for each in scores]) == pytest.approx(
        np.array(weights) / sum(weights), rel=1e-12
    )
    assert headline("exponential_private").text.endswith("(exponential outcomes eps sensitivity) eps.")
    assert mechanism.epsilon_at(0.0) == pytest.approx(float(epsilon), rel=1e-12)


@compares(
    "mean_added", "mean_removed", "cov_added", "cov_removed", "mean_replaced", "cov_replaced", "radius", "tau_bounds"
)
@pytest.mark.parametrize("seed", range(6))
def test_what_a_record_does_to_mean_and_covariance_is_libs(seed):
    """The theorems' right-hand sides, in the words of numpy, at random data of the cube."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 20)), int(rng.integers(1, 5))
    D, x, y = rng.integers(-64, 65, (n, d)) / 64, *rng.integers(-64, 65, (2, d)) / 64
    (mean, cov), (mean_x, cov_x), (mean_y, cov_y) = fit(D), fit(np.vstack([D, x])), fit(np.vstack([D, y]))
    outer = lambda v: np.outer(v, v)  # noqa: E731
    near = functools.partial(pytest.approx, rel=1e-9, abs=1e-12)
    assert mean_x - mean == near((x - mean) / (n + 1)) and mean - mean_x == near(-(x - mean_x) / n)
    assert cov_x == near(n / (n + 1) * cov + n / (n + 1) ** 2 * outer(x - mean))
    assert cov == near((n + 1) / n * cov_x - (n + 1) / n**2 * outer(x - mean_x))
    assert mean_x - mean_y == near((x - y) / (n + 1))
    assert cov_y == near(cov_x + n / (n + 1) ** 2 * (outer(y - mean) - outer(x - mean)))
    assert (x - mean) @ (x - mean) <= 4 * d
    tau = float(value("Formulas.v", "tau", d, smallest_eigenvalue(D)))
    assert squared_mahalanobis(D, x[None]).max() <= tau


@compares("tables_1_and_2")
def test_the_release_and_its_conversion_are_libs():
    for n, alpha, d, sigma in points():
        epsilon = value("Formulas.v", "whole", n, value("Formulas.v", "eps_bounded", n, alpha, d, sigma))
        proved = value("Formulas.v", "converted", alpha, epsilon, 1e-5)
        found = rdp_to_dp(
            float(alpha), n * bounded_epsilon(n, float(alpha), d, float(sigma)), 1e-5, "mironov2017"
        ).epsilon
        assert found == pytest.approx(float(proved), rel=1e-9)


@compares("density_integrates", "proposition_4_1_line", "proposition_4_1_infinite")
@pytest.mark.parametrize("seed", range(6))
def test_the_divergence_on_the_line_is_libs(seed):
    rng = np.random.default_rng(seed)
    (m1, v1, m2, v2), alpha = rng.integers(1, 64, 4) / 16, rng.integers(17, 64) / 16
    _, _, density = machine_checked_text("Gaussian.v", "density").removesuffix(".").partition(":=")
    assert value("Gaussian.v", "bell", m1) == pytest.approx(np.exp(-(m1**2) / 2), rel=1e-12)
    given = {"m": m1, "v": v1, "x": m2, "area": np.sqrt(2 * np.pi)}  # the integral of `bell`
    proved = Reader(Definitions("Gaussian.v"), density, {name: mp.mpf(float(x)) for name, x in given.items()}).all()
    assert stats.norm.pdf(m2, m1, np.sqrt(v1)) == pytest.approx(float(proved), rel=1e-9)
    edge = alpha / (alpha - 1) * v2  # the first variance from which on the divergence is infinite
    for variance in (v1, edge * 0.75):
        if variance < edge:
            proved = value("Gaussian.v", "closed_form_1", *map(float, (alpha, m1, variance, m2, v2)))
            assert renyi_gaussian(m1, variance, m2, v2, alpha) == pytest.approx(float(proved), rel=1e-9)
    assert renyi_gaussian(m1, edge * 1.25, m2, v2, alpha) == np.inf


NOT_COMPARED = {
    "that all outputs together have a law is no number": ["composed_is_law"],
    "an example of two mechanisms, which lib has not": ["lemma2_counterexample", "lemma2_is_false"],
    "a formula of the document alone, which lib does not use": [
        "printed_weak_triangle_is_false", "printed_derivative", "grows_below", "falls_above", "printed_signs_are_exchanged",
    ],
    "that the case delta = 0 of a definition is another definition is no number": ["pure_is_approximate"],
    "that an integral exists, or that two conditions are one, is no number": ["bell_integral", "T_alpha_line"],
    "data sets that satisfy hypotheses; nothing is computed": ["private_theorems_apply", "public_theorems_apply"],
}  # fmt: skip


def test_each_theorem_is_compared_with_lib_or_has_a_reason_why_not():
    names = {theorem.statement.name for theorem in machine_checked.headlines()}
    without = [name for names in NOT_COMPARED.values() for name in names]
    assert names >= COMPARED and not COMPARED & set(without)
    assert sorted(names - COMPARED) == sorted(without)
    bound_to_lib = {theorem.statement.name for theorem in machine_checked.headlines() if theorem.lib}
    assert not bound_to_lib & set(without)


def machine_checked_text(file, name):
    return next(each.text for each in machine_checked.statements(machine_checked.FOLDER / file) if each.name == name)


def test_a_formula_is_read_as_coq_reads_it(tmp_path, monkeypatch):
    (tmp_path / "A.v").write_text(
        "Definition f (x y : R) : R := x - y - 1.\nDefinition g (x : R) : R := - x ^ 2 / 2 * f (2 * x) x + / x.\n"
        "Definition h (x : R) : R := let v := Rmin x 3 in ln (exp v) + g 1.\nDefinition bad (x : R) : R := x ? 1.\n"
    )
    monkeypatch.setattr(machine_checked, "FOLDER", tmp_path)
    assert value("A.v", "g", 4) == -(4**2) / 2 * (8 - 4 - 1) + 1 / 4
    assert value("A.v", "h", Fraction(7, 2)) == pytest.approx(3 + (-1 / 2 * (2 - 1 - 1) + 1))
    with pytest.raises(ValueError, match="not a formula"):
        value("A.v", "bad", 1)
    with pytest.raises(ValueError, match="takes x, y, got 1"):
        value("A.v", "f", 1)


# ---- Coq itself


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the two files that randomized response needs, built."""
    folder = tmp_path_factory.mktemp("proofs")
    texts = stated.sources()
    texts = {name: texts[name] for name in ("Finite.v", "RandomizedResponse.v")}
    texts["_CoqProject"] = "-Q . Compendium\nFinite.v\nRandomizedResponse.v\n"
    check.build(texts, folder)
    return texts, folder


@pytest.mark.sampled(1)
@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("(grr k eps) eps.", "(grr k eps) (eps / 2)."),
        (
            "lie (k : nat) (eps : R) : R := 1 / (exp eps + INR k - 1)",
            "lie (k : nat) (eps : R) : R := 1 / (exp eps + INR k)",
        ),
        ("(f * p * (1 - p) + (1 - f) * q * (1 - q))", "(f * p * (1 - p) + (1 - f) * p * (1 - q))"),
        ("eps' -> eps <= eps'.", "eps' -> 2 * eps <= eps'."),
    ],
)
def test_a_change_in_a_statement_fails(small, tmp_path, was, becomes):
    texts, folder = small
    shutil.copytree(folder, tmp_path / "planted")
    file = texts["RandomizedResponse.v"]
    assert was in file
    with pytest.raises(check.Failed, match="RandomizedResponse.v"):
        check.build(texts | {"RandomizedResponse.v": file.replace(was, becomes, 1)}, tmp_path / "planted")


SCALARS = ("Formulas.v", "Psi.v", "Scalars.v", "Spread.v", "Distance.v", "Growth.v", "Peak.v", "Falls.v")


@pytest.fixture(scope="module")
def scalars(tmp_path_factory):
    """Build the files that the bounds of Gaussian synthesis need, without matrices."""
    folder = tmp_path_factory.mktemp("scalars")
    texts = {name: stated.sources()[name] for name in SCALARS}
    texts["_CoqProject"] = "-Q . Compendium\n" + "\n".join(SCALARS)
    check.build(texts, folder)
    return texts, folder


@pytest.mark.full
@needs_coq
@pytest.mark.parametrize(
    ("file", "was", "becomes"),
    [
        ("Formulas.v", "- n * (alpha - 1) * r) + (d - 1)", "- n * alpha * r) + (d - 1)"),  # Theorem D, a record removed
        ("Formulas.v", "+ alpha * n * r) + (d - 1)", "+ n * r) + (d - 1)"),  # a record added
        ("Distance.v", "a <= (n + 1) ^ 2 / (2 * n + 1).", "a <= (n + 1) ^ 2 / (2 * n)."),
        ("Distance.v", "s <= turn -> a < n + 1 -> div_added n a d s <", "a < n + 1 -> div_added n a d s <"),
        ("Spread.v", "<= psi a (- kappa).", "<= psi a kappa."),  # Theorem B's step
        ("Spread.v", "Rmax (psi a (- (kappa / (1 + kappa))))", "Rmax (psi a (- kappa / 2))"),  # Theorem G's
        ("Growth.v", "2 <= n < m", "1 <= n < m"),
        ("Falls.v", "1 < R -> 2 * R <= (n + 1) * (R - 1) ->", "1 < R -> R <= (n + 1) * (R - 1) ->"),
        ("Falls.v", "Theorem centred_falls n n' alpha d sigma : 2 <= n < n'", "Theorem centred_falls n n' alpha d sigma : 1 <= n < n'"),
        ("Formulas.v", "tau / ((n + 1) ^ 2 - (alpha - 1) * n * tau))", "tau / ((n + 1) ^ 2 - (alpha - 1) * n ^ 2 * tau))"),  # Theorem H
        ("Growth.v", "eps_unbounded m a d sigma < eps_unbounded n a d sigma", "m * eps_unbounded m a d sigma < eps_unbounded n a d sigma"),
    ],
)  # fmt: skip
def test_a_change_in_a_bound_fails(scalars, tmp_path, file, was, becomes):
    texts, folder = scalars
    shutil.copytree(folder, tmp_path / "planted")
    assert was in texts[file]
    with pytest.raises(check.Failed, match=r"(Spread|Distance|Growth|Falls)\.v"):
        check.build(texts | {file: texts[file].replace(was, becomes, 1)}, tmp_path / "planted")


MATRICES = (
    "Eigenvalues.v",
    "Forms.v",
    "Data.v",
    "Update.v",
    "Theorem31.v",
    "PublicN.v",
    "TheoremD.v",
    "Channel.v",
    "Blocks.v",
    "Processing.v",
    "Records.v",
    "TheoremH.v",
    "Attained.v",
    "Centred.v",
)


@pytest.fixture(scope="module")
def matrices(scalars, tmp_path_factory):
    """Build the files that connect the bounds with data sets, except for the theorems on top."""
    texts, folder = scalars[0].copy(), tmp_path_factory.mktemp("matrices") / "proofs"
    shutil.copytree(scalars[1], folder)
    texts |= {name: stated.sources()[name] for name in MATRICES}
    texts["_CoqProject"] = "-Q . Compendium\n" + "\n".join((*SCALARS, *MATRICES[:5]))
    check.build(texts, folder)
    return texts, folder


@pytest.mark.full
@needs_coq
@pytest.mark.parametrize(
    ("file", "was", "becomes"),
    [
        ("PublicN.v", "eps_bounded_joint n alpha d sigma)", "eps_bounded_joint (n + 1) alpha d sigma)"),
        ("PublicN.v", "floor (cov D) sigma -> floor (cov D') sigma ->\n", "floor (cov D) sigma ->\n"),
        ("TheoremD.v", "<= Formulas.largest_radius (INR j.+1) sigma)", "<= Formulas.largest_radius (INR j) sigma)"),
        ("TheoremD.v", "Formulas.div_added n alpha d (distance D x)", "Formulas.div_added (n + 1) alpha d (distance D x)"),
        ("TheoremD.v", "Theorem theorem_D : in_D_sigma sigma D", "Theorem theorem_D : in_D_sigma sigma D'"),
        ("Channel.v", "+ (n / (n + 1) ^+ 2) *: outer v + sigma%:M", "+ (n / (n + 1)) *: outer v + sigma%:M"),  # H's constant
        ("Channel.v", "dot v v <= tau * sigma -> psd (noise v tau sigma)", "dot v v <= 2 * tau * sigma -> psd (noise v tau sigma)"),
        ("TheoremH.v", "Formulas.eps_H_added n alpha (INR d) (Formulas.tau (INR d) sigma)", "Formulas.eps_H_added n alpha (INR d) (Formulas.tau (INR d) sigma / 2)"),
        ("TheoremH.v", "<= INR m * Formulas.eps_H n alpha (INR d) sigma", "<= Formulas.eps_H n alpha (INR d) sigma"),
        ("Attained.v", "Formulas.psi alpha (- 1 / (n + 1)) / 2", "Formulas.psi alpha (- 1 / (n + 1))"),
        ("Centred.v", "<= Formulas.eps_bounded_centred n alpha d sigma)", "<= Formulas.eps_bounded_centred (n + 1) alpha d sigma)"),
    ],
)  # fmt: skip
def test_a_change_in_a_theorem_of_data_sets_fails(matrices, tmp_path, file, was, becomes):
    texts, folder = matrices
    shutil.copytree(folder, tmp_path / "planted")
    assert was in texts[file]
    needed = MATRICES[: MATRICES.index(file) + 1]
    if file in MATRICES[7:-1]:
        needed = [name for name in needed if name != "PublicN.v"]  # which these do not need
    listed = {"_CoqProject": "-Q . Compendium\n" + "\n".join((*SCALARS, *needed))}
    with pytest.raises(check.Failed, match=file.replace(".", r"\.")):
        check.build(texts | listed | {file: texts[file].replace(was, becomes, 1)}, tmp_path / "planted")


FILTER = ("Finite.v", "WeakTriangle.v", "Composition.v", "Approximate.v", "Moments.v", "Filter.v")


@pytest.mark.full
@needs_coq
@pytest.mark.parametrize(
    ("file", "was", "becomes"),
    [
        ("Approximate.v", "<= exp eps * prob outcomes Q event + delta.", "<= exp eps * prob outcomes Q event + delta / 2."),
        ("Moments.v", "exp ((alpha - 1) * (cost - eps)).", "exp (alpha * (cost - eps))."),
        ("Moments.v", "- (ln delta + ln alpha) / (alpha - 1)) delta P Q.", "- (ln delta + 2 * ln alpha) / (alpha - 1)) delta P Q."),
        ("Filter.v", "=> snd r past + spent rest (past ++ [o]) later", "=> spent rest (past ++ [o]) later"),  # a forgotten cost
        ("Filter.v", "0 < joint rounds [] x os -> spent rounds [] os <= budget.", "0 < joint rounds [] x os -> spent rounds [] os <= 2 * budget."),
        ("Filter.v", "(joint X O rounds []) (rho + 2 * sqrt", "(joint X O rounds []) (rho + sqrt"),
    ],
)  # fmt: skip
def test_a_change_in_the_filter_fails(tmp_path, file, was, becomes):
    texts = {name: stated.sources()[name] for name in FILTER}
    assert was in texts[file]
    texts |= {file: texts[file].replace(was, becomes, 1), "_CoqProject": "-Q . Compendium\n" + "\n".join(FILTER)}
    with pytest.raises(check.Failed, match=r"(Approximate|Moments|Filter)\.v"):
        check.build(texts, tmp_path)


@pytest.mark.full
@needs_coq
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("exp e * probability s (four true) w0", "exp (2 * e) * probability s (four true) w0"),
        ("probability s (four false) w0 value.", "probability s (four true) w0 value."),
        ("{| input := 0; second := true |}];", "{| input := 0; second := false |}];"),  # the second record
    ],
)
def test_a_change_in_the_four_records_fails(tmp_path, was, becomes):
    text = stated.sources()["Learning.v"]
    assert text.count(was) >= 1
    with pytest.raises(check.Failed, match=r"Learning\.v"):
        check.build(
            {"Learning.v": text.replace(was, becomes, 1), "_CoqProject": "-Q . Compendium\nLearning.v"}, tmp_path
        )


@pytest.mark.full
@needs_coq
@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("  alpha / 2 * ((m1 - m2)", "  alpha / 3 * ((m1 - m2)"),
        ("- alpha * ln v2).", "- ln v2)."),
        ("/ (sqrt v * area).\n", "/ (v * area).\n"),
        ("0 < v2 -> (1 - alpha) * v1 + alpha * v2 <= 0", "0 < v2 -> (1 - alpha) * v1 + alpha * v2 <= 1"),
    ],
)
def test_a_change_in_the_gaussian_integral_fails(tmp_path, was, becomes):
    text = stated.sources()["Gaussian.v"]
    assert text.count(was) == 1
    with pytest.raises(check.Failed, match=r"Gaussian\.v"):
        check.build({"Gaussian.v": text.replace(was, becomes), "_CoqProject": "-Q . Compendium\nGaussian.v"}, tmp_path)


@pytest.mark.full
@needs_coq
def test_a_wrong_digit_in_a_cell_fails(tmp_path):
    texts = stated.sources()
    texts = {name: texts[name] for name in ("Formulas.v", "Cells.v", "Tables.v")}
    texts["_CoqProject"] = "-Q . Compendium\nFormulas.v\nCells.v\nTables.v\n"
    right = "m := 353517; e := 2"  # 3535.17, the first cell of Table 1
    assert texts["Cells.v"].count(right) == 1
    texts["Cells.v"] = texts["Cells.v"].replace(right, "m := 353518; e := 2")
    with pytest.raises(check.Failed, match="Tables.v"):
        check.build(texts, tmp_path)


@pytest.mark.full
@needs_coq
def test_coq_names_an_axiom_that_words_do_not_show(small, tmp_path):
    texts, folder = small
    shutil.copytree(folder, tmp_path / "planted")
    theorem = next(each for each in machine_checked.headlines() if each.statement.name == "rr_unbiased")
    granted = check.assumptions(folder, [theorem])
    assert check.hold([theorem], granted)
    outside = texts["RandomizedResponse.v"].replace(
        "Theorem rr_unbiased", "Variable taken : 1 = 2.\nTheorem rr_unbiased"
    )
    outside = re.sub(
        r"(Theorem rr_unbiased.*?)Proof\..*?Qed\.",
        r"\1Proof. intros. exfalso. generalize taken. lra. Qed.",
        outside,
        flags=re.S,
    )
    check.build(texts | {"RandomizedResponse.v": outside}, tmp_path / "planted")
    with pytest.raises(check.Failed, match="rests on .*taken"):
        check.hold([theorem], check.assumptions(tmp_path / "planted", [theorem]))


@pytest.mark.slow
def test_what_coq_has_read_is_kept_of_every_headline_and_definition():
    kept = check.READ.read_text(encoding="utf-8")
    names = {theorem.statement.name for theorem in machine_checked.headlines()}
    for file, statements in machine_checked.everything().items():
        for each in statements:
            if check.question(each, names):
                assert re.search(rf"(?:^|\b){file.removesuffix('.v')}\.{each.name}\b", kept), each


@pytest.mark.slow
@needs_coq
def test_a_name_that_means_something_else_is_seen(tmp_path):
    theorem = "Theorem at_0 : eps 0 = eps 0. Proof. reflexivity. Qed.\n"
    texts = {
        "_CoqProject": "-Q . Compendium\nA.v\nB.v\n",
        "A.v": "Definition eps (n : nat) : nat := n.\n",
        "B.v": f"From Compendium Require Import A.\n{theorem}",
    }

    def read(b):
        check.build(texts | {"B.v": b}, tmp_path)
        everything = {file: machine_checked.stated(file, text) for file, text in (("A.v", texts["A.v"]), ("B.v", b))}
        return check.read_by_coq(tmp_path, everything, {"at_0"})

    check.hold_read(read(texts["B.v"]), keep=True, path=tmp_path / "kept.txt")
    assert "A.eps 0 = A.eps 0" in (tmp_path / "kept.txt").read_text()
    check.hold_read(read(texts["B.v"].replace("reflexivity", "trivial")), path=tmp_path / "kept.txt")
    beside = "Lemma first (n : nat) : True with eps (n : nat) : nat. Proof. exact I. exact 0. Qed.\n"
    with pytest.raises(check.Failed, match=r"\n\+ +: B\.eps 0 = B\.eps 0\n(.|\n)*python -m proofs\.check keep$"):
        check.hold_read(read(texts["B.v"].replace("Theorem", f"{beside}Theorem")), path=tmp_path / "kept.txt")


def test_a_change_of_what_coq_reads_or_is_held_to_has_another_key(tmp_path, monkeypatch):
    texts = stated.sources()
    for path in check.CHECKED.parent.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    monkeypatch.setattr(check, "CHECKED", tmp_path / "checked.txt")
    before = check.key(texts)
    (tmp_path / "checked.txt").write_text("another hash\n")
    assert check.key(texts) == before
    assert len({before, *(check.key(texts | {name: f"{text}\n"}) for name, text in texts.items())}) == len(texts) + 1
    for name in ("headlines.yml", "statements.txt", "read_by_coq.txt", "check.py"):
        was = (tmp_path / name).read_text()
        (tmp_path / name).write_text(f"{was}\n")
        assert check.key(texts) != before, name
        (tmp_path / name).write_text(was)


def test_proofs_are_passed_over_only_where_coq_has_checked_these(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(check, "CHECKED", tmp_path / "checked.txt")
    monkeypatch.setattr(shutil, "which", lambda _: None)  # with Coq, they would be checked now
    for key, status in (("another", 2), (check.key(stated.sources()), 0)):
        check.CHECKED.write_text(f"{key}\n")
        assert check.main(["unless-checked"]) == status
    assert check.main([]) == 2
    check.CHECKED.unlink()
    assert check.main(["unless-checked"]) == 2


def test_without_coq_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert check.main([]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and all(package in said for package in check.PACKAGES)
