"""Tools that run, key, keep, measure and scaffold notebooks. No chapter imports them."""
