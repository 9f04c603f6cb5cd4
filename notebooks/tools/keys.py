"""Keys of everything that make's outputs depend on: make rebuilds outputs that were made with another key.

    python notebooks/tools/keys.py notebooks/miura2022/04_adult.ipynb ... -- en ja

writes below build/keys

    executed/miura2022/04_adult.key   the notebook with its own parameters (see `key`)
    papers/miura2022/04_adult.key     the notebook with the parameters that notebooks/full.yml gives it
    claims.key, scorecard.key         all executed notebooks, and the code that judges them
    html.key                          all of these, the pages, and what the pages say of the code

build/made contains the keys with which outputs were made, if these are today's keys; other keys are removed. make
compares ages. So the file of a key is dated before the outputs made with this key, and after the outputs made with
another key.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from book.kept import content_key, results  # noqa: E402  (the repository root must be on the path first)
from lib.release.files import whole  # noqa: E402

CLAIMS, FULL = "book/claims.yml", "notebooks/full.yml"
# Each notebook has a separate part of claims and settings; the others are the times of earlier runs, and the tools' settings.
SHARED = (CLAIMS, FULL, "book/results/papers.csv", "pyproject.toml")
RUNNER = ("notebooks/tools/run.py", "requirements.lock")
LONG_AGO = 86_400 * 10**9  # nanoseconds after the beginning of 1970
# The runner uses these files to locate data, to read code for keys, to show progress, and to name files with separate
# keys. No output depends on them.
BESIDES = ("lib/data", "book/kept", "notebooks/tools/progress.py", "book/ledger/__main__.py")


def key(notebook: Path) -> str:
    """Return the key of everything that the outputs of `notebook` (a path) depend on, except parameter values, in hexadecimal.

    The key covers the notebook without its outputs, the closure of its code, the code that runs it, the lock, and the
    claims of its document without statements and rules, which no output contains.
    """
    claims = (ROOT / CLAIMS).read_text(encoding="utf-8")
    return _hash(
        _of_code(notebook, without=SHARED),
        _of_code(*RUNNER, without=(*SHARED, *BESIDES)),
        claims_of(notebook.parent.name, content_key.IN_WORDS.sub("", claims)),
    )


def claims_of(document: str, claims: str) -> str:
    """Return the part of the ledger's text `claims` about the document with the key `document`, without comments.

    This part contains its title, the interpretations of its settings, its claims, and our own results that its chapters
    judge.
    """
    documents, _, listed = ("\n" + re.sub(r"(?m)^#.*\n", "", claims)).partition("\nclaims:\n")
    parts = re.split(r"(?m)^(?=  [\w-]+:$)", documents) + re.split(r"(?m)^(?=- )", listed)
    of = (f"  {document}:\n", f"  {document}-", f"- id: {document}.", f"- id: compendium.{document}.")
    return "".join(part for part in parts if part.startswith(of))


def settings_of(name: str, full: str) -> str:
    """Return the entry for the notebook `name` ("document/stem") in the text `full` of notebooks/full.yml; "" if it has none."""
    found = re.search(rf"(?m)^{re.escape(name)}:.*\n(?:(?:[ #].*)?\n)*", full + "\n")
    return "".join(line + "\n" for line in found[0].splitlines() if line and line[0] != "#") if found else ""


def pages(editions: list[str]) -> str:
    """Return the key of the pages without verdicts: of their texts, `lib`, the sources of kept results, and the figures' commit."""
    made_by = [path for pattern in MAKERS for path in sorted(ROOT.glob(pattern))]
    folders = [os.walk(ROOT / name) for name in ("book", "locale", "proofs", "lib")]
    files = [Path(folder, name) for found in folders for folder, _, names in found for name in names]
    read = [
        file
        for file in sorted(files)
        if file.suffix != ".pyc" and file.is_file() and file != ROOT / content_key.SCORECARD
    ]
    texts = [
        f"{file}\0{content_key.content(str(file))}" for file in (ROOT / "pyproject.toml", ROOT / "_config.yml", *read)
    ]
    return _hash(_of_code(*made_by), *map(str, results.figures_commit()), *editions, *texts)


MAKERS = ("notebooks/studies/*.py", "notebooks/*/*.ipynb", FULL, "tests/benchmarks/*.py")


def _of_code(*starts, without=()) -> str:
    return content_key.key(*starts, root=ROOT, without=without)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def today(notebooks: list[Path], editions: list[str]) -> dict[str, str]:
    """Return the keys that the module's docstring lists, by name."""
    full, python = (ROOT / FULL).read_text(encoding="utf-8"), f"{sys.version_info[0]}.{sys.version_info[1]}"
    alike = os.environ.get("ALIKE", "")  # the Makefile's settings of the processor, on which last digits hang
    found = {}
    for notebook in notebooks:
        name, here = f"{notebook.parent.name}/{notebook.stem}", _hash(key(ROOT / notebook), python, alike)
        found |= {f"executed/{name}": here, f"papers/{name}": _hash(here, settings_of(name, full))}
    judged = _hash(
        _of_code("book/ledger/__main__.py"),
        *(f"{name} {said}" for name, said in sorted(found.items()) if "executed" in name),
    )
    return found | {"claims": judged, "scorecard": judged, "html": _hash(judged, pages(editions))}


def write(found: dict[str, str]) -> None:
    """Write the files that the module's docstring lists."""
    outputs = {"claims": "build/claims.json", "scorecard": content_key.SCORECARD, "html": "build/html/index.html"}
    for name, said in found.items():
        _put(f"{name}.key", said, ROOT / outputs.get(name, f"build/{name}.ipynb"))


def _put(name: str, said: str, output: Path) -> None:
    """Write the key called `name`, dated so that make makes `output` if it is missing or was made with another key."""
    file, made = ROOT / "build/keys" / name, ROOT / "build/made" / name
    if not file.is_file() or file.read_text(encoding="utf-8") != said:
        with whole(file) as draft:
            draft.write_text(said, encoding="utf-8")
    there = output.stat().st_mtime_ns if output.is_file() else time.time_ns()
    if output.is_file() and made.is_file() and made.read_text(encoding="utf-8") == said:
        age = LONG_AGO
    else:
        made.unlink(missing_ok=True)
        age = there + 1_000_000
    os.utime(file, ns=(age, age))


if __name__ == "__main__":
    try:
        end = sys.argv.index("--")
        write(today([Path(name) for name in sys.argv[1:end]], sys.argv[end + 1 :]))
    except SyntaxError as error:
        sys.exit(f"{error.filename}, line {error.lineno}: {error.msg}")
    except ValueError as error:
        sys.exit(f"a file that the notebooks depend on cannot be read: {error}")
