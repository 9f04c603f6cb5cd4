"""Everything a page loads comes with the book: local MathJax, and no Thebe."""

from importlib.metadata import files
from pathlib import Path

from sphinx.util.fileutil import copy_asset

# What `loader` in _config.yml names: TeX, CHTML and MathML for screen readers; not MathJax's menu and speech engine (0.8 MB).
PARTS = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "input/tex",
    "output/chtml.js",
    "output/chtml/fonts",
    "a11y/assistive-mml.js",
)


def mathjax_folder() -> Path:
    """Where the package sphinx-mathjax-offline keeps its copy of MathJax 3."""
    for file in files("sphinx-mathjax-offline"):
        if file.name == "startup.js":
            return Path(file.locate()).parent
    raise FileNotFoundError("sphinx-mathjax-offline is installed without startup.js")


def copy_mathjax(app, error):
    if error is None:
        target = Path(app.outdir, "_static", "mathjax")
        for part in PARTS:
            source = mathjax_folder() / part
            copy_asset(source, (target / part).parent if source.is_file() else target / part)


def leave_thebe_out(app, page, template, context, doctree):
    """Thebe would load from a CDN, and declares a constant twice: a console error on every page."""
    for kind in ("script_files", "css_files"):
        context[kind] = [file for file in context[kind] if not mentions_thebe(file)]


def mentions_thebe(file) -> bool:
    return "thebe" in f"{file.filename} {getattr(file, 'attributes', {}).get('body', '')}".lower()


def setup(app):
    app.config.mathjax_path = "mathjax/startup.js"
    app.connect("html-page-context", leave_thebe_out, priority=900)
    app.connect("build-finished", copy_mathjax)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
