"""Provide arithmetic without privacy to the other subpackages: argument checks, exact sums, tensors, trees, minimizers."""
