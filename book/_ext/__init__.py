"""The book's Sphinx extension, in modules grouped by function; each module is also an extension."""

from importlib import import_module

MODULES = ("numbers", "claims", "tables", "figures", "printed", "pages", "formulas", "web", "editions", "reference")


def setup(app):
    for name in MODULES:
        import_module(f"{__name__}.{name}").setup(app)
    return {
        "version": "1",
        "parallel_read_safe": False,
        "parallel_write_safe": True,
    }  # editions gather messages while reading
