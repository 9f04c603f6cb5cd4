"""An {aside} and the paragraph after it, about which it is: beside one another where there is room, else the paragraph first.

The style sheet (compendium.css) can do that once the two have an element of their own.
"""

from docutils import nodes
from sphinx_design.shared import create_component, is_component

LED_TO = (nodes.math_block, nodes.bullet_list, nodes.enumerated_list)


def pair(doctree) -> None:
    for aside in list(doctree.findall(lambda node: is_component(node, "aside"))):
        parent, at = aside.parent, aside.parent.index(aside)
        about = whole(parent[at + 1 :])
        if about:
            del parent[at : at + 1 + len(about)]
            parent.insert(at, create_component("div", ["beside"], children=[aside, *about]))


def whole(following: list) -> list:
    """The paragraph that `following` begins with, and what its sentence goes on to: formulas, the text after them, a list."""
    taken: list = []
    for node in following:
        begins = not taken and isinstance(node, nodes.paragraph)
        goes_on = taken and (isinstance(node, LED_TO) or isinstance(taken[-1], nodes.math_block))
        if not begins and not (goes_on and isinstance(node, (nodes.paragraph, *LED_TO))):
            break
        taken.append(node)
    return taken


def setup(app):
    app.connect("doctree-read", lambda app, doctree: pair(doctree))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
