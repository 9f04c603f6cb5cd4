"""Every sentence with a strong word is listed in `strong_words.yml` with its evidence.

A strong word is one that a single exception refutes: exact, sharp, tight, best, never, always, every, optimal, impossible, cannot,
"no … better", "only if". A sentence is listed word for word: if you change it, look at its evidence again.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "tests/book/strong_words.yml"

STRONG = re.compile(
    r"\b(?:exact(?:ly|ness)?|sharp(?:ly|er|est|ness)?|tight(?:ly|er|est|ness)?|best|never|always|every|optimal(?:ly|ity)?|optim(?:um|a)"
    r"|impossible|cannot|only if|no(?: [\w-]+){0,3} (?:more|other|better|less|smaller|larger|fewer|worse))\b",
    re.IGNORECASE,
)

# What stands in a page without being a sentence of ours, or is looked at elsewhere.
MATH = r"\$\$.*?\$\$|\$(?:\\.|[^$\\])+\$"
CODE = r"(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)"


def pages() -> list[str]:
    """Return the committed pages and notebooks whose sentences are read."""
    books = [path for path in (ROOT / "book").glob("**/*.md") if "notebooks" not in path.parts[len(ROOT.parts) :]]
    found = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "proofs/README.md",
        *books,
        *(ROOT / "notebooks").glob("**/*.ipynb"),
    ]
    names = {path.relative_to(ROOT).as_posix() for path in found if not path.name.startswith(".")}
    return sorted(name for name in names if name != "book/scorecard.md" and ".ipynb_checkpoints" not in name)


def prose(text: str, name: str) -> str:
    """Return the markdown of a page. For a notebook this is its markdown cells, followed by the captions of its figures."""
    if not name.endswith(".ipynb"):
        return text
    cells = json.loads(text)["cells"]
    said = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    for cell in cells:
        shown = cell.get("metadata", {}).get("mystnb", {})
        said += [shown.get("figure", {}).get("caption", ""), shown.get("image", {}).get("alt", "")]
    return "\n\n".join(said)


def without_fences(text: str) -> str:
    """Leave out blocks of code; directives, such as admonitions, stay with what they hold."""
    kept, fences = [], []  # of open fences: the mark, and whether code stands in it
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,}|:{3,})\s*(\S*)(.*)$", line)
        if fences and mark and not mark[2] and mark[1].startswith(fences[-1][0]):
            fences.pop()
            kept.append("")
        elif fences and fences[-1][1]:
            continue
        elif mark:
            fences.append((mark[1], not mark[2].startswith("{")))
            kept += ["", mark[3].strip(), ""]  # a directive's title is read too
        elif not re.match(r"\s*:[\w-]+:( |$)|\([\w-]+\)=$|%", line):
            kept.append(line)
    assert not fences, f"a block that is never closed: {fences}"
    return "\n".join(kept)


def role(match: re.Match) -> str:
    """Return the words that a link shows; of any other role its name alone, whatever it prints."""
    name, inside = match[1], match[2]
    shown = re.match(r"(.+?)\s*<[^<>]*>$", inside, flags=re.DOTALL)
    if name in ("doc", "ref", "term", "download") and shown:
        return shown[1]
    return inside if name == "term" else f"«{name}»"


def blocks(text: str) -> list[str]:
    """Return paragraphs, items, headings, cells of tables: what a sentence never runs across."""
    text = re.sub(r"<!--.*?-->", "", without_fences(text), flags=re.DOTALL)
    text = re.sub(r"\{([\w:-]+)\}`([^`]*)`", role, text)
    text = re.sub(r"!?\[([^\]]*)\]\((?:[^()]|\([^()]*\))*\)", r"\1", text)  # links and pictures: their words
    text = re.sub(r"</?[a-z]+(?: [^<>]*)?/?>", "", text)
    text = re.sub(r"(?m)^#+ (.*)$", "\n\n\\1\n\n", text)
    text = re.sub(r"(?m)^\s*(?:[-*+]|\d+\.|:|>)\s+", "\n\n", text)
    text = re.sub(r"(?m)^\s*\|(.*)\|\s*$", lambda row: "\n\n" + row[1].replace(" | ", "\n\n") + "\n\n", text)
    return [" ".join(block.split()) for block in re.split(r"\n\s*\n", text) if block.strip()]


def sentences(block: str) -> list[str]:
    """Return a block cut after each full stop that ends a sentence; formulas and code are never cut."""
    held = []

    def hold(match):
        held.append(match[0])
        return f"\0{len(held) - 1}\0"

    masked = re.sub(CODE, hold, re.sub(MATH, hold, block))
    full_stop = r"([.?!][*_)”\"]*)\s+(?=[*_(“\"«]*[A-Z0-9\0Α-Ωα-ω])"
    cut = re.sub(full_stop, "\\1\n", masked).split("\n")
    ends = r"(?:\b(?:e\.g|i\.e|et al|vs|cf|p|pp|Fig|Eq|No|St)\.)$"
    joined = []
    for part in cut:
        if joined and re.search(ends, joined[-1]):
            joined[-1] += " " + part
        else:
            joined.append(part)
    return [re.sub("\0(\\d+)\0", lambda match: held[int(match[1])], part).strip() for part in joined]


def strong(sentence: str) -> bool:
    """Return whether a sentence has a strong word outside of formulas and code."""
    return STRONG.search(re.sub(CODE, "", re.sub(MATH, "", sentence))) is not None


def strong_sentences(text: str, name: str) -> list[str]:
    """Return the sentences of a page with a strong word, each once, in their order."""
    found = (sentence for block in blocks(prose(text, name)) for sentence in sentences(block) if strong(sentence))
    return list(dict.fromkeys(found))


# ---- the list


def listed(text: str) -> dict[str, dict[str, str]]:
    """Return, by page, the listed sentences with their evidence."""
    return {
        page: {" ".join(entry["says"].split()): entry["evidence"] for entry in entries}
        for page, entries in yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)).items()
    }


def compare(there: dict[str, list[str]], known: dict[str, dict[str, str]]) -> list[str]:
    """Return, in words, the sentences that the list lacks and those that are no longer there."""
    said = []
    for page in sorted({*there, *known}):
        found, evidence = there.get(page, []), known.get(page, {})
        said += [
            f"{page}: not in tests/book/strong_words.yml. Is it so? Look at its proof, table, cell or test, correct it if it says more, "
            f"then list it with that evidence:\n    {sentence}"
            for sentence in found
            if sentence not in evidence
        ]
        said += [
            f"{page}: listed in tests/book/strong_words.yml, and no longer there (take it out of the list):\n    {sentence}"
            for sentence in evidence
            if sentence not in found
        ]
    return said


@cache
def functions(path: Path) -> set[str]:
    """Return the names of the functions and classes at the top of a module."""
    return set(re.findall(r"(?m)^(?:def|class) (\w+)", path.read_text(encoding="utf-8")))


@cache
def shown(path: Path) -> str:
    """Return the text of a file without line breaks: for a notebook, its cells and the texts that they print."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        printed = [
            data for output in outputs for kind, data in output.get("data", {}).items() if kind.startswith("text")
        ]
        said = [cell["source"] for cell in cells] + [output.get("text", "") for output in outputs] + printed
        text = "\n".join("".join(part) for part in said)
    return " ".join(text.split())


def broken(page: str, evidence: str, root: Path = ROOT) -> list[str]:
    """Return the names in a piece of evidence that do not exist: tests, files, claims, words in quotation marks."""
    gone, files = [] if evidence.strip() else ["nothing is named"], []
    for name in re.findall(r"(?<![\w/.])(?:\.ci/run|(?:lib|book|notebooks|tests)/[\w/.-]*\w(?:::\w+)?)", evidence):
        path, _, function = name.partition("::")
        if not (root / path).is_file():
            gone.append(f"{path} does not exist")
        elif function and function not in functions(root / path):
            gone.append(f"{path} has no {function}")
        elif not function:
            files.append(path)
    gone += [
        f"no claim {name}" for name in re.findall(r"\bclaim ([\w.-]+\w)", evidence) if name not in claims_of_the_book()
    ]
    text = " ".join(shown(root / path) for path in files or [page])
    gone += [f"{words} is not in {files or [page]}" for words in re.findall('"([^"]+)"', evidence) if words not in text]
    return gone


@cache
def claims_of_the_book() -> set[str]:
    return set(re.findall(r"(?m)^- id: (\S+)", (ROOT / "book/claims.yml").read_text(encoding="utf-8")))


# ---- the book


@pytest.fixture(scope="module")
def book() -> dict[str, list[str]]:
    return {name: strong_sentences((ROOT / name).read_text(encoding="utf-8"), name) for name in pages()}


@pytest.fixture(scope="module")
def known() -> dict[str, dict[str, str]]:
    return listed(LIST.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_strong_sentence_is_listed_with_its_evidence(book, known):
    said = compare(book, known)
    assert not said, "\n" + "\n".join(said)


def test_the_evidence_exists(known):
    gone = {
        sentence: lost
        for page, evidence in known.items()
        for sentence, named in evidence.items()
        if (ROOT / page).is_file() and (lost := broken(page, named))
    }
    assert not gone


def test_no_sentence_is_listed_twice(known):
    entries = re.findall(r"(?m)^- says: ", LIST.read_text(encoding="utf-8"))
    assert len(entries) == sum(len(evidence) for evidence in known.values())


# ---- what is to be caught is caught


@pytest.fixture
def noticed(book, known):
    """Return what is said of changed pages beyond what is said of the book as it is, which is nothing where all is well."""

    def of(**changes):
        before = compare(book, known)
        return [
            line for line in compare(book | changes.get("pages", {}), changes.get("known", known)) if line not in before
        ]

    return of


@pytest.mark.slow
def test_a_new_sentence_is_missed_in_the_list(noticed):
    page = "book/trust.md"
    text = (ROOT / page).read_text(encoding="utf-8") + "\nThis is the best page of all.\n"
    (said,) = noticed(pages={page: strong_sentences(text, page)})
    assert said.startswith(f"{page}: not in tests/book/strong_words.yml") and said.endswith(
        "This is the best page of all."
    )


@pytest.mark.slow
def test_a_changed_sentence_is_both_missed_and_gone(book, noticed):
    page = "notebooks/kiri2019/04_floating_point.ipynb"
    said = noticed(pages={page: ["In three releases of four, always.", *book[page][1:]]})
    assert len(said) == 2 and "not in" in said[0] and "no longer there" in said[1]


@pytest.mark.slow
def test_a_changed_formula_is_another_sentence(noticed):
    page = "notebooks/miura2022/03_beyond.ipynb"
    text = (ROOT / page).read_text(encoding="utf-8")
    changed = text.replace(r"$r \\le R = d\\,(1 + ", r"$r \\le R = d\\,(2 + ")
    assert changed != text and len(noticed(pages={page: strong_sentences(changed, page)})) == 2


@pytest.mark.slow
def test_a_removed_page_and_a_new_one_are_noticed(known, noticed):
    page = "book/glossary.md"
    assert len(noticed(pages={page: []})) == len(known[page])
    assert len(noticed(known={name: known[name] for name in known if name != page})) == len(known[page])


@pytest.mark.parametrize(
    ("evidence", "lost"),
    [
        (
            "tests/lib/attacks/test_audit.py::test_that_is_gone",
            "tests/lib/attacks/test_audit.py has no test_that_is_gone",
        ),
        ("proved in notebooks/kiri2019/99_gone.ipynb", "notebooks/kiri2019/99_gone.ipynb does not exist"),
        ("claim kiri2019.gone; definition", "no claim kiri2019.gone"),
        (" ", "nothing is named"),
        ('table below, "never so"', "never so is not in ['book/trust.md']"),
        ('book/index.md, "Module by module"', "Module by module is not in ['book/index.md']"),
    ],
)
def test_evidence_that_is_gone_is_named(evidence, lost):
    assert broken("book/trust.md", evidence) == [lost]


def test_evidence_that_is_there_is_found():
    told = "tests/lib/attacks/test_audit.py::test_no_mechanism_is_worse_than_it_says, .ci/run, lib/attacks/audit.py; claim kiri2019.laplace.variance"
    assert broken("book/trust.md", told) == broken("book/trust.md", 'section "Module by module"') == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A bound. It is never reached, *always*.\n", ["It is never reached, *always*."]),
        ("It never\nends.", ["It never ends."]),
        ("For all $\\text{every}$, `best`, **no** word.", []),
        ("```python\nbest = 1\n```\n\nText.", []),
        ("```{admonition} The best\nText.\n```\n", ["The best"]),
        (":::{prf:theorem}\n:label: exact\nEvery $x. Y$ is 1. So $y$.\n:::", ["Every $x. Y$ is 1."]),
        ("| a | every b |\n|---|---|\n| no more than c | d |", ["every b", "no more than c"]),
        ("In {doc}`the exact law <a>` 1 {term}`best <b>`.", ["In the exact law 1 best."]),
        ("{here}`a b` is the best, {cite}`never`.", ["«here» is the best, «cite»."]),
        ("See [the best](always.md).\n\n<!-- never -->", ["See the best."]),
        ("Nothing beats it, and its bestiary is everything, exacting.", []),
        ("It holds only if $a$. Nor is it larger.", ["It holds only if $a$."]),
        ("By Sei et al. Always so, vs. Dwork.", ["By Sei et al. Always so, vs. Dwork."]),
    ],
)
def test_sentences_are_read_as_they_are_printed(text, found):
    assert strong_sentences(text, "page.md") == found


FIGURE = {"mystnb": {"figure": {"caption": "Every point. Below."}, "image": {"alt": "A line. It always falls."}}}


def test_of_a_notebook_markdown_and_captions_are_read_and_code_is_not():
    cells = [
        {"cell_type": "markdown", "source": ["# Best\n", "It is so.\n"]},
        {"cell_type": "code", "source": ["never = 1"], "outputs": [{"text": "always"}], "metadata": FIGURE},
        {"cell_type": "markdown", "source": ["No other is larger.\n"]},
    ]
    found = ["Best", "No other is larger.", "Every point.", "It always falls."]
    assert strong_sentences(json.dumps({"cells": cells}), "a.ipynb") == found
