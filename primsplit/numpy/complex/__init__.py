"""Implements complex numbers for traced functions: a complex array is a pair of real arrays behind one handle.

    (1j * x * (x + 1j * y)).imag     # of real x and y
    becomes
    a: float64[N] = Mul(1.0, x)
    e: float64[N] = Mul(a, x)

A program holds only real tensors, so a complex array is not a value of the program; its two parts are. NumPy's
functions of complex arrays are written here in terms of the parts, so their derivatives are those of real arrays. A
part that is a constant 0, such as the real part of `1j * x`, is left out of products. Where NumPy would multiply an
infinity by that 0 and get NaN, the result here is the limit.

The handle itself has no value and refuses to return one, so no function for real arrays can misread a complex one.
`dispatch.offers` registers the complex form of a function beside its real one. Loops, branches, calls and batches
receive the two parts in a container that is turned back into a complex array inside and behind them
(`tracing.trees.in_parts`). Derivative rules that a library defines are for real arrays unless they say otherwise
(`Primitive.takes_complex`): for complex arrays their formulas would lack conjugates.
"""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "arithmetic", "functions", "inverses", "powers", "dispatch", "indexing", "linear", "joining", "creation",
    "products", "questions", "systems", "factors", "hermitian", "general", "roots", "ordering", "singular",
    "leaves", "emath", "parted", "comparing", "along_axes", "elementary", "statistics", "polynomials", "algebra",
)  # fmt: skip
