"""Arithmetic that knows nothing of privacy: checked arguments, exact sums, tensors, trees, minimisers."""
