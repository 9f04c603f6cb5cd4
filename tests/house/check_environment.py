"""Is the active environment good for `make PYTHON=python …`? Says what it lacks; standard library only."""

import re
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required() -> list[str]:
    """The names in requirements.in that this platform needs."""
    lines = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    wanted = [line.partition(";") for line in lines if line and not line.startswith("#")]
    here = {"sys_platform": sys.platform}
    return [canonical(re.match(r"[\w.-]+", name)[0]) for name, _, marker in wanted if not marker or eval(marker, here)]


def main() -> int:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        print(f"{sys.executable} is Python {sys.version.split()[0]}; 3.11, 3.12 or 3.13 is needed.", file=sys.stderr)
        return 1
    installed = {canonical(distribution.name) for distribution in distributions() if distribution.name}
    lacking = [name for name in required() if name not in installed]
    if lacking:
        print(
            f"{sys.executable} lacks {', '.join(lacking)}. Install what requirements.lock lists "
            "(python -m pip install --require-hashes -r requirements.lock), use environment.yml, "
            "or run make without PYTHON= to have an environment made.",
            file=sys.stderr,
        )
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
