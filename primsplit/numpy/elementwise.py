"""Imports the elementwise functions of NumPy, one family per file."""

from primsplit.ir.families import import_families

families = import_families(
    "primsplit.numpy",
    "arithmetic", "bits", "comparison", "divisors", "exponential", "neighbours", "rounding", "selection",
    "transformations", "trigonometric",
)  # fmt: skip
