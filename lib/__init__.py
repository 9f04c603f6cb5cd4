"""Mechanisms, bounds and estimators of the five documents of the compendium.

One idea a module; import the module and call its functions::

    from lib import gaussian_synthesis
    gaussian_synthesis.unbounded_epsilon(n=10**7, alpha=4, d=6, sigma=0.01)
"""
