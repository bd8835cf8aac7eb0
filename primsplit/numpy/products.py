"""NumPy's products: matmul, dot, inner, outer, tensordot, kron, cross, and the gufuncs of linear algebra."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Size, product
from primsplit.ir.errors import ShapeError
from primsplit.numpy.contraction import NOMINAL, Label, Term, sum_of_products
from primsplit.numpy.ufuncs import cast_to, elementwise, plain_out, ufunc_method
from primsplit.numpy.units import is_whole, unit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import FUNCTIONS, Array, implements, unsupported
from primsplit.tracing.asarray import Held, array_like
from primsplit.tracing.broadcasting import of_one_size, reshape_to, zeros_like
from primsplit.tracing.hooks import HOOKS

# What MatMul, Mul and ReduceSum all have kernels for, for dtypes that one of them lacks; integers wrap alike.
_COMPUTED_IN = {
    "bool": "int32", "int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32",
    "uint32": "int64", "uint64": "int64",
}  # fmt: skip


def operands(*values: Any) -> list[Array]:
    """The values as Arrays of their common dtype."""
    arrays = [array_like(v) for v in values]
    dtype = np.result_type(*(a.dtype for a in arrays))
    return [cast_to(a, dtype) for a in arrays]


def computed(function: Callable[..., Array], *arrays: Array) -> Array:
    """`function` of arrays of one dtype, in a dtype that the product operators have kernels for."""
    dtype = arrays[0].dtype
    wide = _COMPUTED_IN.get(dtype.name)
    if wide is None:
        return function(*arrays)
    return cast_to(function(*(cast_to(a, wide) for a in arrays)), dtype)


def to_out(result: Array, out: Any) -> Array:
    """`result`, written to `out` where that is given."""
    if out is None:
        return result
    if isinstance(out, Held):
        out = out.read()
    if not isinstance(out, Array):
        raise plain_out("out= is a NumPy array, which a traced result cannot be written to", out)
    if not dims.same_shape(out.shape, result.shape) or out.dtype != result.dtype:
        raise ShapeError(f"out= must be a traced array of {result.type}", place=tracing.user_place())
    out.assign(result)
    return out


# The gufuncs.


@elementwise("matmul")
def matmul(a: Array, b: Array) -> Array:
    """The matrix product: 1-D operands are a row and a column, leading axes broadcast.

    A 1-D right operand is given a second axis, since MatMul is 35 times slower on a vector.
    """
    return matrix_product(a, b)


def matrix_product(a: Array, b: Array) -> Array:
    """NumPy's matmul of arrays of one dtype. Raises ShapeError at the user's line."""
    if not a.shape or not b.shape:
        raise ShapeError("matmul needs operands with at least one axis", place=tracing.user_place())
    return computed(_matmul, a, b)


def _matmul(a: Array, b: Array) -> Array:
    if len(a.shape) == len(b.shape) == 1:
        return _dot_rows(a, b)
    if len(b.shape) > 1:
        return op.MatMul(a, b)
    return op.Squeeze(op.MatMul(a, op.Unsqueeze(b, [1])), [len(a.shape) - 1])


def _dot_rows(a: Array, b: Array) -> Array:
    """The dot products along the last axis: Mul and ReduceSum are 4 times faster than MatMul here."""
    if not dims.could_be(a.shape[-1], b.shape[-1]):
        raise ShapeError(
            f"cannot multiply vectors of sizes {a.shape[-1]} and {b.shape[-1]}", place=tracing.user_place()
        )
    a, b = of_one_size(a, -1, b, -1)
    return op.ReduceSum(op.Mul(a, b), [-1], keepdims=0)


@elementwise("vecdot")
def vecdot(a: Array, b: Array) -> Array:
    """The dot products of vectors along the last axis."""
    return computed(_dot_rows, a, b)


@elementwise("matvec")
def matvec(a: Array, b: Array) -> Array:
    """Matrices times vectors."""
    return computed(lambda a, b: op.Squeeze(op.MatMul(a, op.Unsqueeze(b, [-1])), [-1]), a, b)


@elementwise("vecmat")
def vecmat(a: Array, b: Array) -> Array:
    """Vectors times matrices."""
    return computed(lambda a, b: op.Squeeze(op.MatMul(op.Unsqueeze(a, [-2]), b), [-2]), a, b)


@ufunc_method("axes")
def on_axes(ufunc: np.ufunc, *inputs: Any, axes: Any = None, axis: Any = None, **options: Any) -> Any:
    """A gufunc with `axes=` or `axis=`: the core axes are moved to the end, and the result's back."""
    cores = [re.findall(r"\w+", core) for core in re.findall(r"\(([^)]*)\)", ufunc.signature or "")]
    if axis is not None:
        axes = [axis] * ufunc.nin
    if options.pop("keepdims", False) or options.get("out") is not None:
        raise unsupported(f"np.{ufunc.__name__} with keepdims= or with axes= and out=")
    chosen = [(a,) if isinstance(a, int) else tuple(a) for a in axes or ()]
    chosen += [tuple(range(-len(core), 0)) for core in cores[len(chosen) :]]
    moved = [
        FUNCTIONS[np.moveaxis](array_like(x), at, tuple(range(-len(at), 0))) if at else array_like(x)
        for x, at in zip(inputs, chosen, strict=False)
    ]
    result = HOOKS.apply_ufunc(ufunc, "__call__", *moved, **options)
    last = chosen[-1]
    return FUNCTIONS[np.moveaxis](result, tuple(range(-len(last), 0)), last) if last else result


# Dot, inner, outer and their kin.


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Array:
    """NumPy's dot: the sum over the last axis of `a` and the last but one of `b`."""
    a, b = operands(a, b)
    if not a.shape or not b.shape:
        return to_out(_times(a, b), out)
    if len(b.shape) <= 2:
        return to_out(matrix_product(a, b), out)
    return to_out(_contracted(a, b, [len(a.shape) - 1], [len(b.shape) - 2]), out)


def _times(a: Array, b: Array) -> Array:
    product: Array = HOOKS.apply_ufunc(np.multiply, "__call__", a, b)
    return product


@implements(np.vdot)
def vdot(a: Any, b: Any) -> Array:
    """The sum of the products of all elements."""
    a, b = operands(a, b)
    return matrix_product(_flat(a), _flat(b))


def _flat(x: Array) -> Array:
    return x if len(x.shape) == 1 else reshape_to(x, [product(x.shape)])


@implements(np.inner)
def inner(a: Any, b: Any) -> Array:
    """The sum over the last axes."""
    a, b = operands(a, b)
    if not a.shape or not b.shape:
        return _times(a, b)
    return _contracted(a, b, [len(a.shape) - 1], [len(b.shape) - 1])


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Array:
    """All products of an element of `a` with one of `b`."""
    a, b = operands(a, b)
    return to_out(_outer(_flat(a), _flat(b)), out)


def _outer(a: Array, b: Array) -> Array:
    """The products themselves: a MatMul adds each to 0, which takes the sign of -0.0."""
    column, row = op.Unsqueeze(a, [1]), op.Unsqueeze(b, [0])
    return _times(column, row) if is_whole(a) else outer_product(column, row)


outer_product = unit(
    "outer_product",
    later.Mul,
    lambda dz, column, row, z: op.MatMul(dz, op.Transpose(row, perm=[1, 0])),
    lambda dz, column, row, z: op.MatMul(op.Transpose(column, perm=[1, 0]), dz),
)
"""A column times a row, whose derivatives are products of matrices."""


@implements(np.linalg.outer)
def vector_outer(x1: Any, x2: Any, /) -> Array:
    """The outer product of two vectors."""
    a, b = operands(x1, x2)
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise ShapeError("np.linalg.outer takes vectors", place=tracing.user_place(), cure="Use np.outer.")
    return _outer(a, b)


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """The sum of products over pairs of axes: one MatMul."""
    a, b = operands(a, b)
    return _contracted(a, b, *_tensordot_axes(len(a.shape), len(b.shape), axes))


def _contracted(a: Array, b: Array, left: Sequence[int], right: Sequence[int]) -> Array:
    """The sum over pairs of axes, counted from the front. Raises ShapeError at the user's line."""
    labels_a: list[Label] = [("a", i) for i in range(len(a.shape))]
    labels_b: list[Label] = [("b", i) for i in range(len(b.shape))]
    for i, j in zip(left, right, strict=True):
        if not dims.could_be(a.shape[i], b.shape[j]):
            raise ShapeError(
                f"tensordot: axis {i} has size {a.shape[i]}, axis {j} of the other has {b.shape[j]}",
                place=tracing.user_place(),
            )
        a, b = of_one_size(a, i, b, j)
        labels_b[j] = labels_a[i]
    output = [x for i, x in enumerate(labels_a) if i not in left] + [
        x for j, x in enumerate(labels_b) if j not in right
    ]
    return computed(lambda a, b: sum_of_products([Term(a, tuple(labels_a)), Term(b, tuple(labels_b))], output), a, b)


def _tensordot_axes(rank_a: int, rank_b: int, axes: Any) -> tuple[list[int], list[int]]:
    if isinstance(axes, int | np.integer):
        left, right = list(range(rank_a - int(axes), rank_a)), list(range(int(axes)))
    else:
        left, right = ([int(i) for i in np.atleast_1d(x)] for x in axes)
    if (
        len(left) != len(right)
        or any(not -rank_a <= i < rank_a for i in left)
        or any(not -rank_b <= i < rank_b for i in right)
    ):
        raise ShapeError(
            f"tensordot: axes {axes} do not fit operands with {rank_a} and {rank_b} axes", place=tracing.user_place()
        )
    return [i % rank_a for i in left], [i % rank_b for i in right]


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Array:
    """The matrix product."""
    result: Array = HOOKS.apply_ufunc(np.matmul, "__call__", array_like(x1), array_like(x2))
    return result


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The dot products of vectors along an axis."""
    result: Array = HOOKS.apply_ufunc(np.vecdot, "__call__", array_like(x1), array_like(x2), axis=axis)
    return result


@implements(np.kron)
def kron(a: Any, b: Any) -> Array:
    """The Kronecker product: element (i p + k, j q + l) is a[i, j] b[k, l]."""
    a, b = operands(a, b)
    rank = max(len(a.shape), len(b.shape))
    a, b = (reshape_to(x, [1] * (rank - len(x.shape)) + list(x.shape)) for x in (a, b))
    wide_a = op.Unsqueeze(a, [2 * i + 1 for i in range(rank)]) if rank else a
    wide_b = op.Unsqueeze(b, [2 * i for i in range(rank)]) if rank else b
    return reshape_to(_times(wide_a, wide_b), [m * n for m, n in zip(a.shape, b.shape, strict=True)])


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: Any = None) -> Array:
    """The product of matrices in the order that needs the fewest multiplications; the ends may be vectors.

    The order is dynamic programming over the sizes, in which symbols count as 64.
    """
    factors = operands(*arrays)
    if len(factors) < 2:
        raise ShapeError("multi_dot needs at least two arrays", place=tracing.user_place())
    sizes = [NOMINAL if isinstance(d, Size) else d for d in (_rows(factors[0]), *(_columns(f) for f in factors))]
    return to_out(_chain(factors, _best_cuts(sizes), 0, len(factors)), out)


def _rows(x: Array) -> Any:
    return x.shape[0] if len(x.shape) == 2 else 1


def _columns(x: Array) -> Any:
    return x.shape[-1] if len(x.shape) == 2 else 1


def _best_cuts(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the best cut of the factors i..j-1, by i and j (Cormen et al., Introduction to Algorithms, 15.2)."""
    count = len(sizes) - 1
    cost = {(i, i + 1): 0 for i in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length
            priced = {k: cost[i, k] + cost[k, j] + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)}
            cut[i, j] = min(priced, key=lambda k: priced[k])
            cost[i, j] = priced[cut[i, j]]
    return cut


def _chain(factors: Sequence[Array], cuts: dict[tuple[int, int], int], i: int, j: int) -> Array:
    if j == i + 1:
        return factors[i]
    k = cuts[i, j]
    return matrix_product(_chain(factors, cuts, i, k), _chain(factors, cuts, k, j))


# Cross products.


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """The cross product of vectors of three elements; of two elements, the third component alone."""
    a, b = operands(a, b)
    first, second, last = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    return _cross(FUNCTIONS[np.moveaxis](a, first, -1), FUNCTIONS[np.moveaxis](b, second, -1), last)


def _cross(a: Array, b: Array, axis: int) -> Array:
    """The cross product along the last axis, the result's components along `axis`."""
    if not all(dims.same(x.shape[-1], 2) or dims.same(x.shape[-1], 3) for x in (a, b)):
        raise _not_vectors("two or three")
    if dims.same(a.shape[-1], 2) and dims.same(b.shape[-1], 2):
        left: Array = op.Sub(_times(_component(a, 0), _component(b, 1)), _times(_component(a, 1), _component(b, 0)))
        return left
    a, b = _three(a), _three(b)
    turned = [op.Gather(x, np.array(order), axis=-1) for x, order in ((a, [1, 2, 0]), (b, [2, 0, 1]))]
    against = [op.Gather(x, np.array(order), axis=-1) for x, order in ((a, [2, 0, 1]), (b, [1, 2, 0]))]
    result = op.Sub(_times(*turned), _times(*against))
    moved: Array = FUNCTIONS[np.moveaxis](result, -1, axis)
    return moved


def _component(x: Array, index: int) -> Array:
    component: Array = op.Gather(x, np.array(index), axis=-1)
    return component


def _three(x: Array) -> Array:
    """Vectors of two elements with a third that is 0."""
    if dims.same(x.shape[-1], 3):
        return x
    first = op.Slice(x, [0], [1], [-1])
    longer: Array = op.Concat(x, zeros_like(first), axis=-1)
    return longer


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements."""
    a, b = operands(x1, x2)
    if not (dims.same(a.shape[axis], 3) and dims.same(b.shape[axis], 3)):
        raise _not_vectors("three")
    return _cross(FUNCTIONS[np.moveaxis](a, axis, -1), FUNCTIONS[np.moveaxis](b, axis, -1), axis)


def _not_vectors(count: str) -> ShapeError:
    return ShapeError(
        f"cross takes vectors of {count} elements",
        place=tracing.user_place(),
        cure="Give that axis its size in the spec.",
    )
