"""Mechanisms, bounds and estimators of the five documents of the compendium, in subpackages.

Import a subpackage's public names, which its `__init__` lists, or one of its modules. In the repository the package is
`lib`; once built, it is `dp_compendium`. `__version__` is the version of the installed distribution.

    from dp_compendium.gaussian_synthesis import unbounded_epsilon
    unbounded_epsilon(n=10**7, alpha=4, d=6, sigma=0.01)
"""


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import metadata  # slow to import, seldom needed

    try:
        return metadata.version("dp-compendium")
    except metadata.PackageNotFoundError:  # an uninstalled copy of the repository
        return "0+unknown"
