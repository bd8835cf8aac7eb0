"""The rewrites of `simplify`, by family."""
