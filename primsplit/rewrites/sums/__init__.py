"""Rewrites of long sums, means, norms and products with vectors, for a small rounding error."""
