"""The catalogues of the book's other languages: locale/ja/how-to.po contains the messages of the page how-to, with
their translations.

`make catalogues` reads every page and brings the catalogues up to date.

    python -m book.editions.catalogues check [file ...]   compares each translation with its message, and counts the
    messages that are not translated

A changed message keeps its old translation, marked fuzzy, which means that the translation is outdated and not shown.
"""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po
from markdown_it import MarkdownIt

from book.editions import numerals

ROOT = Path(__file__).resolve().parents[2]
LOCALE = ROOT / "locale"
FOUND = ROOT / "build/messages.json"  # of each page, when it was last built
MARKDOWN = MarkdownIt("commonmark")
NO_PAGES = re.compile(r"reference/|scorecard$")  # made from docstrings, and written by the ledger in each language
HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""

# ---------------------------------------------------------------- files


def place(page: str, language: str) -> Path:
    return LOCALE / language / f"{page}.po"


def load(path: Path) -> Catalog:
    with path.open(encoding="utf-8") as file:
        return read_po(file)


def messages(catalogue: Catalog) -> list[Message]:
    """Return all messages except the header."""
    return [message for message in catalogue if message.id]


def update(page: str, found: dict[str, str], language: str) -> None:
    """Bring the page's catalogue up to date with `found`, which maps each message to its kind, such as paragraph or
    title."""
    template = Catalog()
    for message, kind in found.items():
        template.add(message, auto_comments=[] if kind == "paragraph" else [kind])
    path = place(page, language)
    catalogue = load(path) if path.is_file() else Catalog()
    catalogue.update(template)
    save(path, catalogue, language)


def translations(path: Path) -> dict[str, str]:
    """Return the translations in a catalogue by message, without those that are outdated or contain mistakes."""
    return {
        message.id: message.string
        for message in (messages(load(path)) if path.is_file() else [])
        if message.string and not message.fuzzy and not mistakes(message)
    }


def save(path: Path, catalogue: Catalog, language: str) -> None:
    text = io.BytesIO()
    for message in catalogue:
        message.flags &= {"fuzzy"}  # without flags that babel sets for Python's formats
        message.user_comments = [said for said in message.user_comments if not said.startswith("|")]  # read from "#|"
    write_po(text, catalogue, width=0, no_location=True, omit_header=True, include_previous=True, ignore_obsolete=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEADER.format(language=language) + text.getvalue().decode("utf-8").lstrip(), encoding="utf-8")


# ---------------------------------------------------------------- what a translation keeps

ROLE = re.compile(r"\{(?P<role>[\w:-]+)\}(?P<ticks>`+)(?P<text>.+?)(?P=ticks)")
TITLED = re.compile(r".*?<([^<>]+)>", re.DOTALL)
QUOTES = ("shown", "kept", "noted", "here", "count", "computed")  # whose texts may contain a <
CODE = re.compile(r"(`+)(.+?)\1")
FORMULA = re.compile(r"(?<![\\$])\$(?!\$)(.+?)(?<!\\)\$")
WORDS = re.compile(r"\s*\\text\{[^{}]*\}\s*")  # in a formula
LINK = re.compile(r"\]\(([^)]*)\)|<(https?://[^>]+)>")
TAG = re.compile(r"</?[a-zA-Z][^>]*>")
FIELD = re.compile(r"\{(\w+)\}(?!`)")
COLUMNS = {"audit above", "law", "together", "runs", "values", "dates"}
"""Words that pages write as code and tables have as names: they are translated in tables, so also in the text."""
EXCUSE = re.compile(r"numbers: ((?:[-+]\S+ )+)\(.+\)")
PERCENT = re.compile(r"[%％]|[Pp]er ?cent(?!il)|per mille|パーセント")


def target(role: re.Match) -> tuple[str, str]:
    titled = None if role["role"] in QUOTES else TITLED.fullmatch(role["text"])
    return role["role"], titled[1] if titled else role["text"]


def plain(text: str) -> str:
    """Return `text` without formulas, code, links and tags, and with each role replaced by its title, if it has one."""
    text = ROLE.sub(lambda role: f" {role['text'].partition('<')[0]} " if "<" in role["text"] else " ", text)
    for pattern in (CODE, FORMULA, LINK, TAG):
        text = pattern.sub(" ", text)
    return text


def kept(text: str) -> dict[str, Counter]:
    """Return what a translation of `text` must keep: roles with their targets, links, tags, fields, formulas without
    their words, code, numbers and percent signs."""
    roles = Counter(map(target, ROLE.finditer(text)))
    text = ROLE.sub(lambda role: f" {role['text'].partition('<')[0]} " if "<" in role["text"] else " ", text)
    code = Counter(match[2].strip() for match in CODE.finditer(text))
    text = CODE.sub(" ", text)
    formulas = Counter(WORDS.sub("", match[1]).strip() for match in FORMULA.finditer(text))
    text = FORMULA.sub(" ", text)
    links = Counter(match[1] or match[2] for match in LINK.finditer(text))
    text = LINK.sub(" ", text)
    tags = Counter(TAG.findall(text))
    places = Counter(FIELD.findall(text))
    text = TAG.sub(" ", FIELD.sub(" ", text))
    numbers = numerals.read(text)
    signs = Counter(percent=len(PERCENT.findall(text)))
    found = {"roles": roles, "links": links, "tags": tags, "places": places}
    return found | {"formulas": formulas, "code": code, "numbers": numbers, "percent signs": signs}


def excused(message: Message) -> tuple[Counter, Counter]:
    """Return the numbers that a translation may lack and those that it may add, according to a comment above the
    message, such as `# numbers: -50 +0 (why)`."""
    found = [match[1].split() for match in map(EXCUSE.fullmatch, message.user_comments) if match]
    lacks, adds = ([each[1:] for line in found for each in line if each[0] == sign] for sign in "-+")
    return Counter(lacks), Counter(adds)


def mistakes(message: Message) -> list[str]:
    return differences(message.id, message.string, *excused(message))


def differences(message: str, translation: str, lacks: Counter | None = None, adds: Counter | None = None) -> list[str]:
    """Return a sentence for each error of a translation, ignoring the numbers that it may lack (`lacks`) or add
    (`adds`).

    The order of formulas and numbers is not compared, because a translation may change it.
    """
    lacks, adds = lacks or Counter(), adds or Counter()
    told = []
    if "\n" in translation:
        told.append("a translation must be one line")
    before, after = kept(message), kept(translation)
    for name in before:
        one, other = before[name], after[name]
        if name in ("formulas", "code"):  # which may occur once more, or once less
            one, other = Counter(set(one)), Counter(set(other))
        lost, added = one - other, other - one
        if name == "code":
            lost = Counter({code: count for code, count in lost.items() if code not in COLUMNS})
        if name == "numbers":
            lost, added = numerals.unsaid(TAG.sub(" ", message), lost, added)
            lost = lost | numerals.untold(plain(message), plain(translation))
            if (lacks - lost) or (adds - added):
                told.append(
                    f"the comment excuses numbers that do not differ: {sorted((lacks - lost) + (adds - added))}"
                )
            lost, added = lost - lacks, added - adds
        if name == "percent signs" and one["percent"]:
            added = Counter()  # `5 to 10 %` is 5 %から10 %
        if lost or added:
            told.append(f"{name} differ: only in English {sorted(lost)}, only in the translation {sorted(added)}")
    if stars(translation) > stars(message):
        told.append(
            "asterisks remain in the text, because ** does not close between a bracket and a letter; put a space there"
        )
    return told


def stars(text: str) -> int:
    """Return how many asterisks remain when `text` is rendered as Markdown."""
    for pattern in (ROLE, CODE, FORMULA):
        text = pattern.sub("`x`", text)
    return MARKDOWN.renderInline(text).count("*")


def problems(path: Path) -> list[str]:
    """Return the errors of a catalogue's translations, ignoring missing and outdated ones."""
    return [
        f'{path}: "{message.id[:60]}": {each}'
        for message in messages(load(path))
        if message.string and not message.fuzzy
        for each in mistakes(message)
    ]


def state(path: Path) -> tuple[int, int, int]:
    """Return how many messages a catalogue has, how many of them have no translation, and how many have an outdated
    one."""
    all = messages(load(path))
    return len(all), sum(not each.string for each in all), sum(bool(each.string) and each.fuzzy for each in all)


def check(paths: list[Path]) -> int:
    """Print the errors in the files and how many messages of each are not translated or outdated; return 1 if there are
    any, otherwise 0."""
    wrong = 0
    for path in paths:
        found, (count, missing, outdated) = problems(path), state(path)
        print(*found, sep="\n", end="\n" * bool(found))
        if missing or outdated:
            print(f"{path}: {missing} of {count} messages are not translated, and {outdated} are outdated")
        wrong += len(found) + missing + outdated
    print(f"{len(paths)} catalogues: {'everything is translated' if not wrong else f'{wrong} messages need work'}")
    return int(bool(wrong))


def main(arguments: list[str]) -> int:
    match arguments:
        case ["check", *files]:
            return check([Path(file) for file in files] or sorted(LOCALE.rglob("*.po")))
    print("Say what to check: python -m book.editions.catalogues check [file ...]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
