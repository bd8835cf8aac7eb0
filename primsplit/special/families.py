"""Imports the modules of this folder, which register its special functions."""

from primsplit.ir.families import import_families

families = import_families(
    "primsplit.special",
    "airy", "bessel", "bessel_orders", "bessel_second", "beta", "carlson", "counting", "distribution_functions",
    "elliptic", "elliptic_incomplete", "entropies", "error_functions", "gamma", "hypergeometric", "incomplete_beta",
    "incomplete_gamma", "integrals", "kelvin", "legendre", "owens_t", "robust_losses", "struve", "student_t", "voigt",
    "wave_integrals", "zeta", "complex_functions", "complex_error_functions", "complex_gamma",
)  # fmt: skip
