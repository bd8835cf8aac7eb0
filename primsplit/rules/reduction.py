"""Derivative rules of reductions along axes.

Axes may be known only at run time; the reduced shape with its ones is then computed at run time too.

```
z = ReduceSum(x, [1], keepdims=0)   ->   dx = Expand(Reshape(dz, [3, 1]), [3, 4])   # x: float32[3,4]
```
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import Shape, is_one, product
from primsplit.numpy.approximations.reductions import sum_of_squares
from primsplit.numpy.axes import size_as
from primsplit.numpy.quotients import length_quotient, signed
from primsplit.numpy.units import nan_where
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.namespace import later
from primsplit.rules.halves import compared_wide
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to


def kept_shape(x: Array, axes: Array | None, noop: int) -> Shape | None:
    """Return the shape that a reduction has with keepdims; None if the axes are known only at run time."""
    known = () if axes is None else axes.known()
    if known is None:
        return None
    gone = {int(a) % max(len(x.shape), 1) for a in np.asarray(known).reshape(-1)}
    if not gone:
        return x.shape if noop else (1,) * len(x.shape)
    return tuple(1 if i in gone else d for i, d in enumerate(x.shape))


@dataclass(frozen=True, slots=True)
class Reduction:
    """One use of a reduction, and how its result is brought back to the shape of its input."""

    x: Array
    axes: Array | None
    keepdims: int
    noop: int

    @property
    def kept(self) -> Shape | None:
        """The result's shape with ones where it was reduced; None if the run decides."""
        return kept_shape(self.x, self.axes, self.noop)

    def restored(self, small: Array) -> Array:
        """Return a result with its ones, so that it broadcasts against `x`; a scalar does so as it is."""
        kept = self.kept
        if self.keepdims or (kept is not None and small.shape == ()):
            return small
        if kept is not None:
            return reshape_to(small, kept)
        declared = Type(small.dtype, [fresh("small") for _ in self.x.shape])
        return op.Reshape(small, self.kept_vector(), allowzero=1, types=[declared])

    def kept_vector(self) -> Array:
        """Return the shape of the result with ones, computed at run time."""
        shape = op.Shape(self.x)
        ones = np.ones(len(self.x.shape), np.int64)
        marked = op.ScatterElements(shape, self.axes, op.ConstantOfShape(op.Shape(self.axes), value=ones[:1]))
        none = op.Equal(op.Size(self.axes), 0)
        return op.Where(none, shape if self.noop else ones, marked)

    def wide(self, small: Array) -> Array:
        """Return `small`, which has its ones, in a shape that broadcasts to `x`'s."""
        return small if self.kept is not None else expand_to(small, self.x.shape)

    def spread(self, dz: Array) -> Array:
        """Return `dz`, the cotangent of each element's share, in the shape of `x`."""
        return expand_to(self.restored(dz), self.x.shape)

    def count(self) -> Array:
        """Return how many elements each result reduces, in the dtype of `x`."""
        kept = self.kept
        if kept is None:
            gone = op.Equal(self.kept_vector(), 1)
            return op.Cast(op.ReduceProd(op.Where(gone, op.Shape(self.x), 1), keepdims=0), to=self.x.dtype)
        return size_as(product(d for d, k in zip(self.x.shape, kept, strict=True) if is_one(k)), self.x.dtype)

    def total(self, x: Array) -> Array:
        """Return the sum of an array shaped like `x`, with ones."""
        return op.ReduceSum(x, self.axes, keepdims=1, noop_with_empty_axes=self.noop or None)


Backward = Callable[[Reduction, Array, Array], Array]


def from_front(x: Array, axes: Array | None) -> Array | None:
    """Return the axes counted from the front: onnxruntime reduces negative ones of an empty array wrongly."""
    known = None if axes is None else axes.known()
    if known is None or not known.size or known.min() >= 0:
        return axes
    return Array(tracing.constant(known % len(x.shape)))


def reduction_rule(kind: str, backward: Backward, forward: Callable[..., Array] | None = None) -> None:
    """Register a reduction: `backward` takes the Reduction, the result and its cotangent."""
    operator = forward or getattr(later, kind)

    def rule(
        x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
    ) -> tuple[Array, Pullback]:
        places = from_front(x, axes)
        z = operator(x, places, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes or None)
        reduction = Reduction(x, places, keepdims, noop_with_empty_axes)

        def pullback(dz: Array) -> list[Array | None]:
            return [backward(reduction, z, dz), None][: 1 if axes is None else 2]

        return z, pullback

    rule.__doc__ = backward.__doc__
    rrule(kind)(compared_wide(rule) if backward in {_extremum, _mean, _log_sum_exp} else rule)


def _sum(r: Reduction, z: Array, dz: Array) -> Array:
    """Every element of a sum gets its cotangent."""
    return r.spread(dz)


def _mean(r: Reduction, z: Array, dz: Array) -> Array:
    """Every element of a mean gets its share of the cotangent. 16 bits may not hold the count."""
    return r.spread(dz / r.count())


def _extremum(r: Reduction, z: Array, dz: Array) -> Array:
    """The elements equal to the result share the cotangent evenly, as in torch.amax."""
    winners = op.Cast(op.Equal(r.x, r.wide(r.restored(z))), to=dz.dtype)
    return op.Mul(winners, r.wide(r.restored(dz) / r.total(winners)), types=[r.x.type])


def _sum_of_absolutes(r: Reduction, z: Array, dz: Array) -> Array:
    """The sign of each element; 0 at 0."""
    found: Array = signed(r.wide(r.restored(dz)), r.x)
    return found


def _sum_of_squares(r: Reduction, z: Array, dz: Array) -> Array:
    """`d sum(x x) = 2 x dx`."""
    return op.Mul(r.x, r.wide(r.restored(dz * 2)), types=[r.x.type])


def _euclidean(r: Reduction, z: Array, dz: Array) -> Array:
    """`d |x| = x dx / |x|`; 0 at the zero vector, as in torch.linalg.norm."""
    return op.Mul(r.x, r.wide(r.restored(length_quotient(dz, z))), types=[r.x.type])


def _log_sum_exp(r: Reduction, z: Array, dz: Array) -> Array:
    """`d logsumexp(x) = exp(x - z) dx`; NaN where all elements are -inf. In 16 bits z is rounded too much for that.

    There only a cotangent of 0 stays 0.
    """
    nothing = op.Equal(z, -np.inf)
    weights = op.Exp(op.Sub(r.x, r.wide(r.restored(op.Where(nothing, 0.0, z))), types=[r.x.type]))
    return op.Mul(weights, r.wide(r.restored(nan_where(nothing, dz))), types=[r.x.type])


reduction_rule("ReduceSum", _sum)
reduction_rule("ReduceMean", _mean)
reduction_rule("ReduceMax", _extremum)
reduction_rule("ReduceMin", _extremum)
reduction_rule("ReduceL1", _sum_of_absolutes)
reduction_rule("ReduceSumSquare", _sum_of_squares, sum_of_squares)
reduction_rule("ReduceL2", _euclidean)
reduction_rule("ReduceLogSumExp", _log_sum_exp)


@rrule("ReduceLogSum")
def reduce_log_sum(
    x: Array, axes: Array | None = None, *, keepdims: int, noop_with_empty_axes: int
) -> tuple[Array, Pullback]:
    """`d log(sum x) = dx / sum x`. The sum is kept: it is small, and recomputing it reads all of x."""
    places = from_front(x, axes)
    total = op.ReduceSum(x, places, keepdims=keepdims, noop_with_empty_axes=noop_with_empty_axes or None)
    reduction = Reduction(x, places, keepdims, noop_with_empty_axes)

    def pullback(dz: Array) -> list[Array | None]:
        return [reduction.spread(dz / total), None][: 1 if axes is None else 2]

    return op.Log(total), pullback
