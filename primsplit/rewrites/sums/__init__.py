"""Sums, means, norms and products with vectors over many numbers, with a small rounding error."""
