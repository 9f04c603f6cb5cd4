"""Coq's formulas over the reals as numbers: the value of a definition in proofs/ for given arguments, to 50 digits.

value("Formulas.v", "eps_bounded", 1000, 2, 3, Fraction(1, 2))
"""

from __future__ import annotations

import re
from fractions import Fraction

import mpmath as mp

from book.ledger import machine_checked

TOKEN = re.compile(r"\s*(:=|<=|[\w']+|[-+*/^()])")
GIVEN = {
    "ln": (1, mp.log),
    "exp": (1, mp.exp),
    "sqrt": (1, mp.sqrt),
    "INR": (1, lambda n: n),
    "IZR": (1, lambda n: n),
    "Rmin": (2, min),
    "Rmax": (2, max),
    "Rpower": (2, mp.power),
    "Z.abs": (1, abs),
}


def value(file: str, name: str, *arguments) -> mp.mpf:
    """Return the definition `name` of `file` at `arguments`, which are integers, fractions or floats."""
    with mp.workdps(50):
        given = [mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x) for x in arguments]
        return Definitions(file).call(name, given)


class Definitions:
    """The definitions of one file that are formulas."""

    def __init__(self, file: str):
        statements = machine_checked.statements(machine_checked.FOLDER / file)
        self.known = {each.name: each.text for each in statements if each.kind == "Definition"}

    def call(self, name: str, arguments: list) -> mp.mpf:
        head, _, body = self.known[name].removesuffix(".").partition(":=")
        names = [each for group in re.findall(r"\(([^:()]*):", head) for each in group.split()]
        if len(names) != len(arguments):
            raise ValueError(f"{name} takes {', '.join(names)}, got {len(arguments)} numbers")
        return Reader(self, body, dict(zip(names, arguments))).all()


class Reader:
    """Reads one formula, by descent: sums of products of signs of powers of applications."""

    def __init__(self, definitions: Definitions, text: str, values: dict):
        self.definitions, self.values = definitions, values
        text = text.replace("Z.abs", "Z_abs")
        self.tokens = [token.replace("Z_abs", "Z.abs") for token in TOKEN.findall(text)]
        if "".join(self.tokens).replace("Z.abs", "Z_abs") != "".join(text.split()):
            raise ValueError(f"not a formula: {text}")

    def next(self, *wanted: str) -> str | None:
        """Return the next token, taken, if it is one of those wanted (or, if none are, whatever it is)."""
        if self.tokens and (not wanted or self.tokens[0] in wanted):
            return self.tokens.pop(0)
        return None

    def all(self) -> mp.mpf:
        if self.next("let"):
            name, _ = self.next(), self.next(":=")
            self.values[name] = self.sum()
            self.next("in")
            return self.all()
        found = self.sum()
        if self.tokens:
            raise ValueError(f"left over: {' '.join(self.tokens)}")
        return found

    def sum(self) -> mp.mpf:
        found = self.product()
        while sign := self.next("+", "-"):
            found = found + self.product() if sign == "+" else found - self.product()
        return found

    def product(self) -> mp.mpf:
        found = self.signed()
        while sign := self.next("*", "/"):
            found = found * self.signed() if sign == "*" else found / self.signed()
        return found

    def signed(self) -> mp.mpf:
        if sign := self.next("-", "/"):
            return -self.signed() if sign == "-" else 1 / self.signed()
        return self.power()

    def power(self) -> mp.mpf:
        base = self.applied()
        return base ** self.power() if self.next("^") else base

    def applied(self) -> mp.mpf:
        name = self.tokens[0]
        if name in GIVEN:
            self.next()
            count, function = GIVEN[name]
            return function(*(self.atom() for _ in range(count)))
        if name in self.definitions.known and name not in self.values:
            self.next()
            arguments = []
            while self.tokens and re.match(r"[\w(]", self.tokens[0]) and self.tokens[0] != "in":
                arguments.append(self.atom())
            return self.definitions.call(name, arguments)
        return self.atom()

    def atom(self) -> mp.mpf:
        if self.next("("):
            found = self.sum()
            if not self.next(")"):
                raise ValueError(f"a bracket is open before {' '.join(self.tokens)}")
            return found
        token = self.next()
        return mp.mpf(token) if token.isdigit() else self.values[token]
