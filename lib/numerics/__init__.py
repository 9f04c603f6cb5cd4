"""Provide the other subpackages with numerical tools: argument checks, exact sums, tensors, trees and minimizers."""
