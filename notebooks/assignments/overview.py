"""The class at a glance: how often each test failed, the marks as a histogram, similar submissions side by side."""

from __future__ import annotations

import html
import itertools
import re
import urllib.parse
from collections import Counter

from lib.numerics.in_order import total
from notebooks.assignments import assignment, confinement, language
from notebooks.assignments.feedback import PAGE

SIMILAR = 0.6  # share of runs of tokens, of what the students wrote, that two submissions have in common
COPIED = 0.8  # the same proportion including common code, so that a widely copied solution does not count as common
RUN = 8  # tokens in a run
FEWEST = 40  # fewest runs for a meaningful comparison
BINS = 10


def page(records: list[dict], pages: list[str], keys: dict) -> str:
    """Return the page `class.html` of all `records`, whose feedback lies at `pages`; `keys` maps assignments to key notebooks."""
    body = [f"<p>{confinement.SAID[way]}</p>" for way in sorted({record["walls"] for record in records})]
    for name in sorted({record["assignment"] for record in records} - {""}):
        mine = [record for record in records if record["assignment"] == name]
        body += [
            f"<h2>{html.escape(name)}: {len(mine)} submission{'s' * (len(mine) > 1)}</h2>",
            _histogram(mine),
            _failures(mine),
            _similar(mine, dict(zip(map(id, records), pages)), _runs(_given(keys[name]))),
        ]
    return PAGE.format(title="The class", body="\n".join(body), up="", language=language.SOURCE)


def _histogram(records: list[dict]) -> str:
    """Return a histogram of the points by tests, in tenths of the possible points."""
    shares = []
    for record in records:
        tests = [question for question in record["questions"] if not question["by_hand"]]
        shares.append(
            total(question["points"] for question in tests) / max(total(question["out_of"] for question in tests), 1)
        )
    counts = Counter(min(int(share * BINS), BINS - 1) for share in shares)
    rows = "".join(
        f"<tr><td>{bin / BINS:.0%} to {(bin + 1) / BINS:.0%}</td><td>{_bar(counts[bin], len(records))}</td></tr>"
        for bin in range(BINS)
    )
    return f"<table><tr><th>points by tests</th><th>submissions</th></tr>{rows}</table>"


def _bar(count: int, of: int) -> str:
    bar = f'<span style="display:inline-block;height:.8em;background:#57606a;width:{9 * count / max(of, 1):.2f}rem"></span>'
    return f'<span style="white-space:nowrap">{bar} {count}</span>'


def _failures(records: list[dict]) -> str:
    """Return tests, the one that failed most often first, with its most frequent remark."""
    questions: dict = {}
    for record in records:
        for question in record["questions"]:
            if not question["by_hand"]:
                questions.setdefault(question["id"], []).append(question)
    failed = {
        ident: [each["note"].removeprefix("AssertionError: ") for each in asked if each["points"] < each["out_of"]]
        for ident, asked in questions.items()
    }
    rows = "".join(
        f"<tr><td>{html.escape(ident)}</td><td>{_bar(len(notes), len(records))}</td>"
        f"<td>{html.escape(Counter(notes).most_common(1)[0][0]) if notes else ''}</td></tr>"
        for ident, notes in sorted(failed.items(), key=lambda item: -len(item[1]))
    )
    return f"<table><tr><th>test</th><th>failed</th><th>most often because</th></tr>{rows}</table>"


def _similar(records: list[dict], pages: dict, given: set) -> str:
    """Return, side by side, pairs of submissions of different students whose cells are alike apart from `given`
    text."""
    runs = [_runs(_own(record)) - given for record in records]
    usual = Counter(itertools.chain.from_iterable(runs))
    common = {run for run, count in usual.items() if count > max(2, len(records) / 3)}  # common code belongs to nobody
    pairs = []
    for (one, left), (other, right) in itertools.combinations(zip(records, runs), 2):
        if one["student"] != other["student"]:
            share = max(_share(left - common, right - common, SIMILAR), _share(left, right, COPIED))
            pairs += [(share, one, other)] if share else []
    parts = ["<h3>Similar submissions</h3>" if pairs else ""]
    for share, one, other in sorted(pairs, key=lambda pair: -pair[0])[:20]:
        titles = "".join(
            f'<th><a href="{html.escape(urllib.parse.quote(pages[id(each)]))}">{html.escape(each["student"])}</a></th>'
            for each in (one, other)
        )
        sides = "".join(f"<td><pre>{html.escape(_own(each)[:4000])}</pre></td>" for each in (one, other))
        parts.append(f"<details><summary>{share:.0%} alike: {html.escape(one['student'])}, {html.escape(other['student'])}</summary>"
                     f"<table><tr>{titles}</tr><tr>{sides}</tr></table></details>")  # fmt: skip
    return "\n".join(parts)


def _share(left: set, right: set, least: float) -> float:
    """Return the proportion of runs of tokens that two submissions share; 0 if it is below `least` or meaningless."""
    share = len(left & right) / max(len(left | right), 1)
    return share if share >= least and len(left | right) >= FEWEST else 0.0


def _given(key) -> str:
    """Return the initial content of the cells to be filled in."""
    cells = assignment.student(key).cells
    return "\n\n".join(cell.source for cell in cells if assignment.kind(cell) in ("solution", "answer"))


def _own(record: dict) -> str:
    return "\n\n".join(cell["shown"] for cell in record["plan"] if cell["kind"] in ("solution", "own", "answer"))


def _runs(text: str) -> set[tuple]:
    """Return the runs of tokens of a student's text; names count as names only, so that renaming hides nothing."""
    tokens = re.findall(r"[A-Za-z_]\w*|\d[\d.]*|\S", re.sub(r"#.*", "", text[:100_000]))
    keywords = {"def", "return", "if", "else", "for", "in", "while", "lambda", "not", "and", "or", "np", "None"}
    plain = [token if token in keywords or not token[0].isalpha() else "x" for token in tokens]
    return {tuple(plain[start : start + RUN]) for start in range(len(plain) - RUN + 1)}
