"""The directive {idea} fig-name: the idea in a picture, step by step.

Its content is a numbered list of three to five sentences or two, one for each panel of the labelled figure further down the page; the
panels stand below one another and have one size (`book.figures.ideas` draws such figures). The figure then shows one panel and its text at
a time, which radio buttons choose: no script is needed, and the keyboard moves them. On paper all panels stand beside their texts.
"""

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.images import get_image_size

from book.editions.edition import say

PANEL = 5 / 3  # width to height, as in book.figures.ideas and compendium.css

log = logging.getLogger(__name__)


class idea_told(nodes.Element):
    """Keeps the list until the page's figures have been read."""


class Idea(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        told = self.parse_content_to_nodes()
        if [type(each) for each in told] != [nodes.enumerated_list] or not 3 <= len(told[0]) <= 5:
            raise self.error("idea must have a numbered list of 3 to 5 texts and nothing else")
        place = idea_told("", *told, label=self.arguments[0])
        self.set_source_info(place)
        return [place]


def tell(app, doctree):
    """Moves each list into its figure, which stands in what its cell displays."""
    figures = {name: figure for figure in doctree.findall(nodes.figure) for name in figure["names"]}
    for place in list(doctree.findall(idea_told)):
        figure, told = figures.get(place["label"]), place[0]
        place.parent.remove(place)
        if figure is None:
            log.warning("idea must name a figure of the page, got %r", place["label"], location=place)
            continue
        image = next(figure.findall(nodes.image))
        panels = counted(get_image_size(app.srcdir / image["uri"]))
        if panels != len(told):
            log.warning("idea of %s: %s texts for %s panels", place["label"], len(told), panels, location=place)
            continue
        for number, item in enumerate(told, 1):
            item += html(onwards(place["label"], number, len(told)))
        figure["classes"].append("idea")
        at = next(at for at, child in enumerate(figure) if image in child.findall())
        figure.insert(at, html(buttons(place["label"], len(told))))
        figure[at + 2 : at + 2] = [html('<div class="told" aria-live="polite">'), told, html("</div>")]


def counted(size) -> float:
    """How many panels of the house's shape a picture of that size (width, height) has."""
    return round(size[1] / size[0] * PANEL, 2)


def buttons(label: str, count: int) -> str:
    """A radio button for each step, the first chosen."""
    named = {number: say("Step {number}", number=number) for number in range(1, count + 1)}
    each = [
        f'<label><input type="radio" name="{label}-step" id="{label}-step-{number}" aria-label="{name}"'
        f"{' checked' * (number == 1)}>{number}</label>"
        for number, name in named.items()
    ]
    return f"<fieldset><legend>{say('The idea in a picture')}</legend>{''.join(each)}</fieldset>"


def onwards(label: str, number: int, count: int) -> str:
    """What leads on from a step, for the mouse and the finger; the keyboard moves the buttons themselves."""
    then, text = (number + 1, say("Next")) if number < count else (1, say("From the beginning"))
    return f'<label class="onwards" for="{label}-step-{then}" aria-hidden="true">{text}</label>'


def html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app):
    app.add_node(idea_told)
    app.add_directive("idea", Idea)
    app.connect("doctree-read", tell, priority=700)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
