"""Broadcast shapes with symbolic sizes: [N,1] and [5] give [N,5], and [N] and [M] give [broadcast(M, N)]."""

from primsplit.ir.dims import Dim, Shape, meet
from primsplit.ir.errors import ShapeError


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
