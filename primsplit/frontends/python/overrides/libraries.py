"""Registers the substitutes for functions of NumPy, Python and, once it is loaded, SciPy."""

import sys

from primsplit.frontends.python.overrides import arrays, complex_numbers, iterating, numbers, vectorized
from primsplit.ir.families import import_families

families = (arrays, complex_numbers, iterating, numbers, vectorized)
"""The modules that register substitutes for functions of NumPy, `math` and `cmath`."""


def register_scipys() -> None:
    """Register the substitutes for SciPy's functions if SciPy is loaded; only then are their modules imported."""
    if "scipy" in sys.modules:
        *_, science = import_families("primsplit.frontends.scipy", "adaptive", "optimize", "overrides.science")
        science.register_loaded()
