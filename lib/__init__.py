"""Mechanisms, bounds and estimators of the five documents of the compendium, in rooms.

Import a room's public names, or one of its modules: in the repository from `lib`, elsewhere from `dp_compendium`, as it is built.

    from dp_compendium.gaussian_synthesis import unbounded_epsilon
    unbounded_epsilon(n=10**7, alpha=4, d=6, sigma=0.01)
"""
