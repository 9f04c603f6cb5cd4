"""The directive {idea}: a list of sentences and the panels of a figure become steps."""

import base64
import io
import re
import subprocess
import sys

import matplotlib
import nbformat
import numpy as np
import pytest
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from book import figures
from book.figures import ideas
from tests.book.test_picture import CONF, ROOT

pytestmark = pytest.mark.slow

TOLD = "1. A dot where $x = 1$.\n2. Another.\n3. A third."


def picture(panels: int, width: int = 200) -> str:
    drawn = io.BytesIO()
    Image.new("RGB", (width, panels * width * 3 // 5), "white").save(drawn, "PNG")
    return base64.b64encode(drawn.getvalue()).decode()


FAULTS = {
    "another label": (dict(label="fig-dot"), "idea must name a figure of the page, got 'fig-dot'"),
    "a panel too many": (dict(panels=4), "idea of fig-1: 3 texts for 4.0 panels"),
    "a text too many": (dict(told=TOLD + "\n4. A fourth."), "idea of fig-2: 4 texts for 3.0 panels"),
    "two texts": (dict(told="1. A dot.\n2. Another."), "idea must have a numbered list of 3 to 5 texts"),
    "six texts": (dict(told=TOLD + "\n4. D.\n5. E.\n6. F."), "idea must have a numbered list of 3 to 5 texts"),
    "no list": (dict(told="A dot."), "idea must have a numbered list of 3 to 5 texts"),
}


def notebook(name, told=TOLD, label="", panels=3):
    """Return a notebook with `told` as steps of `label`, and a figure called fig-name."""
    cell = nbformat.v4.new_code_cell(
        "draw()", outputs=[nbformat.v4.new_output("display_data", {"image/png": picture(panels)})]
    )
    cell.metadata["mystnb"] = {
        "figure": {"name": f"fig-{name}", "caption": "The dots."},
        "image": {"alt": "Three dots"},
    }
    text = f"# Dots\n\n:::{{idea}} {label or f'fig-{name}'}\n{told}\n:::\n\nIt is {{numref}}`fig-{name}`."
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), cell], metadata=metadata)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the page of a good notebook, and the lines that the build said, one for each wrong notebook, named by its number."""
    source = tmp_path_factory.mktemp("idea")
    wrong = {str(number): told for number, (told, _) in enumerate(FAULTS.values())}
    for name, told in {"dots": {}, **wrong}.items():
        nbformat.write(notebook(name, **told), source / f"{name}.ipynb")
    (source / "conf.py").write_text(CONF)
    (source / "index.md").write_text("# A book\n\n```{toctree}\n" + "\n".join(["dots", *wrong]) + "\n```\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "--keep-going", "-b", "html", source, source / "html"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr
    return (source / "html/dots.html").read_text(), said.splitlines()


@pytest.mark.full
def test_the_figure_holds_a_button_and_a_text_for_each_panel(built):
    page, said = built
    assert len(said) == len(FAULTS) and not [line for line in said if "dots.ipynb" in line]
    figure = re.search(r'<figure class="idea[\s\S]*?</figure>', page)[0]
    assert page.count("<ol") == figure.count("<ol") == 1 and 'id="fig-dots"' in figure and "Fig. 1" in figure
    buttons = re.findall(r'<input type="radio" name="fig-dots-step" id="(.*?)" aria-label="(.*?)"( checked)?>', figure)
    assert [(name, label) for name, label, _ in buttons] == [(f"fig-dots-step-{k}", f"Step {k}") for k in (1, 2, 3)]
    assert [bool(checked) for *_, checked in buttons] == [True, False, False]
    assert re.findall(r'<label class="onwards" for="(.*?)"', figure) == [f"fig-dots-step-{k}" for k in (2, 3, 1)]
    order = [figure.index(part) for part in ("<fieldset>", "<img", 'aria-live="polite"', "<ol", "<figcaption>")]
    assert order == sorted(order) and r"\(x = 1\)" in figure and 'alt="Three dots"' in figure


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_fails_the_build_with_a_sentence(built, fault):
    assert [line for line in built[1] if f"/{list(FAULTS).index(fault)}.ipynb:" in line and FAULTS[fault][1] in line]


@pytest.mark.parametrize("count", [3, 5])
def test_panels_have_one_size_in_the_saved_picture(count):
    """The picture is saved as notebooks save it: a line drawn around each panel lies on the borders of equal parts of the picture."""
    with plt.rc_context():
        figures.use_house_style()
        made = ideas.panels(["A panel"] * count)
        for panel in made:
            panel.set_facecolor("#ff0000" if panel is made[1] else "#ffffff")
        drawn = io.BytesIO()
        made[0].figure.savefig(drawn, bbox_inches="tight")
        plt.close("all")
    pixels = np.asarray(Image.open(drawn).convert("RGB")).astype(int)
    assert pixels.shape[1] * ideas.HEIGHT * count == pytest.approx(pixels.shape[0] * ideas.WIDTH, rel=0.005)
    red = np.flatnonzero((pixels[:, pixels.shape[1] // 2] == [255, 0, 0]).all(axis=1))
    assert [red[0], red[-1] + 1] == pytest.approx(np.array([1, 2]) / count * len(pixels), abs=2)
