"""What NumPy's protocols dispatch to."""

from primsplit.families import import_families

families = import_families(
    __name__,
    "bessel", "convolve", "creation", "cumulative", "diagonals", "einsum", "elementwise", "fft", "histograms",
    "indexing", "interpolation", "joining", "layout", "linalg", "missing", "namespace", "norms", "ordering",
    "padding", "polynomials", "products", "quantiles", "queries", "reductions", "refusals", "selecting", "sets",
    "slices", "spaces", "statistics", "ufunc_methods", "ufuncs",
)  # fmt: skip
