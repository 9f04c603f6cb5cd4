"""The command line of a study: the common arguments, and the provenance that they give to the results.

A study is a module of this package that runs as ``python -m notebooks.studies.<study>``, or by ``make study`` with arithmetic
that is alike on all machines, and ends in

    if __name__ == "__main__":
        from notebooks.studies import some_study  # other processes find the cells there, not in __main__

        some_study.main()
"""

from __future__ import annotations

import argparse
from pathlib import Path

from book.kept import results
from lib.data import datasets


def parser(study, doc, *, output, seed) -> argparse.ArgumentParser:
    """Return a parser for --output, --data, --seed, --jobs and --cells; a study adds its own arguments.

    study, doc : the module's ``__name__`` and its docstring, whose first line `--help` shows
    output : a description of what --output names; seed : its default
    """
    made = argparse.ArgumentParser(prog=f"python -m {study}", description=doc.splitlines()[0])
    made.add_argument("--output", type=Path, required=True, help=output)
    made.add_argument("--data", type=_data, choices=datasets.KINDS, default="real")
    made.add_argument("--seed", type=int, default=seed)
    made.add_argument("--jobs", type=int, default=1, help="processes")
    made.add_argument(
        "--cells", type=Path, default=Path("build") / study.rpartition(".")[2], help="where finished cells are kept"
    )
    return made


def _data(kind: str) -> str:
    """Return `kind`. Before anything runs, refuse a ``COMPENDIUM_DATA`` that does not name a folder."""
    try:
        if kind == "real":
            datasets.given_folder()
    except datasets.DatasetError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return kind


def provenance(study, arguments, chosen, settings, *, files, libraries=results.LIBRARIES) -> dict[str, str]:
    """Return the provenance that `results.save` writes above the numbers of a study: see `results.collect`.

    arguments, chosen : the words of the command line, and the result of parsing them
    settings : mapping of names to values; files : the names in `datasets.SOURCES` of the files with the "real" data
    """
    digests = datasets.fingerprints(chosen.data, *files)
    return results.collect(study, arguments, data=chosen.data, settings=settings, files=digests, libraries=libraries)
