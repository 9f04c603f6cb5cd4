"""The directive {picture} shows a chapter's figure again, on another page or on the same page, with a link to the
figure."""

import base64
import io
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from PIL import Image

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONF = """
extensions = ["myst_nb", "book._ext.figures"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
nb_execution_mode = "off"
numfig = True
html_theme = "basic"
"""
INDEX = """
# A book

```{toctree}
chapters/dots
wrong
```
"""
SHOWN = """
:::{picture} fig-dot
A dot where $x = 1$.
:::
"""
WRONG = """
# Wrong

:::{picture} fig-dots
A dot.
:::

:::{picture} fig-dot
A dot.

And another.
:::

:::{picture} fig-dot
:::
"""
OPENING = "# Dots\n\n:::{picture} fig-dot\nFrom above.\n:::\n\nIt is {numref}`fig-dot`."


def chapter():
    """Return a notebook whose only output is a picture, named in the cell's metadata as in the book's chapters."""
    drawn = io.BytesIO()
    Image.new("RGB", (40, 30), "white").save(drawn, "PNG")
    data = {"image/png": base64.b64encode(drawn.getvalue()).decode(), "text/plain": "<Figure>"}
    cell = nbformat.v4.new_code_cell("draw()", outputs=[nbformat.v4.new_output("display_data", data)])
    cell.metadata["mystnb"] = {"figure": {"name": "fig-dot", "caption": "The dot."}, "image": {"alt": "A dot"}}
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(OPENING), cell], metadata=metadata)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the folder of the pages, and the lines that the build said."""
    source = tmp_path_factory.mktemp("picture")
    (source / "chapters").mkdir()
    (source / "conf.py").write_text(CONF)
    (source / "index.md").write_text(INDEX + SHOWN)
    (source / "wrong.md").write_text(WRONG)
    nbformat.write(chapter(), source / "chapters/dots.ipynb")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "--keep-going", "-b", "html", source, source / "html"]
    return source / "html", subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr.splitlines()


@pytest.mark.full
def test_a_figure_is_shown_again_with_its_text_and_linked_to_its_place(built):
    folder, said = built
    assert [line for line in said if "/wrong.md:" not in line] == []
    pages = {name: (folder / f"{name}.html").read_text() for name in ("index", "chapters/dots")}
    place = re.search(r'<figure class="align-default" id="(fig-dot)">', pages["chapters/dots"])[1]
    for (name, page), address in zip(pages.items(), (f"chapters/dots.html#{place}", f"#{place}")):
        figure = re.search(r'<figure class="shown-again[\s\S]*?</figure>', page)[0]
        link, alt, picture = re.search(r'href="([^"]+)"><img alt="([^"]+)" src="([^"]+)"', figure).groups()
        assert (link, alt) == (address, "A dot")
        assert (folder / name).parent.joinpath(picture).resolve().is_file()
        assert "caption-number" not in figure
    assert r"\(x = 1\)" in pages["index"] and "Fig. 1" in pages["chapters/dots"]
    assert pages["chapters/dots"].count("caption-number") == 1


def test_what_cannot_be_shown_fails_the_build_with_a_sentence(built):
    said = "\n".join(line for line in built[1] if "/wrong.md:" in line)
    assert "picture must name a labelled figure, got 'fig-dots'" in said
    assert [f"picture must have one paragraph, the caption, got {count}" in said for count in (0, 2)] == [True, True]
