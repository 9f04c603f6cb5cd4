"""An {aside} and the paragraph after it, about which it is: beside one another where there is room, else the paragraph first.

The style sheet (compendium.css) can do that once the two have an element of their own.
"""

from docutils import nodes
from sphinx_design.shared import create_component, is_component


def pair(doctree) -> None:
    for aside in list(doctree.findall(lambda node: is_component(node, "aside"))):
        about = aside.next_node(descend=False, siblings=True)
        if isinstance(about, nodes.paragraph):
            parent, at = aside.parent, aside.parent.index(aside)
            del parent[at : at + 2]
            parent.insert(at, create_component("div", ["beside"], children=[aside, about]))


def setup(app):
    app.connect("doctree-read", lambda app, doctree: pair(doctree))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
