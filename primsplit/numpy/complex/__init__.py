"""Complex numbers while a function is traced: a pair of real arrays behind one handle.

A program holds real tensors only, so a complex array is no value of it: its parts are. What NumPy's functions do with
complex arrays is written here in terms of the parts, whose derivatives are then those of real arrays. A part that is a
constant 0, of `1j * x` say, is left out of products; where NumPy would multiply an infinity by it and get NaN, the
result here is the limit.

The handle has no value: asked for it, it refuses, so that no function for real arrays can misread a complex one.
`dispatch.offers` puts a form for complex arrays beside a function's real one. Into loops, branches, calls and batches
go the two parts, in a container that is made a complex array again behind them (`tracing.trees.in_parts`). Rules of the
library's own are for real arrays (`Primitive.takes_complex`): for complex ones a formula would lack its conjugates.
"""

from primsplit.ir.families import import_families

families = import_families(
    __name__,
    "arithmetic", "functions", "inverses", "powers", "dispatch", "indexing", "linear", "joining", "creation",
    "products", "questions", "systems", "factors", "hermitian", "general", "roots", "ordering", "singular",
    "leaves", "emath", "parted", "comparing", "along_axes", "elementary", "statistics", "polynomials", "algebra",
)  # fmt: skip
