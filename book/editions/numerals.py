"""The numbers in a sentence and in its translation, where 5,000万 is `50 million` and 二つ is `two`.

read("On 5,000万 of 二人, -3.")                               # 50000000, 2 and -3, each with its number of occurrences
unsaid("Ten of 50 million.", lost={}, added={"10": 1})       # nothing: ten is 10
"""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal

WRITTEN = r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)*"
DIGITS = "一二三四五六七八九"
POWERS = {"十": 10, "百": 100, "千": 1000}
SCALES = {"百": 100, "千": 1000, "万": 10**4, "億": 10**8, "thousand": 1000, "million": 10**6, "billion": 10**9}
# Counted things. 漢数字 before them are numbers; other 漢数字 may be parts of words: 一般, 二項, 三角, 十分.
COUNTED = "つ|個|回|件|本|人|通り|点|行|節|章|段|倍|組|色|値|分の[一数0-9]"
NUMBER = re.compile(
    rf"(?P<minus>(?<![A-Za-z0-9)\]])[-−]|(?<!plus or )minus |(?<!プラス)マイナス)?"  # 2-way and 3-5 have none
    rf"(?P<number>{WRITTEN})"
    r"(?P<scales>[百千万億]+|[ -](?:thousand|million|billion))?"
)
KANJI = re.compile(rf"(?<![数何幾{DIGITS}十百千万\d])(?P<number>[{DIGITS}十百千]+)(?P<scales>[万億]?)(?={COUNTED})")
WORD = re.compile(r"[A-Za-z]+")
UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
MONTHS = "January February March April May June July August September October November December"
VALUES = (
    {word: number for number, word in enumerate(UNITS.split())}
    | {f"{word}ty": 10 * number for number, word in enumerate(["twen", "thir", "for", "fif", "six", "seven", "eigh", "nine"], start=2)}
    | {"thrice": 3, "triple": 3, "fourfold": 4, "decade": 10, "dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
    | {"third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "fiftie": 50, "twentieth": 20, "fortieth": 40, "half": 0.5, "mille": 0.1}
    | {name: number for number, month in enumerate(MONTHS.split(), start=1) for name in (month, month[:3])}
    | dict.fromkeys(["nothing", "nobody", "never", "vanish", "vanishe"], 0)
    | dict.fromkeys(["a", "an", "once", "single", "first", "each", "every", "per", "another", "no", "none"], 1)
    | dict.fromkeys(["both", "pair", "twice", "second", "double", "doubled", "doubling", "doubly", "either", "square", "squared", "quadratic", "binary"], 2)
)  # fmt: skip
MORE = {
    r"\b(no|none)\b": {0.0},
    r"\bhalf\b": {1.0, 2.0},  # 2分の1
    r"(third|quarter|fifth|\w+th)s?\b": {1.0},  # 5分の1
    r"[Mm]ore than (one|once)\b": {2.0},  # 2回以上
}
LARGE = "hundred|thousand|million|billion|dozen"
JAPANESE = re.compile("[ぁ-ヶ一-鿿]")
TWO = re.compile("両|双|対|ペア|互|とも|倍|他方")  # 両方, 双方, 対, 互い, ともに, 2倍
ENDS = ("", "s", "fold", "th", "ths")


def read(text: str) -> Counter:
    """Return the numbers that a text has in digits or in 漢数字, with their counts. A single 一 is left out, because it
    means `a` or nothing (一つ一つ, 一行ずつ)."""
    found = Counter(map(value, NUMBER.finditer(text)))
    return found + Counter(
        str(of_kanji(match["number"]) * SCALES.get(match["scales"], 1))
        for match in KANJI.finditer(text)
        if match[0] != "一"
    )


def value(match: re.Match) -> str:
    """Return a number as it is written, but without commas; `50 million` and 5,000万 become 50000000."""
    number = match["number"].replace(",", "")
    if match["scales"] and number.count(".") < 2:
        amount = float(number)
        for scale in re.findall("[百千万億]|[a-z]+", match["scales"]):
            amount *= SCALES[scale]
        number = f"{amount:.15g}"
    return "-" * bool(match["minus"]) + number


def regrouped(text: str) -> str:
    """Return `text` with its numbers of 百万 in 万 and 億: 14.1百万 becomes 1,410万, and 124百万 becomes 1億2,400万.

    A number keeps its digits; one that is not a whole number of 万 keeps its form.
    """

    def again(match: re.Match) -> str:
        if match[1].count(".") > 1:
            return match[0]  # a version
        tens = Decimal(match[1].replace(",", "")) * 100  # of thousands
        if tens != int(tens) or not tens:
            return match[0]
        large, small = divmod(int(tens), 10**4)
        return (f"{large:,}億" if large else "") + (f"{small:,}万" if small else "")

    return re.sub(rf"({WRITTEN})百万", again, text)


def of_kanji(number: str) -> int:
    """Return the value of a number in kanji: 二十五 is 25."""
    total = digit = 0
    for sign in number:
        if sign in POWERS:
            total, digit = total + (digit or 1) * POWERS[sign], 0
        else:
            digit = 10 * digit + DIGITS.index(sign) + 1
    return total + digit


def said(message: str) -> set[float]:
    """Return the numbers in `message` that a translation may write in digits, such as `twenty-five`, `a tenth`,
    `3 million` or `one and a half`."""
    words = (word.lower() if word.lower() in VALUES else word for word in WORD.findall(message))
    stems = {word.removesuffix(end) for word in words for end in ENDS}
    named = {float(VALUES[stem]) for stem in stems if stem in VALUES}
    named = named.union(*(values for pattern, values in MORE.items() if re.search(pattern, message)))
    written = {abs(float(number)) for number in read(message) if number.count(".") < 2}
    sums = {
        ten + unit
        for ten in named | written
        for unit in named
        if unit < ten and (unit < 1 or ten >= 20 and ten % 10 == 0)
    }
    scales = {one for one in named if one >= 100}
    if re.search(rf"({LARGE}) ({LARGE})", message):  # `ten thousand million`
        scales |= {one * large for one in scales for large in scales}
    products = {one * large for one in sums | named | written for large in scales}
    named |= {-one for one in named} if "minus" in message else set()
    tenths = {one / 10 for one in named} if "tenth" in message else set()
    return named | sums | products | tenths


def unsaid(message: str, lost: Counter, added: Counter) -> tuple[Counter, Counter]:
    """Return those of the numbers `lost` and `added` by a translation that the words of `message` do not explain."""
    plain = {number: float(number) for number in lost + added if number.count(".") < 2}  # and not a version
    anew = {plain[number] for number in added if number in plain}
    large = [value for word, value in VALUES.items() if value >= 1000 and word in message]
    moved = {number for number in plain if anew & {plain[number] * value for value in large}}  # `3 to 5 million`
    named = said(message)
    return (
        Counter({number: count for number, count in lost.items() if number not in moved}),
        Counter({number: count for number, count in added.items() if plain.get(number) not in named}),
    )


def untold(message: str, translation: str) -> Counter:
    """Return the numbers from `two` to `nineteen` that `message` has in words but its Japanese `translation` lacks."""
    if not JAPANESE.search(translation):
        return Counter()  # other languages express them in other words
    digits = {*read(translation), *re.findall(r"\d+", translation)}
    words = re.findall(rf"\b(?:{'|'.join(UNITS.split()[2:])})\b(?!-| (?:{LARGE}))", message.lower())
    numbers = {VALUES[word] for word in words}
    told = {one for one in numbers if str(one) in digits or in_kanji(one) in translation}
    told |= {2} if TWO.search(translation) else set()
    return Counter(map(str, numbers - told))


def in_kanji(number: int) -> str:
    """Return a number from 1 to 19 in kanji: 十二 is 12."""
    return "十" * (number >= 10) + (DIGITS[number % 10 - 1] if number % 10 else "")
