"""The reference: docstrings as pages, who uses what, the index of formulas, and prices that the build computes."""

import importlib
import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from docutils import nodes

from book._ext import docstrings, numbers, pages, reference
from book._ext.reference import rooms
from book.ledger import claims, numbered
from lib.gaussian_synthesis import THEOREMS

ROOT = Path(__file__).resolve().parents[2]


# ---- pages


def test_every_room_has_its_page():
    listed = re.findall(r"file: reference/(\S+)", (ROOT / "book/_toc.yml").read_text(encoding="utf-8"))
    for room in rooms():
        assert f"```{{reference}} {room}\n" in (ROOT / f"book/reference/{room}.md").read_text(encoding="utf-8")
    assert sorted(listed) == sorted(rooms()) == sorted(path.stem for path in (ROOT / "book/reference").glob("*.md"))


def test_names_in_backticks_are_code():
    made = reference.with_code("`a` of x, and `b_c*`.")
    assert [(type(each), each.astext()) for each in made] == [
        (nodes.literal, "a"),
        (nodes.Text, " of x, and "),
        (nodes.literal, "b_c*"),
        (nodes.Text, "."),
    ]


def untyped(thing) -> list[str]:
    """Return the arguments of a function, property or class that have no type, and "return" if what it returns has none."""
    made = thing.__init__ if inspect.isclass(thing) else getattr(thing, "fget", getattr(thing, "func", thing))
    if not (getattr(made, "__module__", None) or "").startswith(("lib.", __name__)):
        return []  # a constructor that Python made
    taken = inspect.signature(made)
    lacking = [name for name, each in taken.parameters.items() if each.annotation is each.empty]
    return [name for name in lacking if name not in ("self", "cls")] + ["return"] * (
        taken.return_annotation is taken.empty
    )


def test_every_argument_and_every_return_value_has_a_type():
    lacking = {}
    for (module, name), shown in reference.public().items():
        thing = getattr(importlib.import_module(module), name)
        methods = reference.members(thing) if inspect.isclass(thing) else []
        for each in [thing, *(getattr(thing, method) for method in methods)]:
            if missing := untyped(each):
                lacking[getattr(each, "__qualname__", shown)] = missing
    assert lacking == {}


def test_what_has_no_type_is_found():
    def half(x: float, y=1.0):
        return x + y

    assert untyped(half) == ["y", "return"]
    assert untyped(property(lambda self: 1)) == ["return"]


def test_what_is_public_is_called_as_it_is_imported():
    public = reference.public()
    assert public["lib.gaussian_synthesis.bounds", "unbounded_epsilon"] == "lib.gaussian_synthesis.unbounded_epsilon"
    assert public["lib.accounting.composition", "basic"] == "lib.accounting.composition.basic"
    assert len(set(public.values())) == len(public) > 380


@pytest.mark.parametrize(
    ("text", "near", "target"),
    [
        ("compose_rdp", "lib.tables.table.", "lib.accounting.compose_rdp"),
        ("accounting.gaussian_sigma", "lib.mechanisms.additive_noise.Gaussian", "lib.accounting.gaussian_sigma"),
        ("variance", "lib.local.protocol.FrequencyOracle", "lib.local.FrequencyOracle.variance"),
        ("gaussian", "lib.accounting.composition.", "lib.accounting.composition.gaussian"),
        ("epsilon", "lib.tables.table.", ""),  # of many things
        ("delta", "lib.accounting.conversions.", ""),
    ],
)
def test_names_in_texts_lead_to_the_nearest_that_is_so_called(text, near, target):
    assert reference.meant(text, near) == target


def test_citations_and_documents_are_linked():
    assert reference.linked("Bun and Steinke 2016, Proposition 1.4") == ":cite:t:`bun2016`, Proposition 1.4"
    assert reference.linked("Nobody 1903") == "Nobody 1903"
    assert ":doc:`miura2022 </miura2022/summary>`, Theorem 3.1" in reference.linked("miura2022, Theorem 3.1")


# ---- docstrings


def made(text: str, *arguments: str) -> str:
    return "\n".join(line for line in docstrings.rst(text.splitlines(), set(arguments)) if line)


def test_arguments_are_found_in_lines_and_within_a_paragraph():
    text = "alpha, n : orders\n    in (1, inf)\ndelta : (0, 1); count: whole. Raises: words"
    assert made(text, "alpha", "n", "delta", "count").splitlines() == [
        "``alpha``, ``n``",
        "    orders in (1, inf)",
        "``delta``",
        "    (0, 1)",
        "``count``",
        "    whole. Raises: words",
    ]
    assert made("n : whole\nClipped at `n` and `m`.", "n").splitlines() == [
        "``n``",
        "    whole",
        "Clipped at \\ ``n``\\  and \\ :house:`m`\\ \\.",
    ]
    assert made("n : whole\n`m` is public.", "n").splitlines() == ["``n``", "    whole", "\\ :house:`m`\\  is public."]
    assert made("gap_ : at the end; trace_ : before").splitlines() == [
        "``gap_``",
        "    at the end",
        "``trace_``",
        "    before",
    ]
    assert made("Of two kinds: one and the other.", "kinds") == "Of two kinds: one and the other."


def test_formulas_lists_examples_and_sources_stay_what_they_are():
    text = "Says:\n- one `a`\n  and more\n- two\n\n    x = y |z|\n\n>>> 1\n1\n\nGood. Source: kiri2019."
    lines = made(text).splitlines()
    assert lines[:3] == ["Says:", "- one \\ :house:`a`\\  and more", "- two"]
    assert lines[3:5] == [".. rst-class:: formula", "    | x = y \\|z\\|"]
    assert lines[5:] == [">>> 1", "1", "Good.", ":Source: kiri2019."]
    assert made("1. One\n   and more.\n2. Two.").splitlines() == ["1. One and more.", "2. Two."]


def test_what_would_be_markup_is_escaped():
    assert docstrings.flowing("2 * x, |y| and z_ of `f`s") == "2 \\* x, \\|y\\| and z\\_ of \\ :house:`f`\\ s"


@pytest.mark.parametrize(
    ("plain", "shown"),
    [
        ("The smallest epsilon.", "The smallest ε."),
        ("(e^(epsilon/2) - 1)^2 <= 10^6", "(e<sup>ε/2</sup> - 1)<sup>2</sup> ≤ 10<sup>6</sup>"),
        ("2^-(g+1) and A^-1 v'^T", "2<sup>-(g+1)</sup> and A<sup>-1</sup> v'<sup>T</sup>"),
        ("sum_c w_c/sigma_c^2", "∑<sub>c</sub> w<sub>c</sub>/σ<sub>c</sub><sup>2</sup>"),
        ("D_{1+z} and p_{r_i}(D)", "D<sub>1+z</sub> and p<sub>r<sub>i</sub></sub>(D)"),
        ("[0, inf), sqrt(rho log(1/delta))", "[0, ∞), √(ρ log(1/δ))"),
        ("2^(f(g(min(e^x, 2k))) - 1)", "2<sup>f(g(min(e<sup>x</sup>, 2k))) - 1</sup>"),
        ("|s - t|_1 and (T x)_y^2", "|s - t|<sub>1</sub> and (T x)<sub>y</sub><sup>2</sup>"),
        ("truth_r, n_iter and max_value", "truth<sub>r</sub>, n_iter and max_value"),
        ("rho_used, log_mass, information, w^ and alphabet", "rho_used, log_mass, information, w^ and alphabet"),
    ],
)
def test_formulas_in_plain_text_are_typeset(plain, shown):
    page = nodes.paragraph("", "", *docstrings.typeset(plain))
    tags = str(page).replace("superscript>", "sup>").replace("subscript>", "sub>")
    assert tags == f"<paragraph>{shown}</paragraph>"


# ---- chapters


def test_uses_are_found_by_every_way_to_import():
    source = (
        "import lib.local as oracles\nfrom lib import accounting\nfrom lib.accounting import conversions as c\n"
        "from lib.mechanisms import Laplace\naccounting.renyi\nc.zcdp_to_dp\noracles.GRR(3, 1).variance\nrenyi_discrete"
    )
    assert reference.uses_of(source) == {
        ("lib.accounting.divergence", "renyi"),
        ("lib.accounting.conversions", "zcdp_to_dp"),
        ("lib.local.protocol", "GRR"),
        ("lib.mechanisms.additive_noise", "Laplace"),
    }


# ---- the index of formulas


def test_numbers_are_read_off_a_text():
    text = "定理 3.1 と 補題 A.1.2, Definition 2.10, 定義 2.9; 表 1 $$x \\quad (7)$$ 図 3"
    assert numbered.numbers(text) == {
        "Definition": ["2.9", "2.10"],
        "Theorem": ["3.1"],
        "Lemma": ["A.1.2"],
        "Table": ["1"],
        "Equation": ["7"],
    }


def test_every_item_that_the_ledger_names_is_in_the_index():
    """The ledger was written from the documents, the lists by a program from their texts."""
    known = reference.items()
    for claim in claims.load().claims.values():
        every = [f"{match['kind'].capitalize()} {match['numbers']}" for match in reference.NAMED.finditer(claim.item)]
        assert len(reference.named(claim.item, known[claim.document])) >= len(every), claim.item


@pytest.mark.slow
def test_each_item_has_a_function_or_a_reason_and_not_both():
    found = reference.functions()
    both = [
        (key, item, reason)
        for key, each in reference.items().items()
        for item, reason in each.items()
        if bool(found[key].get(item)) == bool(reason)
    ]
    assert both == []


@pytest.mark.slow
def test_an_item_leads_to_what_implements_it():
    found = reference.functions()
    assert "lib.tables.budget_schedule.Schedule" in found["miura2025"]["Algorithm 4"]
    assert "lib.networks.learning_first" in found["sei2017"]["Theorem 3"]


def test_the_index_lists_our_own_theorems_of_the_register_with_functions_and_verdicts():
    record = SimpleNamespace(
        document="compendium", item="Theorems A and B", notebook="notebooks/a/b.ipynb", verdict="reproduced"
    )
    other = SimpleNamespace(document="miura2022", item="Theorem A", notebook="notebooks/a/c.ipynb", verdict="differs")
    rows = [line.split(" | ") for line in reference.own_theorems([record, other]).splitlines()[2:]]
    ours = [each for each in THEOREMS if each.source != "miura2022"]
    assert [row[0].removeprefix("| ").replace("\N{NO-BREAK SPACE}", " ") for row in rows] == [
        each.name for each in ours
    ]
    for theorem, row in zip(ours, rows):
        for function in (theorem.renyi, theorem.exact):
            assert function is None or f"<lib.gaussian_synthesis.{function.__name__}>" in row[1]
        judged = theorem.name in ("Theorem A", "Theorem B")
        assert row[2:] == (["{doc}`/notebooks/a/b`", "reproduced |"] if judged else ["–", "no claim |"])


def test_items_are_read_as_texts_write_them():
    known = [f"Lemma 4.{number}" for number in range(2, 7)] + [
        "Theorem 3.1",
        "Equation 15",
        "Equation 16",
        "Algorithm 4",
    ]
    assert reference.named("Lemmas 4.2-4.4 (s = 1)", known) == ["Lemma 4.2", "Lemma 4.3", "Lemma 4.4"]
    assert reference.named("equations (15) and 16; Algorithm 4, lines 1", known) == [
        "Equation 15",
        "Equation 16",
        "Algorithm 4",
    ]
    assert reference.named("Theorem 3.2, section 4.2", known) == []


def test_an_item_belongs_to_the_document_that_is_named_last():
    known = {"miura2022": {}, "miura2025": {}}
    text = "Wang et al. 2017, Theorem 1; miura2022, Lemma 4.2. Equation (3)"
    assert [key for key, part in reference.attributed(text, "", known) if "Lemma" in part] == ["miura2022"]
    assert not any("Theorem" in part for _, part in reference.attributed(text, "miura2025", known))
    assert ("miura2025", "Equation (3)") in list(reference.attributed(text, "miura2025", known))


def test_the_list_of_formulas_holds_numbers_and_reasons_only():
    for kinds in yaml.safe_load(reference.LIST.read_text(encoding="utf-8")).values():
        kinds.pop("without")
        assert set(kinds) <= set(reference.KINDS)
        assert all(re.fullmatch(numbered.NUMBER, number) for numbers in kinds.values() for number in numbers)


# ---- prices


def test_numbers_are_computed_by_lib():
    assert numbers.computed("gaussian_sigma(1, 1e-6) :.2f") == "4.22"
    assert numbers.computed("local.GRR(2, 1).k") == "2"


def test_bits_of_reports_are_those_of_the_calculator():
    lines = (ROOT / "book/choose.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if "<lib.local." in line and "bits from each person |" in line]
    for line in rows:
        name = re.search(r"<lib\.local\.(\w+)>", line)[1]
        assert f"| {{computed}}`ceil(communication.report_bits(local.{name}(1000, 1))) :,.0f` bits" in line
    assert (
        len(rows) == 9
        and numbers.computed("ceil(communication.report_bits(local.SubsetSelection(1000, 1))) :,.0f") == "835"
    )


@pytest.mark.parametrize("text", ["nothing_such(1)", "gaussian_sigma(", "inf", "accounting.none"])
def test_what_gives_no_number_is_refused(text):
    with pytest.raises(ValueError, match="computed must"):
        numbers.computed(text)


def test_a_part_of_a_signature_is_one_element():
    link = '<span class="n"><a href="#a"><span class="pre">A</span></a></span>'
    made = '<span class="sig-name descname"><span class="pre">fit</span></span><span class="p"><span class="pre">(</span></span>'
    assert pages.in_one(made + link) == '<span class="sig-name descname">fit</span><span class="p">(</span>' + link
