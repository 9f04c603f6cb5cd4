"""The directive {picture} fig-name: the picture of a labelled figure once more, small and linked to the figure, wherever in the book that is.

Its content is the caption, one sentence that says what is to be seen. The alternative text is the original's. A label that is no
figure's is a warning, which fails the build.
"""

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from book._ext import figure_words

log = logging.getLogger(__name__)


class shown_again(nodes.Element):
    """Keeps the place, with the caption in it, until every page has been read. It is no figure, so it takes no number."""


class Picture(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self):
        caption = self.parse_content_to_nodes()
        if [type(each) for each in caption] != [nodes.paragraph]:
            raise self.error(f"picture must have one paragraph, the caption, got {len(caption)}")
        place = shown_again("", caption[0], label=self.arguments[0])
        self.set_source_info(place)
        return [place]


def original(env, label: str) -> tuple[str, str, nodes.image] | None:
    """The page, the place on it and the picture of the figure called `label`; None if there is none."""
    page, place = env.get_domain("std").anonlabels.get(label, ("", ""))
    figures = env.get_doctree(page).findall(nodes.figure) if page else []
    pictures = [image for figure in figures if place in figure["ids"] for image in figure.findall(nodes.image)]
    return (page, place, pictures[0]) if pictures else None


def show(app, doctree, docname):
    for place in list(doctree.findall(shown_again)):
        found = original(app.env, place["label"])
        if found is None:
            log.warning("picture must name a labelled figure, got %r", place["label"], location=place)
            place.parent.remove(place)
            continue
        page, target, image = found
        address = f"{app.builder.get_relative_uri(docname, page)}#{target}"
        again = image.deepcopy()
        if "drawn" in image:
            figure_words.lead(again, image["drawn"], docname)
        link = nodes.reference("", "", again, refuri=address, internal=True)
        name = f"again-{target}"  # a figure must have one, and this one no number
        place.replace_self(
            nodes.figure("", link, nodes.caption("", "", *place[0].children), ids=[name], classes=["shown-again"])
        )


def setup(app):
    app.add_node(shown_again)
    app.add_directive("picture", Picture)
    app.connect("doctree-resolved", show)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
