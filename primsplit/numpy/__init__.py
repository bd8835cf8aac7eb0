"""What NumPy's protocols dispatch to."""

from primsplit.numpy import (
    convolve,
    cumulative,
    einsum,
    elementwise,
    histograms,
    indexing,
    linalg,
    missing,
    norms,
    ordering,
    products,
    quantiles,
    reductions,
    statistics,
    ufunc_methods,
    ufuncs,
)

families = (
    convolve,
    cumulative,
    einsum,
    elementwise,
    histograms,
    indexing,
    linalg,
    missing,
    norms,
    ordering,
    products,
    quantiles,
    reductions,
    statistics,
    ufunc_methods,
    ufuncs,
)
