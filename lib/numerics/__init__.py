"""Arithmetic without privacy, for the subpackages above: checked arguments, exact sums, tensors, trees, minimisers."""
