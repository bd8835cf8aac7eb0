"""NumPy for traced functions: `from primsplit import numpy as np`; and what NumPy's protocols dispatch to.

Functions of arrays are NumPy's own, which dispatch. While a function is traced, those that make arrays, or that do not
dispatch on each of their arguments, are primsplit's: they take traced values, and sizes that only the run knows. No
module of this folder has the name of a function of NumPy's.

    ps.trace(lambda x: x + ps.numpy.arange(x.shape[0]), ps.spec("float64", ["N"]))
"""

from typing import Any

from primsplit.ir.families import import_families
from primsplit.numpy.namespace import NAMESPACE

families = import_families(
    __name__,
    "convolution", "creation", "cumulative", "diagonals", "einstein", "elementwise", "frequencies", "histograms",
    "indexing", "interpolation", "items", "joining", "layout", "linear", "missing", "namespace", "norms", "ordering",
    "padding", "polynomials", "products", "quantiles", "queries", "reductions", "refusals", "repetition", "selecting",
    "sets", "spaces", "statistics", "ufunc_methods", "ufuncs",
    # These take the functions before them for the parts; the first needs the second.
    "slices", "complex", "fourier.functions",
    "failing",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return what NumPy, or its form for traced arrays, has by this name."""
    return getattr(NAMESPACE, name)


def __dir__() -> list[str]:
    """Return NumPy's names."""
    return dir(NAMESPACE)
