"""Figures in the edition's language: the words of each figure are messages of its page, and are put into a copy of its drawing.

The executed notebook holds each figure as SVG (`book.figures.plotted`), whose texts are drawn as outlines under comments that say them.
A translated text takes the place of its outlines, in whatever Japanese font the reader's system has; nothing is drawn again.
"""

import json
import re
from pathlib import Path

from docutils import nodes

from book._ext.figure_links import figures
from book.editions import edition

FOLDER = "_drawn"
FONTS = "Hiragino Sans, Noto Sans JP, Noto Sans CJK JP, Yu Gothic, Meiryo, sans-serif"
WRITTEN = re.compile(
    r'<!-- (?P<text>[^\n]*?) -->\s*<g(?: style="(?P<style>[^"]*)")? transform="translate\((?P<place>[-\d. ]+)\)'
    r'(?: rotate\((?P<turn>[-\d.]+)\))? scale\((?P<scale>[\d.]+) [-\d.]+\)">(?P<outlines>.*?)</g>',
    re.DOTALL,
)
LETTERS = {"alpha": "α", "delta": "δ", "Delta": "Δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "times": "×"}  # fmt: skip
LATIN, WIDE = 0.56, 1.0  # the widths of letters, in units of the font's size
ROOM = 1.3  # how much wider than the other a text may be before it is made smaller


def plain(text: str) -> str:
    """`text` with its formulas as letters, where they are but letters, roots of one and numbers below them; "" where they are more."""
    text = re.sub(r"\\sqrt\{?(\w)\}?", r"√\1", text.replace(r"\,", " "))
    text = re.sub(r"\\([A-Za-z]+)", lambda name: LETTERS.get(name[1], name[0]), text)
    text = re.sub(r"_(\d)", lambda number: "₀₁₂₃₄₅₆₇₈₉"[int(number[1])], text)
    return "" if re.search(r"\$[^$]*[\\^_{][^$]*\$", text) else text.replace("$", "")


def texts(svg: str) -> list[str]:
    """What there is to translate in a drawing."""
    said = (found["text"].replace("&amp;", "&").replace("&lt;", "<") for found in WRITTEN.finditer(svg))
    return list(dict.fromkeys(text for text in map(plain, said) if edition.worded(text)))


def retold(svg: str, told) -> str:
    """The drawing with its texts as `told` has them, each where the other was: in legends from its left end, beside an axis
    to its right end, else about its middle."""

    def again(found):
        text = plain(found["text"].replace("&amp;", "&").replace("&lt;", "<"))
        said = told(text) if edition.worded(text) else text
        return found[0] if said == text else _text(found, said, _anchor(svg, found.start()))

    return WRITTEN.sub(again, svg)


def _anchor(svg: str, position: int) -> str:
    """Which end of the text at `position` stays in its place: that of the last part that begins before it."""
    start = {part: svg.rfind(f'<g id="{part}_', 0, position) for part in ("axes", "legend", "ytick")}
    if start["legend"] > start["axes"]:
        return "start"
    beside = (
        start["ytick"] > start["axes"] and "<!--" not in svg[start["ytick"] : position]
    )  # else behind the last tick
    return "end" if beside else "middle"


def _text(found, said: str, anchor: str) -> str:
    size = float(found["scale"]) * 100
    steps = [float(step) for step in re.findall(r"<use [^>]*translate\(([-\d.]+)", found["outlines"])] or [0.0]
    width = size * (steps[-1] / 100 + LATIN)
    own = size * sum(LATIN if letter.isascii() else WIDE for letter in said)
    size *= min(1.0, ROOM * width / own)
    place = {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    turn = f" rotate({found['turn']})" if found["turn"] else ""
    kept = "".join(re.findall(r"<defs>.*?</defs>", found["outlines"], flags=re.DOTALL))  # which other texts may use
    escaped = said.replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<g transform="translate({found["place"]}){turn}">{kept}'
        f'<text x="{place:.2f}" text-anchor="{anchor}" style="font: {size:.2f}px {FONTS}; {found["style"] or ""}">{escaped}</text></g>'
    )


def show(app, doctree):
    """The images of a notebook's page, in another language than that of the drawing."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    by_name = {name: node for node in doctree.findall(nodes.figure) for name in node["names"]}
    for name, _, _, record in figures(json.loads(path.read_text(encoding="utf-8"))):
        if record is None:
            continue
        for text in texts(record["svg"]):
            edition.told(text, "in a figure")
        drawn = retold(record["svg"], edition.told)
        if edition.language != edition.SOURCE and drawn != record["svg"]:
            file = f"{FOLDER}/{app.env.docname.removeprefix('notebooks/')}/{name}.svg"
            target = Path(app.outdir, file)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(drawn, encoding="utf-8")
            for image in by_name[name].findall(nodes.image):
                lead(image, file, app.env.docname)


def lead(image: nodes.image, file: str, page: str) -> None:
    """Let the image be the drawing `file` of the edition, as it is led to from `page`."""
    address = "../" * page.count("/") + file
    image["drawn"], image["uri"], image["candidates"] = file, address, {"?": address}  # which Sphinx leaves where it is


def setup(app):
    app.connect("doctree-read", show, priority=750)  # after `idea`, which measures the picture
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
