"""No page types a number that was found here: a number that the roles of `book/_ext/numbers.py` can quote is not typed.

The test reads the summaries, the documents' introductions, the front page, the README, and the box at the beginning of each
chapter, which says what the document claims or what we found. Rules remove numbers that are not findings: titles,
references, years, versions, names, the numbers of a formula, settings in the ledger. Every other number, in digits or
in words from eleven on (claims are counted from one), needs a line in ALLOWED that gives the reason.
"""

import json
import re
from pathlib import Path

import pytest

from book._ext import numbers
from book.ledger import claims
from tests.book.test_summaries import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted(
    path.relative_to(ROOT).as_posix() for name in DOCUMENTS for path in (ROOT / "notebooks" / name).glob("*.ipynb")
)
PAGES = [
    "README.md",
    "book/index.md",
    *(f"book/{document}/{page}.md" for document in DOCUMENTS for page in ("index", "summary")),
    *CHAPTERS,
]

LISTED = r"\(?[A-Z]?\.?\d+(?:\.\d+)*\)?"  # 2, 4.3, A.1.2, (26)
QUOTED = rf"\{{(?:{'|'.join(numbers.ROLES)}|cite)\}}`[^`]*`"
MARKUP = {
    "code, and what the build puts there": r"^```[\s\S]*?^```|`[^`]*`",
    "addresses and labels": r"\]\([^)]*\)|<[^>]*>|^\([^)]*\)=$",
    "directives and their options": r"^:{3,}.*$|^:[\w-]+:.*$",
}
NO_FINDING = {
    "numbers of a list": r"^\d+\. ",
    "parts of a document": r"\b(?:[Tt]ables?|[Ff]igures?|[Tt]heorems?|[Ll]emmas?|[Dd]efinitions?|[Aa]lgorithms?|[Ee]quations?"
    rf"|[Ss]ections?|[Cc]hapters?|[Aa]ppendix)\s+{LISTED}(?:(?:,\s+{LISTED})*,?\s+(?:and|to|or)\s+{LISTED})*",
    "years and days": r"\b(?:19|20)\d\d(?:-\d\d-\d\d)?\b",
    "versions": r"\b(?:Python|CC BY) \d+(?:\.\d+)*(?:(?:, | or )\d+(?:\.\d+)*)*",
    "names": r"\b(?=[\w-]*[A-Za-z])[\w-]*\d[\w-]*",
    "0 and 1, an answer or a unit": r"(?<![\d.,])[01](?![\d.]|,\d|\s*%)",
}
WORD = (
    r"\b(?:[Ee]leven|[Tt]welve|(?:[Tt]hir|[Ff]our|[Ff]if|[Ss]ix|[Ss]even|[Ee]igh|[Nn]ine)teen"
    r"|(?:[Tt]wen|[Tt]hir|[Ff]or|[Ff]if|[Ss]ix|[Ss]even|[Ee]igh|[Nn]ine)ty(?:-\w+)?|[Hh]undred|[Tt]housand|[Mm]illion)s?\b"
)
CLAIMS = r"\b(?:[Oo]ne|[Tt]wo|[Tt]hree|[Ff]our|[Ff]ive|[Ss]ix|[Ss]even|[Ee]ight|[Nn]ine|[Tt]en)(?= (?:\w+ )?(?:claim|remark|comparison)s?\b)"
DIGITS = r"\d+(?:[.,]\d+)*"


ALLOWED = {
    "book/index.md": {
        "For ten million records": "a setting of the ledger, in words",
        "thousands of times": "the ratio of the two numbers that the finding quotes",
    },
    "book/kiri2019/summary.md": {
        "run 500 times each": "a setting of chapter 2",
        "the hundred students": "a number of the document's story",
        "such as 0.1, 1 or 2": "numbers that the document gives as examples",
        "a hundred answers by the coin protocol at $\\varepsilon = 0.1$": "a setting of chapter 3",
        "at $\\delta = 10^{-6}$": "a setting of chapter 3",
    },
    "book/miura2022/index.md": {"of ten million": "a setting of the ledger, in words"},
    "book/miura2022/summary.md": {
        "on at least a hundred random and adversarial instances": "a setting of chapter 1",
        "at $n = 10^{11}$": "a size, for an example",
        "compared at 50 digits": "a setting of chapter 1",
        "at a hundred records": "a setting of chapter 4",
        "a hundred attributes": "a setting of chapter 3",
    },
    "book/miura2025/index.md": {
        "at $\\varepsilon = 100$": "a setting of the kept study",
        "a hundred can": "the trials of the kept study",
        "from 0.1 to 100": "settings of the kept study",
        "$16 d$": "a constant of AIM",
    },
    "book/miura2025/summary.md": {
        "a thousand steps": "a setting of `lib.tables.plan.PRINTED`",
        "with a hundred trials": "a setting of the kept study",
        "A hundred trials": "a setting of the kept study",
        "from 0.1 to 100": "settings of the kept study",
        "at 100": "a setting of the kept study",
        "between 0.3 and 10": "settings of the kept study",
        "$16d$": "a constant of AIM",
    },
    "book/hasegawa2015/index.md": {"without a factor 2": "a formula in words"},
    "book/hasegawa2015/summary.md": {"$\\varepsilon = 4.5$": "a setting of the kept study"},
    "book/sei2017/index.md": {"hundreds or thousands of parameters": "of published networks at large"},
    "book/sei2017/summary.md": {
        "500 epochs, batches of 50": "printed settings",
        "changes within $\\pm 0.1$": "a setting of the kept study",
        "from 0.1 to 10,000": "settings of the kept study",
        "$\\delta = 10^{-5}$": "a setting of the kept study",
        "$(\\varepsilon, 10^{-5})$": "a setting of the kept study",
        "$\\varepsilon = 1$ and 10": "settings of the kept study",
        "with 64 inputs": "a setting of chapter 1",
        "with $\\pm 0.1$": "a setting of the kept study",
        "$(1, 10^{-5})$": "a setting of chapter 3",
        "$\\varepsilon = 100$ for each": "a setting of chapter 3",
    },
    "notebooks/kiri2019/03_composition.ipynb": {
        "A hundred answers by randomized response, with $\\varepsilon = 0.1$ each": "a setting of the chapter",
        "with $\\delta = 10^{-6}$": "a setting of the chapter",
    },
    "notebooks/sei2017/02_figure5.ipynb": {"($\\delta = 10^{-5}$)": "a setting of the kept study"},
    "notebooks/sei2017/03_beyond.ipynb": {"With $(1, 10^{-5})$": "a setting of the kept study"},
    "notebooks/hasegawa2015/04_beyond.ipynb": {
        "At $\\varepsilon = 4.5$": "a setting of the kept study",
        "from $\\varepsilon = 4.5$ on": "a setting of the kept study",
    },
    "notebooks/miura2022/02_figures_tables.ipynb": {"At ten million": "a setting of the ledger, in words"},
    "notebooks/miura2022/03_beyond.ipynb": {"of ten million records": "a setting of the ledger, in words"},
    "notebooks/miura2022/04_adult.ipynb": {"Adult's training part, 32,561": "the number of public records"},
    "notebooks/miura2022/05_guarantee.ipynb": {"of ten million records": "a setting of the chapter, in words"},
    "notebooks/miura2025/04_beyond.ipynb": {
        "From $\\varepsilon = 0.3$ to 10": "settings of the kept study",
    },
}


def looked_through(page: str) -> str:
    """Return the text of `page`; of a chapter its opening box."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if not page.endswith(".ipynb"):
        return text
    opening = "".join(json.loads(text)["cells"][0]["source"])
    return re.search(r"^:::\{admonition\}[\s\S]*?^:::$", opening, re.MULTILINE)[0]


def settings(page: str) -> set[float]:
    """Return the numbers that the ledger has among the settings of the claims of the page's document."""
    document = page.split("/")[-2] if page.count("/") == 2 else ""
    values = [
        value
        for claim in claims.load().claims.values()
        if claim.document == document
        for value in claim.setting.values()
    ]
    return {float(value) for value in values if isinstance(value, (int, float))}


def formula(text: str, known: set[float]) -> list[str]:
    """Return the numbers in a formula that may be findings: neither of one digit, nor an index or exponent, nor a setting."""
    powers = [
        f"{factor or 1}e{exponent}" for factor, exponent in re.findall(r"(?:([\d.]+) *\\cdot *)?\b10\^\{?(-?\d+)", text)
    ]
    text = re.sub(r"(?:[\d.]+ *\\cdot *)?\b10\^\{?-?\d+|\\frac\d\d|[_^](?:\d|\{[^}.]*\})", " ", text)
    numbers = powers + [each for each in re.findall(DIGITS, text) if len(each) > 1]
    return [each for each in numbers if float(each.replace(",", "")) not in known]


def typed(text: str, page: str, leave=()) -> list[str]:
    """Return the typed numbers in `text`, except those that a rule or a phrase of `leave` excludes as not being findings."""
    for phrase in [*(document.title for document in claims.load().documents.values()), *leave]:
        text = re.sub(words(phrase), " ", text)
    text = without(re.sub(r"\{[\w:]+\}`([^`]*)`", r" \1 ", re.sub(QUOTED, " ", text)), MARKUP)
    known, formulas = settings(page), re.findall(r"\$([^$]+)\$", text)
    prose = without(re.sub(r"\$[^$]+\$", " ", text), NO_FINDING)
    prose = re.sub(
        rf"\bat ({DIGITS})(?!\d|[.,]\d| *%)",  # at 50
        lambda found: "" if float(found[1].replace(",", "")) in known else found[0],
        prose,
    )
    return [number for each in formulas for number in formula(each, known)] + re.findall(
        f"{DIGITS}|{WORD}|{CLAIMS}", prose
    )


def words(phrase: str) -> str:
    """Return a pattern for `phrase` as whole words, on one line or on several."""
    return r"(?<![\w.])" + r"\s+".join(map(re.escape, phrase.split())) + r"(?![\w]|[.,]\d)"


def without(text: str, patterns: dict[str, str]) -> str:
    for pattern in patterns.values():
        text = re.sub(pattern, " ", text, flags=re.MULTILINE)
    return text


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_types_no_number_that_was_found(page):
    text, leave = looked_through(page), list(ALLOWED.get(page, {}))
    assert not typed(text, page, leave), "quote it (book/_ext/numbers.py), or say in ALLOWED why it stands there"
    for phrase in leave:
        assert typed(text, page, set(leave) - {phrase}), f"{page}: {phrase!r} needs no leave, or is no longer there"


def test_allowed_pages_are_looked_through():
    assert set(ALLOWED) <= set(PAGES)


@pytest.mark.sampled(10)
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "planted, found",
    [
        ("It holds in 67.4 % of the runs.", ["67.4"]),
        ("They reach 0.5704\nand 1,252.", ["0.5704", "1,252"]),
        ("| Accuracy | 0.85 | 12 |", ["0.85", "12"]),
        ("a weight loses $1.309\\,\\varepsilon$, with $\\delta = 2 \\cdot 10^{-5}$", ["1.309", "2e-5"]),
        ("Errors fall like $\\varepsilon^{-0.91}$, down to $k = 1 + 10^{-21}$.", ["0.91", "1e-21"]),
        ("A pair {ref}`exceeds it by 2.8 % <fig-pair>`.", ["2.8"]),
        ("Here $\\varepsilon = 8.69$, and $K = 814$ of them.", ["8.69", "814"]),
        ("It takes forty numbers, nineteen leaks and 39.7 million records.", ["forty", "nineteen", "39.7", "million"]),
        ("**Not determinable** are five remarks and six other comparisons.", ["five", "six"]),
        ("It costs 1 % more, and [1.5](there.md) times as much in Tables 2 and 3, 19 in all.", ["1", "1.5", "19"]),
    ],
)
def test_a_planted_number_is_found(page, planted, found):
    assert typed(looked_through(page) + f"\n\n{planted}\n", page, ALLOWED.get(page, {})) == found


@pytest.mark.parametrize(
    "text",
    [
        "Theorems 1 to 4 and Lemma A.1.2 (2022), by Table 3; bounds of equations (18) to (26); chapters 2 and 3",
        "a factor $e^\\varepsilon \\simeq 1 + \\varepsilon$, $\\frac12$, $k = 3e^\\varepsilon + 2$, $x_{12}^{-2}$",
        "{shown}`kiri2019/02_local: SS saves at most #%` % of `aim-k2`, for those above 50K, with Python 3.11, 3.12 or 3.13",
        "noise gives away a count of 0, or of 1; since 2026-11-21; [here](page-12.md)",
    ],
)
def test_what_is_no_finding_may_be_typed(text):
    assert typed(text, "") == []


def test_a_setting_of_the_ledger_may_stand_on_the_pages_of_its_document():
    assert typed("at $k = 3$ and at 50; at 50 %, at 51, at 5.1", "book/hasegawa2015/summary.md") == ["50", "51", "5.1"]
    assert typed("at $n = 10^7$, $\\sigma = 0.01$", "book/miura2022/summary.md") == []
    assert typed("at $\\sigma = 0.01$", "book/kiri2019/summary.md") == ["0.01"]
