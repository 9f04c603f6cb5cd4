"""The command `dp-compendium`. Its subcommands call `lib` and print the results as lines or, with --json, as JSON.

The exit status is 0 on success and 130 after an interruption. It is 2 for errors such as bad input or a missing
package, and one sentence then says what is wrong.

click parses the arguments, because it has no dependencies and imports quickly. The alternative typer needs rich and
other packages.
"""

from __future__ import annotations

import io
import os
import signal
import sys

import click

from .accounts import account
from .answers import one_line
from .costs import compose, epsilon, sigma
from .ending import ends_at
from .synthesis import query, sample, synthesize
from .verdicts import ledger


@click.group(epilog="\b\nExample:\n  dp-compendium epsilon gaussian --sigma 4 --delta 1e-6 --json")
@click.version_option(package_name="dp-compendium")
def commands():
    """Compute privacy costs and the noise that a guarantee needs, make and query synthetic tables, keep account of releases, and look up ledger claims."""


for each in (epsilon, sigma, compose, synthesize, sample, query, account, ledger):
    commands.add_command(each)


def main(words=None) -> int:
    """Run the command with `words`, by default the arguments from the terminal, and return its exit status."""
    try:
        if words is None:
            ends_at(signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))  # Windows lacks it
        if sys.stdout is None:
            raise OSError("standard output is closed, so the answer cannot be printed")
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            sys.stdout.reconfigure(
                errors="namereplace"
            )  # a letter that the terminal lacks: \N{GREEK SMALL LETTER EPSILON}
        # `commands.main` is not used, because it answers a closed pipe with 1.
        with commands.make_context("dp-compendium", sys.argv[1:] if words is None else list(words)) as context:
            commands.invoke(context)
        return 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        click.echo(error.format_message(), err=True)
    except BrokenPipeError:  # the reader has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, ArithmeticError, OSError, ImportError, MemoryError) as error:
        click.echo(one_line(error), err=True)
    except (click.Abort, KeyboardInterrupt) as stopped:
        click.echo(str(stopped) or "interrupted", err=True)
        return 130
    return 2


if __name__ == "__main__":
    sys.exit(main())
