"""Arithmetic without privacy, for the other subpackages: argument checks, exact sums, tensors, trees, minimizers."""
