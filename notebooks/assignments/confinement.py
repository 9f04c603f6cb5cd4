"""The sandbox around students' code: how a program is started so that it can reach only what it is given.

There are three ways, and the first that works is used; each is tried by running a program in it:

- ``bubblewrap`` (Debian package `bubblewrap`), also without privileges if the system permits user namespaces;
- ``namespaces``: the same with `unshare`, `pivot_root` and `setpriv`, which are part of every Linux (`util-linux`);
- ``none``: limits of time and memory only, as in containers without privileges and on macOS. The program then has the
  rights of the user who started it, and every list of marks says so.

In the first two ways, the program has no network and sees only its own processes; when the first of these ends, all of
them end. The program can read the system's programs and libraries, this Python with its packages, and one folder. It
can write to a small folder in memory. Before a class is graded, `check` looks from inside whether the repository, an
installed copy of it, or a file of the class can be read there.

If root starts the program, it runs as nobody, or as one of the users numbered below. Otherwise the limit on the number
of processes would not hold, or would apply to all programs that run at the same time together.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

CLASS = "/class"  # where the folder that is given appears
HOME = "/student"
ROOM = 256 * 2**20  # bytes that may be written to HOME and to /tmp, each
ROOT = Path(__file__).resolve().parents[2]
PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # programs and libraries; beside them may lie anything
SYSTEM = (*(f"{top}/{part}" for top in ("", "/usr") for part in PARTS), "/usr/share/fonts", "/usr/share/zoneinfo", "/etc/ld.so.cache",
          "/etc/localtime", "/etc/alternatives", "/etc/fonts")  # fmt: skip
WAYS = ("bubblewrap", "namespaces", "none")
SAID = {
    "bubblewrap": "Students' code ran confined, by bubblewrap.",
    "namespaces": "Students' code ran confined, by Linux namespaces.",
    "none": "Students' code ran UNCONFINED: on this system it had the rights of the person who graded, including access to files and the network.",
}
NOBODY = 65534
POWERLESS = ("--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--")


@functools.cache
def way() -> str:
    """Return the first of `WAYS` that works on this machine."""
    return next(name for name in WAYS if _works(name))


def _works(name: str) -> bool:
    if name == "none":
        return True
    try:
        done = subprocess.run(
            command(name, Path(__file__).parent, ["-c", "import os; os.fork() or os._exit(0)"]),
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=environment(name),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def command(name: str, folder: Path, arguments: list[str], number: int = 0) -> list[str]:
    """Return the command that runs Python with `arguments`, confined in the way `name`, with `folder` to read.

    `number` must differ for programs that run at the same time.
    """
    python = [sys.executable, "-s", *arguments]
    if name == "bubblewrap":
        return [*_bubblewrap(folder, number), *python]
    return [*_namespaces(folder, number), *python] if name == "namespaces" else python


def place(name: str, folder: Path) -> str:
    """Return the path of `folder` as the program sees it."""
    return str(folder) if name == "none" else CLASS


def environment(name: str, **further) -> dict:
    """Return all environment variables of the program, which inherits none."""
    path = "/usr/bin:/bin"
    home = {} if name == "none" else {"HOME": HOME}
    return {"PATH": path, "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"} | home | further  # fmt: skip


def _readable(folder: Path) -> list[tuple[str, str]]:
    """Return (source, place) of all readable paths; links of the system, such as /lib to usr/lib, as their targets."""
    prefixes = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(os.path.realpath(sys.executable))))
    ours = [os.path.join(prefix, part) for prefix in prefixes for part in (*PARTS, "pyvenv.cfg")]
    ours += site.getsitepackages()  # Debian's Python keeps some in /usr/local
    there: dict[str, str] = {}
    for place in (*SYSTEM, *ours):
        if os.path.exists(place) and not any(Path(place).is_relative_to(known) for known in there):
            there[place] = os.path.realpath(place)
    return [(source, place) for place, source in {**there, CLASS: os.path.realpath(folder)}.items()]


# ---- what may not be seen from inside

# Folders of the compendium, as they are where it is installed.
COPIES = ("dp_compendium/mechanisms", "lib/mechanisms", "book/ledger", "notebooks/assignments")
LOOK = """
import json, os, sys
asked = json.load(sys.stdin)
seen = [path for path in asked["paths"] if os.path.lexists(path)]
seen += [os.path.join(top, copy) for top in sys.path for copy in asked["copies"] if os.path.exists(os.path.join(top, copy))]
print(json.dumps(seen))
"""


def check(hidden: Iterable[Path]) -> None:
    """Raise ``ValueError`` if a confined program could read the repository, an installed copy of it, or one of
    `hidden`, which are files and folders."""
    if way() == "none":
        return  # it can read everything, and every list of marks says so
    with tempfile.TemporaryDirectory() as folder:
        place_of = _readable(Path(folder))
        paths = {path: str(top) for top in hidden for path in _within(top, place_of)}
        # The folder of the environment may be in the repository: its own parts are permitted.
        ours = [path for path in ROOT.iterdir() if not Path(sys.prefix).is_relative_to(path)]
        paths |= {path: str(ROOT) for top in ours for path in _places(top, place_of)}
        asked = command(way(), Path(folder), ["-c", LOOK])
        try:
            done = subprocess.run(
                asked, input=json.dumps({"paths": list(paths), "copies": COPIES}), capture_output=True, text=True,
                timeout=120, env=environment(way()),
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            raise ValueError(f"students' code cannot be run here: no answer within {late.timeout:g} s") from None
    if done.returncode:
        raise ValueError(f"students' code cannot be run here: {done.stderr.strip()[-300:]}")
    for path in json.loads(done.stdout):
        if path in paths:
            raise ValueError(
                f"students' code could read {paths[path]}: move it out of the folders of the system and of Python, "
                f"which are {', '.join(sorted({place for _, place in place_of} - {CLASS}))}"
            )
        raise ValueError(
            f"students' code could import the solutions, because the compendium is installed in {path}: "
            "uninstall it (pip uninstall dp-compendium), or use the environment of the repository"
        )


def _within(top: Path, readable) -> list[str]:
    """Return where the file `top`, or what is in the folder `top`, could be seen from inside."""
    parts = sorted(top.iterdir()) if top.is_dir() else [top]
    return [place for part in parts for place in _places(part, readable)]


def _places(path: Path, readable) -> list[str]:
    """Return the paths that `path` may have inside: its own, and one below each readable folder that contains it."""
    path = Path(os.path.abspath(path))
    real = Path(os.path.realpath(path))
    inside = [
        os.path.join(place, real.relative_to(source)) for source, place in readable if real.is_relative_to(source)
    ]
    return [str(path), str(real), *inside]


# ---- the two ways


def _above(places) -> list[str]:
    """Return the folders on the way to `places`, outermost first."""
    return sorted({str(parent) for place in places for parent in Path(place).parents} - {"/"})


@functools.cache
def _no_more_namespaces() -> tuple[str, ...]:
    """Return options that bar a program from creating namespaces, in which it could mount; none before bubblewrap 0.8."""
    options = ("--unshare-user", "--disable-userns")
    done = subprocess.run(["bwrap", *options, "--dev-bind", "/", "/", "--", "true"], capture_output=True)
    return options if done.returncode == 0 else ()


def _nobody(number: int) -> tuple[str, ...]:
    return "setpriv", f"--reuid={NOBODY - number}", f"--regid={NOBODY}", "--clear-groups"


def _bubblewrap(folder: Path, number: int) -> list[str]:
    readable = _readable(folder)
    walls = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if os.geteuid():
        walls += _no_more_namespaces() or ("--unshare-user",)
        last: tuple[str, ...] = ()
    else:
        to_become_nobody = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        walls += ["--cap-drop", "ALL", *(part for each in to_become_nobody for part in ("--cap-add", each))]
        # In a namespace of processes of its own again: what ends all processes of a notebook must spare this second wall.
        inner = ("bwrap", *_no_more_namespaces(), "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--")
        last = (*_nobody(number), *POWERLESS, *(inner if _no_more_namespaces() else ()))
    rooms = [["--perms", "1777", "--size", str(ROOM), "--tmpfs", room] for room in ("/tmp", HOME)]
    above = [
        part for each in _above([HOME, *(place for _, place in readable)]) if each != "/tmp" for part in ("--dir", each)
    ]
    return [
        "bwrap", "--die-with-parent", "--new-session", *walls, "--dir", "/tmp", *rooms[0], *above, *rooms[1],
        *(part for source, place in readable for part in ("--ro-bind", source, place)),
        "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--", *last,
    ]  # fmt: skip


def _namespaces(folder: Path, number: int) -> list[str]:
    as_root = os.geteuid() == 0
    readable = _readable(folder)
    script = ["set -e", "umask 022", "PATH=$PATH:/usr/sbin:/sbin", "mount -t tmpfs -o mode=755 tmpfs /mnt", "cd /mnt"]
    script += [f"mkdir -p .{shlex.quote(each)}" for each in ("/old", "/proc", "/dev", "/tmp", HOME)]
    script += [f"mount -t tmpfs -o mode=1777,size={ROOM} tmpfs .{each}" for each in ("/tmp", HOME)]
    for source, target in readable:
        made = "mkdir -p" if os.path.isdir(source) else f"mkdir -p .{shlex.quote(os.path.dirname(target))}; touch"
        script.append(f"{made} .{shlex.quote(target)}; mount --bind {shlex.quote(source)} .{shlex.quote(target)}")
        script.append(f"mount -o remount,bind,ro .{shlex.quote(target)}")
    for device in ("null", "zero", "random", "urandom"):
        script.append(f"touch ./dev/{device}; mount --bind /dev/{device} ./dev/{device}")
    script += ["mount -t proc proc ./proc", "pivot_root . old", "umount -l /old", "mount -o remount,bind,ro /"]
    script += [f"cd {HOME}", f'exec {shlex.join((*(_nobody(number) if as_root else ("setpriv",)), *POWERLESS))} "$@"']
    user = () if as_root else ("--user", "--map-root-user")
    apart = (*user, "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
    return [shutil.which("unshare") or "unshare", *apart, "--", "/bin/sh", "-c", ";\n".join(script), "sh"]
