"""The book's Sphinx extension, in modules grouped by what they do; each is an extension by itself, too."""

from importlib import import_module

MODULES = ("numbers", "claims", "tables", "figures", "pages", "web", "editions", "reference")


def setup(app):
    for name in MODULES:
        import_module(f"{__name__}.{name}").setup(app)
    return {
        "version": "1",
        "parallel_read_safe": False,
        "parallel_write_safe": True,
    }  # editions gather messages as they read
