"""`dp-compendium account`: what all releases of the same records have cost, and the total that they cannot exceed."""

from __future__ import annotations

import click

from ..release.account import Account, epsilon_of
from .answers import answer, as_json
from .costs import WHICH, Number


@click.command(
    epilog="\b\nExamples:\n  dp-compendium account people.account --new 1 --delta 1e-9"
    "\n  dp-compendium account people.account\n  dp-compendium account people.account --raise 2"
)
@click.argument("file")
@click.option("--new", type=Number(), help="Make the account, with this epsilon as the total of all releases.")
@click.option("--delta", type=Number(), help="With --new, the delta of the total.  [default: 1e-9]")
@click.option("--neighbours", type=WHICH, help="With --new, the neighbours of all releases.  [default: unbounded]")
@click.option("--raise", "more", type=Number(), help="Declare a larger epsilon as the total.")
@as_json
def account(file, new, delta, neighbours, more, as_json):
    """Show the account of all releases of the same records.

    FILE is the account that `synthesize --account` charges. The total and the amount spent are given as epsilons at the
    account's delta, by composition of zero-concentrated DP. The amount spent is rounded up, and the rest is rounded
    down. A reserved release is still running or was not completed, and its cost counts as spent.
    """
    if new is None and (delta is not None or neighbours) or new is not None and more is not None:
        raise ValueError("delta and neighbours may be given only with --new, and --raise only without --new")
    if new is not None:
        Account.new(file, new, 1e-9 if delta is None else delta, neighbours or "unbounded")
    if more is not None:
        Account(file).raise_to(more)
    now = Account(file).balance()
    found = {
        "account": file,
        "epsilon": {"total": float(now.epsilon), "spent": epsilon_of(now.spent, now.delta), "left": now.left},
        "delta": float(now.delta),
        "neighbours": now.neighbours,
        "rho": {"total": str(now.rho), "spent": str(now.spent)},
    }
    told = [{**vars(each), "rho": str(each.rho)} for each in now.entries]
    lines = {each["number"]: "{when} {who}: {what}; {state}".format(**each) for each in told}
    answer(found | ({"releases": told} if as_json else {"release": lines}), as_json)
