"""Where shapes meet."""

from primsplit.ir.dims import Dim, Shape, meet
from primsplit.ir.errors import ShapeError


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast of shapes, with symbols. Raises ShapeError where they can never broadcast.

    Two sizes that only the run can tell apart meet in `broadcast(N, M)`.
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
