"""What NumPy's protocols dispatch to."""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "convolve", "creation", "cumulative", "diagonals", "einsum", "elementwise", "frequencies", "histograms",
    "indexing", "interpolation", "items", "joining", "layout", "linalg", "missing", "namespace", "norms", "ordering",
    "padding", "polynomials", "products", "quantiles", "queries", "reductions", "refusals", "repetition", "selecting",
    "sets", "spaces", "statistics", "ufunc_methods", "ufuncs",
    "slices", "complex", "fft",  # which take the functions before them for the parts; the first needs the second
    "failing",
)  # fmt: skip
