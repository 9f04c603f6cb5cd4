"""Write the cells of Tables 1 and 2 of miura2022 as Coq data: the text of Cells.v, which proofs/Tables.v imports."""

from __future__ import annotations

import re
from decimal import Decimal

from book.ledger import claims

FILE = "Cells.v"
HEAD = """(* Written by proofs/cells.py from book/claims.yml: what miura2022 prints in Tables 1 and 2.

   One definition holds the cells of both tables. *)
From Coq Require Import ZArith List.
Import ListNotations.
Local Open Scope Z_scope.

(* Whether n is private, and a record is added or removed, or public, and one is replaced. *)
Inductive neighbours := private_n | public_n.
(* A cell: n; alpha; in Table 2 k, where delta = 10^-k; the printed number without its point, m, of which e digits are decimals. *)
Record cell := { kind : neighbours; n : Z; alpha : Z; k : option Z; m : Z; e : nat }.

"""
CELL = re.compile(r"miura2022\.table[12]\.(?:(un)?bounded\.)?n1e\d(?:\.alpha\d+\.delta1e-\d)?")


def text() -> str:
    """Return the text of Cells.v."""
    cells = {id: term(claim) for id, claim in claims.load().claims.items() if CELL.fullmatch(id)}
    lines = [f"  {cell}{';' * (i < len(cells))} (* {id} *)\n" for i, (id, cell) in enumerate(cells.items(), 1)]
    return f"{HEAD}(* What is printed, each number with its claim of the ledger. *)\nDefinition cells : list cell := [\n{''.join(lines)}].\n"


def term(claim: claims.Claim) -> str:
    """Return one cell. Raises ``ValueError`` if its setting is not the one in proofs/Tables.v."""
    setting, printed = claim.setting, Decimal(claim.printed)
    if (setting["d"], setting["sigma"]) != (6, 0.01):
        raise ValueError(f"{claim.id}: d must be 6 and sigma 0.01, as in proofs/Tables.v, got {setting}")
    fields = {
        "kind": "public_n" if ".bounded." in claim.id else "private_n",
        "n": int(setting["n"]),
        "alpha": setting["alpha"],
        "k": f"Some {-Decimal(str(setting['delta'])).adjusted()}" if "delta" in setting else "None",
        "m": int("".join(map(str, printed.as_tuple().digits))),
        "e": -int(printed.as_tuple().exponent),
    }
    return "{| " + "; ".join(f"{name} := {value}" for name, value in fields.items()) + " |}"
