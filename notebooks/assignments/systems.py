"""Refuse Windows, where students' code can neither be confined nor limited. The commands of the classroom import this first."""

import sys

if sys.platform == "win32":
    print("Making and grading assignments needs Linux or macOS; on Windows, run the command in WSL", file=sys.stderr)
    sys.exit(2)
