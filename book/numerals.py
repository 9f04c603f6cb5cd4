"""Numbers in words: where a translation may have digits that its English sentence has not, and the other way round.

unsaid("Ten of 50 million.", lost={"50"}, added={"10", "5000"})     # nothing: ten is 10, and 50 million are 5,000万
"""

from __future__ import annotations

import re
from collections import Counter

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
WORD = re.compile(r"[A-Za-z]+")
UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
MONTHS = "January February March April May June July August September October November December"
VALUES = (
    {word: number for number, word in enumerate(UNITS.split())}
    | {f"{word}ty": 10 * number for number, word in enumerate(["twen", "thir", "for", "fif", "six", "seven", "eigh", "nine"], start=2)}
    | {"thrice": 3, "triple": 3, "fourfold": 4, "decade": 10, "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
    | {"third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "fiftie": 50, "twentieth": 20, "half": 0.5, "mille": 0.1}
    | {month: number for number, month in enumerate(MONTHS.split(), start=1)}
)  # fmt: skip
ENDS = ("", "s", "fold", "th", "ths")
ALWAYS = {0.0, 1.0, 2.0}  # which stand where English has a plural, an article or "both"
MYRIADS = (1e4, 1e8)  # 万 and 億


def said(message: str) -> set[float]:
    """The numbers that a translation may have in digits: `twenty-five`, `a tenth`, `3 million`, `one and a half`."""
    words = (word.lower() if word.lower() in VALUES else word for word in WORD.findall(message))
    stems = {word.removesuffix(end) for word in words for end in ENDS}
    named = ALWAYS | {float(VALUES[stem]) for stem in stems if stem in VALUES}
    written = {float(number.replace(",", "")) for number in NUMBER.findall(message) if number.count(".") < 2}
    sums = {
        ten + unit
        for ten in named | written
        for unit in named
        if unit < ten and (unit < 1 or ten >= 20 and ten % 10 == 0)
    }
    products = {one * large for one in sums | named | written for large in named if large >= 100}
    tenths = {one / 10 for one in named} if "tenth" in message else set()
    return named | sums | products | tenths | {one / myriad for one in products for myriad in MYRIADS}


def unsaid(message: str, lost: Counter, added: Counter) -> tuple[Counter, Counter]:
    """What is left of the numbers `lost` and `added` by a translation, where words of `message` do not stand for them."""
    plain = {number: float(number) for number in lost + added if number.count(".") < 2}  # and no version
    anew = {plain[number] for number in added if number in plain}
    large = [value for word, value in VALUES.items() if value >= 1000 and word in message]
    moved = {
        number for number in plain for value in large if anew & {plain[number] * value / myriad for myriad in MYRIADS}
    }
    named = said(message)
    return (
        Counter({number: count for number, count in lost.items() if number not in moved}),
        Counter({number: count for number, count in added.items() if plain.get(number) not in named}),
    )
