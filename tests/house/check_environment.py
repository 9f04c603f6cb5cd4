"""Check the active environment for `make PYTHON=python …`, and name the packages that it lacks; standard library only.

The argument is `environment` for a reader's packages, `classroom` or `development` for those of a group.
"""

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(listed: str) -> list[str]:
    """Return the names in the file `listed` that this platform needs."""
    lines = (ROOT / listed).read_text(encoding="utf-8").splitlines()
    wanted = [line.partition(";") for line in lines if line and line[0] not in "#-"]
    here = {"sys_platform": sys.platform}
    return [canonical(re.match(r"[\w.-]+", name)[0]) for name, _, marker in wanted if not marker or eval(marker, here)]


def main(group: str) -> int:
    stem = "requirements" if group == "environment" else f"requirements-{group}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        print(f"{sys.executable} is Python {sys.version.split()[0]}; 3.11, 3.12 or 3.13 is needed.", file=sys.stderr)
        return 1
    installed = {canonical(distribution.name) for distribution in distributions() if distribution.name}
    lacking = [name for name in required(f"{stem}.in") if name not in installed]
    if lacking:
        print(
            f"{sys.executable} lacks {', '.join(lacking)}. Install what {stem}.lock lists "
            f"(python -m pip install --require-hashes -r {stem}.lock), "
            "or run make without PYTHON= to have an environment made.",
            file=sys.stderr,
        )
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
