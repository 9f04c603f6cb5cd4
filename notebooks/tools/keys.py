"""What the outputs of notebooks depend on, as keys for make, which runs the notebooks whose key has changed.

    python notebooks/tools/keys.py build/keys notebooks/miura2022/04_adult.ipynb ...

writes below build/keys, and only where it says something else than before, so that make can go by a file's age:

    executed/miura2022/04_adult.key   the notebook with its own parameters (see `key`)
    papers/miura2022/04_adult.key     with those that notebooks/full.yml has for it
    ledger.key                        what gathers the verdicts, and all claims
    pages.key                         what pages tell of besides: lib's docstrings, and the code of kept results
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from book.kept import content_key  # noqa: E402  (the repository root must be on the path first)
from lib.release.files import whole  # noqa: E402

CLAIMS, FULL = "book/claims.yml", "notebooks/full.yml"
# Of claims and settings each notebook has a part of its own; the others are the times of earlier runs, and the tools' settings.
SHARED = (CLAIMS, FULL, "book/results/papers.csv", "pyproject.toml")
RUNNER = ("notebooks/tools/run.py", "requirements.lock")
MADE = ("book/scorecard.md",)  # by make, of what is keyed: no key depends on it
# The runner asks where data are, shows how far it is, and names what has a key of its own: none of it changes an output.
BESIDES = ("lib/data", "notebooks/tools/progress.py", "book/ledger/__main__.py")


def key(notebook: Path) -> str:
    """The key of all that the outputs of `notebook` (a path) depend on but values for its parameters, in hexadecimal.

    It covers the notebook without its outputs, its code's closure, what runs it, the lock and its document's claims.
    """
    claims = (ROOT / CLAIMS).read_text(encoding="utf-8")
    return _hash(
        _of_code(notebook, without=SHARED),
        _of_code(*RUNNER, without=(*SHARED, *BESIDES)),
        claims_of(notebook.parent.name, claims),
    )


def claims_of(document: str, claims: str) -> str:
    """What the text `claims` of the ledger says of one `document`, by its key: its title and its claims, but comments."""
    text = re.sub(r"(?m)^#.*\n", "", claims)
    documents, _, listed = f"\n{text}".partition("\nclaims:\n")
    parts = re.split(r"(?m)^(?=  \w+:$)", documents) + re.split(r"(?m)^(?=- )", listed)
    return "".join(part for part in parts if part.startswith((f"  {document}:\n", f"- id: {document}.")))


def settings_of(name: str, full: str) -> str:
    """The entry for the notebook `name` ("document/stem") in the text `full` of notebooks/full.yml; "" if it has none."""
    found = re.search(rf"(?m)^{re.escape(name)}:.*\n(?:(?:[ #].*)?\n)*", full + "\n")
    return "".join(line + "\n" for line in found[0].splitlines() if line and line[0] != "#") if found else ""


def pages() -> str:
    """The key of what pages read from the code: every line of `lib`, and what makes the kept results."""
    made_by = [path for pattern in MAKERS for path in sorted(ROOT.glob(pattern))]
    read = [path.read_bytes() for path in (ROOT / "pyproject.toml", *sorted((ROOT / "lib").rglob("*.py")))]
    return _hash(_of_code(*made_by), *(hashlib.sha256(text).hexdigest() for text in read))


MAKERS = ("notebooks/studies/*.py", "notebooks/*/*.ipynb", FULL, "tests/benchmarks/*.py")


def _of_code(*starts, without=()) -> str:
    return content_key.key(*starts, root=ROOT, without=(*MADE, *without))


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def write(folder: Path, notebooks: list[Path]) -> None:
    """The files that the module's text lists, for `notebooks`, below `folder`."""
    full, python = (ROOT / FULL).read_text(encoding="utf-8"), f"{sys.version_info[0]}.{sys.version_info[1]}"
    alike = os.environ.get("ALIKE", "")  # the Makefile's settings of the processor, on which last digits hang
    found = {"ledger": _of_code("book/ledger/__main__.py"), "pages": pages()}
    for notebook in notebooks:
        name, here = f"{notebook.parent.name}/{notebook.stem}", _hash(key(ROOT / notebook), python, alike)
        found |= {f"executed/{name}": here, f"papers/{name}": _hash(here, settings_of(name, full))}
    for name, said in found.items():
        file = folder / f"{name}.key"
        if not file.is_file() or file.read_text(encoding="utf-8") != said:
            with whole(file) as draft:
                draft.write_text(said, encoding="utf-8")


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
    except SyntaxError as error:
        sys.exit(f"{error.filename}, line {error.lineno}: {error.msg}")
    except ValueError as error:
        sys.exit(f"what notebooks depend on cannot be read: {error}")
