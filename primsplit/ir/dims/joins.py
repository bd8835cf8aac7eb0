"""Combine sizes: the larger, the smaller, or the size that two axes broadcast to; and shapes that broadcast."""

from primsplit.ir.dims.order import at_least
from primsplit.ir.dims.size import Call, Dim, Shape, Size, call, is_one, same
from primsplit.ir.errors import ShapeError


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes."""
    if at_least(a, b):
        return a
    return b if at_least(b, a) else call("max", a, b)


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes."""
    if at_least(a, b):
        return b
    return a if at_least(b, a) else call("min", a, b)


def meet(a: Dim, b: Dim) -> Dim | None:
    """Return the size that two axes broadcast to; None if they never broadcast."""
    if same(a, b) or is_one(b):
        return a
    if is_one(a):
        return b
    for known, other in ((a, b), (b, a)):
        if isinstance(known, int):
            return known if not isinstance(other, int) else None
    return broadcast(a, b)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return NumPy's broadcast of shapes. Raises ShapeError if they can never broadcast.

    Two sizes of which only the run knows whether they are equal become `broadcast(M, N)`.
    """
    rank = max((len(s) for s in shapes), default=0)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for axis, dim in enumerate(shape, rank - len(shape)):
            met = meet(result[axis], dim)
            if met is None:
                told = " and ".join(f"[{','.join(map(str, s))}]" for s in shapes)
                raise ShapeError(f"shapes {told} cannot broadcast: {result[axis]} meets {dim}")
            result[axis] = met
    return tuple(result)


def broadcast(*sizes: Dim) -> Dim:
    """Return `broadcast(...)` of symbolic sizes: flat, sorted and without repetition, so that it is associative."""
    flat: dict[str, Dim] = {}
    for size in sizes:
        flat.update((str(d), d) for d in broadcast_arguments(size))
    chosen = [flat[text] for text in sorted(flat)]
    return chosen[0] if len(chosen) == 1 else call("broadcast", *chosen)


def broadcast_arguments(size: Dim) -> tuple[Dim, ...]:
    """Return the arguments of a `broadcast(...)`; any other size alone."""
    if isinstance(size, Size) and len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1:
        atom = size.terms[0][0][0]
        if isinstance(atom, Call) and atom.function == "broadcast":
            return atom.arguments
    return (size,)
