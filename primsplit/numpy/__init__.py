"""Implements NumPy's functions for traced arrays, and is itself a namespace: `from primsplit import numpy as np`.

A traced array answers NumPy's own functions through NumPy's dispatch protocols (`__array_ufunc__`,
`__array_function__`), so user code needs no other import. The exceptions are functions that make arrays from sizes, and
functions that do not dispatch on all of their arguments. While a function is traced, those names mean the
implementations of this package, which accept traced values and sizes known only at run time. No module of this folder
has the name of a NumPy function.

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
    "late",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return what NumPy, or its form for traced arrays, has by this name."""
    return getattr(NAMESPACE, name)


def __dir__() -> list[str]:
    """Return NumPy's names."""
    return dir(NAMESPACE)
