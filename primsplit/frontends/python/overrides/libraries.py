"""Registers the substitutes for functions of NumPy, Python and, once it is loaded, SciPy."""

import sys

from primsplit.frontends.python.overrides import arrays, complex_numbers, iterating, numbers, vectorized
from primsplit.ir.families import import_families

families = (arrays, complex_numbers, iterating, numbers, vectorized)
"""The modules that register substitutes for functions of NumPy, `math` and `cmath`."""


def register_scipys() -> None:
    """Register what stands in for SciPy's functions, where it is loaded; only then are ours imported."""
    if "scipy" in sys.modules:
        *_, science = import_families("primsplit.frontends.scipy", "adaptive", "optimize", "overrides.science")
        science.register_loaded()
