"""Convert a cotangent to the shape and dtype of its primal, for users' rules."""

from collections.abc import Callable
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import sum_to

Projection = Callable[[Any], Array | None]


def project_to(primal: Any) -> Callable[[Any], Array | None]:
    """The projection onto the cotangents of an array, for the pullback of a rule: `to_x = ps.project_to(x)`.

    It sums a cotangent over the axes along which `primal` was broadcast, and casts it to `primal`'s dtype. It returns
    None for None, and if `primal` is no floating-point array; of a complex cotangent it takes the real part if `primal`
    is real. Nothing of `primal` is captured but its shape. Raises ShapeError for a cotangent with fewer axes than
    `primal`. (ProjectTo of ChainRulesCore.)

    >>> @ps.primitive
    ... def scaled(x, factor):
    ...     return x * factor
    >>> @ps.rrule(scaled)
    ... def rule(x, factor):
    ...     return scaled(x, factor), lambda dz: (dz * factor, ps.project_to(factor)(dz * x))
    >>> float(ps.grad(lambda x, factor: np.sum(scaled(x, factor)), wrt=1)(np.array([1.0, 2.0]), 3.0))
    3.0
    """
    if trees.is_complex(primal):
        to_real, to_imag = (project_to(part) for part in trees.in_parts(primal)[0])
        return lambda cotangent: _whole(to_real, to_imag, cotangent)
    array = as_array(primal)
    wanted, shape = array.type, array.shape

    def projection(cotangent: Any) -> Array | None:
        if cotangent is None or not wanted.is_float:
            return None
        given = as_array(trees.parts_of(cotangent).real if trees.is_complex(cotangent) else cotangent)
        if len(given.shape) < len(shape):
            raise ShapeError(
                f"a cotangent of type {given.type} does not come from broadcasting {wanted}",
                place=tracing.user_place(),
            )
        summed = sum_to(given, shape)
        return summed if summed.dtype == wanted.dtype else op.Cast(summed, to=wanted.dtype)

    return projection


def _whole(to_real: Projection, to_imag: Projection, cotangent: Any) -> Array | None:
    """Project both parts of a cotangent, whose imaginary part may be 0."""
    if cotangent is None:
        return None
    real, imag = trees.leaves_like(trees.flatten(trees.Parts(0, 0))[1], cotangent)
    made: Array = trees.whole(to_real(as_array(real)), to_imag(as_array(imag)))
    return made
