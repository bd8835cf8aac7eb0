"""Records Loops and Scans, and provides the building blocks of their bodies."""

from collections.abc import Callable, Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import as_vector, swapped

BLOCK = 32
"""Columns of a panel: few enough that the panel stays in the first cache, enough for products to dominate."""

Step = Callable[..., tuple[Sequence[Array], Sequence[Array]]]


def loop(count: Array, step: Step, carries: Sequence[Array], types: Sequence[Type] | None = None) -> list[Array]:
    """Run `step(i, *carries) -> (new carries, collected)` for i = 0 .. count - 1.

    Returns the last carries, then what was collected, stacked along a new first axis. `types` declares carries whose
    shape changes from step to step. The derivative of an algorithm is a rule; none goes through the Loop itself.
    """
    types = [c.type for c in carries] if types is None else types
    with tracing.recording(place=tracing.current().place) as inner:
        iteration, condition = inner.param(Type(np.int64, ())), inner.param(Type(np.bool_, ()))
        given = [inner.param(t) for t in types]
        new, collected = step(Array(iteration), *map(Array, given))
        results: list[Value] = [condition, *(x.value for x in (*new, *collected))]
    body = tracing.close("step", [iteration, condition, *given], inner, results)
    trips = fresh("steps") if count.known() is None else int(count)
    made = tracing.emit(
        "Loop",
        [count.value, None, *(c.value for c in carries)],
        {"body": body},
        outputs=len(results) - 1,
        types=[*types, *(Type(x.dtype, (trips, *x.shape)) for x in collected)],
    )
    return [Array(v) for v in made]


def until(
    settled: Callable[..., Array], step: Callable[..., Sequence[Array]], carries: Sequence[Array], most: int
) -> list[Array]:
    """Run `step(*carries) -> new carries` until the scalar `settled(*carries)` is True, `most` times at most.

    It is asked before the first step too. The carries keep their types.
    """
    with tracing.recording(place=tracing.current().place) as inner:
        iteration, condition = inner.param(Type(np.int64, ())), inner.param(Type(np.bool_, ()))
        given = [inner.param(c.type) for c in carries]
        new = step(*map(Array, given))
        results: list[Value] = [op.Not(settled(*new)).value, *(x.value for x in new)]
    body = tracing.close("sweep", [iteration, condition, *given], inner, results)
    start = op.Not(settled(*carries))
    limit = Array(tracing.constant(np.asarray(most, np.int64)))
    made = tracing.emit(
        "Loop",
        [limit.value, start.value, *(c.value for c in carries)],
        {"body": body},
        outputs=len(carries),
        types=[c.type for c in carries],
    )
    return [Array(v) for v in made]


def scan(step: Step, carries: Sequence[Array], scanned: Sequence[Array], *, backward: bool = False) -> list[Array]:
    """Run `step(*carries, *elements) -> (new carries, collected)` along the first axis of what is scanned.

    Two thirds of the time of a `loop`, but onnxruntime refuses to run it over an axis of size 0. From the last element
    to the first with `backward`; what is collected lies where its elements do. Returns the last carries, then what was
    collected.
    """
    with tracing.recording(place=tracing.current().place) as inner:
        given = [inner.param(c.type) for c in carries]
        elements = [inner.param(Type(x.dtype, x.shape[1:])) for x in scanned]
        new, collected = step(*map(Array, given), *map(Array, elements))
        results: list[Value] = [x.value for x in (*new, *collected)]
    body = tracing.close("step", [*given, *elements], inner, results)
    way = int(backward)
    made = tracing.emit(
        "Scan",
        [*(c.value for c in carries), *(x.value for x in scanned)],
        {
            "body": body,
            "num_scan_inputs": len(scanned),
            "scan_input_directions": [way] * len(scanned),
            "scan_output_directions": [way] * len(collected),
        },
        outputs=len(results),
        types=[*(c.type for c in carries), *(Type(x.dtype, (scanned[0].shape[0], *x.shape)) for x in collected)],
    )
    return [Array(v) for v in made]


def changing(x: Array, axes: Sequence[int]) -> Type:
    """The type of a carry that starts as `x` and changes its size along these axes."""
    shape: list[Dim] = list(x.shape)
    for axis in axes:
        shape[axis] = fresh("part")
    return Type(x.dtype, shape)


def sizes(x: Array, start: int = 0, end: int | None = None) -> Array:
    """The sizes of some axes, an int64 vector, read from `x` itself."""
    return op.Shape(x, start=start, end=end)


def size(x: Array, axis: int) -> Array:
    """The size of one axis, an int64 vector of one element."""
    return op.Shape(x, start=axis, end=None if axis == -1 else axis + 1)


def scalar(vector: Array) -> Array:
    """The element of a vector of one element."""
    return op.Squeeze(vector, [0])


def counting(x: Array, axis: int) -> Array:
    """0, 1, ... along one axis of `x`, int64."""
    return op.Range(np.int64(0), scalar(size(x, axis)), np.int64(1))


def cut(x: Array, start: Array | int, end: Array | int | None, axis: int) -> Array:
    """`x[start:end]` along an axis, counted from the end."""
    last = np.iinfo(np.int64).max if end is None else end
    return op.Slice(x, as_vector(start), as_vector(last), [axis])


def lower(x: Array, offset: int = 0) -> Array:
    """The lower triangle, the rest zero."""
    return op.Trilu(x, np.int64(offset), upper=0)


def upper(x: Array, offset: int = 0) -> Array:
    """The upper triangle, the rest zero."""
    return op.Trilu(x, np.int64(offset), upper=1)


def diagonal(x: Array) -> Array:
    """The diagonal of square matrices, as a column [..., n, 1]."""
    return op.ReduceSum(op.Where(on_diagonal(x), x, 0), [-1], keepdims=1)


def on_diagonal(x: Array) -> Array:
    """Return True on the main diagonal and False elsewhere, with the last two sizes of `x`."""
    return op.Equal(op.Unsqueeze(counting(x, -2), [1]), op.Unsqueeze(counting(x, -1), [0]))


def identity_like(x: Array) -> Array:
    """Ones on the main diagonal, in the shape of `x`."""
    ones = op.Expand(np.ones((), x.dtype), op.Shape(x), types=[x.type])
    return op.Where(on_diagonal(x), ones, 0)


def not_a_number(x: Array) -> Array:
    """0 for each matrix, NaN for one that holds a NaN [..., 1, 1]."""
    total = op.ReduceL1(x, [-2, -1], keepdims=1)
    return op.Where(op.IsNaN(total), total, 0.0)


def less_product(x: Array, left: Array, right: Array) -> Array:
    """X - L R."""
    if len(x.shape) == 2:
        return op.Gemm(left, right, x, alpha=-1.0, types=[x.type])
    return op.Sub(x, op.MatMul(left, right), types=[x.type])


def filled(like: Array, last: Sequence[Array | int], value: np.generic) -> Array:
    """One number everywhere, in the batch shape of `like` and these last sizes, which are vectors of one element."""
    batch = sizes(like, 0, len(like.shape) - 2)
    shape = op.Concat(batch, *(np.array([d]) if isinstance(d, int) else d for d in last), axis=0)
    return op.ConstantOfShape(shape, value=np.asarray(value).reshape(1))


def rows_at(x: Array, index: Array) -> Array:
    """The rows of `x` [..., n, q] at `index` [..., w]."""
    batch = len(x.shape) - 2
    found = Type(x.dtype, (*index.shape, x.shape[-1]))
    if not batch:
        return op.Gather(x, index, axis=0, types=[found])
    return op.GatherND(x, op.Unsqueeze(index, [-1]), batch_dims=batch, types=[found])


def columns_at(x: Array, index: Array) -> Array:
    """The columns of `x` [..., q, n] at `index` [..., w]."""
    if len(x.shape) == 2:
        return op.Gather(x, index, axis=-1, types=[Type(x.dtype, (x.shape[0], *index.shape))])
    return swapped(rows_at(swapped(x), index))


def stacked_columns(collected: Array) -> Array:
    """Columns [k, ..., n, 1] that a loop collected, as [..., n, k]."""
    rank = len(collected.shape)
    return op.Squeeze(op.Transpose(collected, perm=[*range(1, rank - 1), 0, rank - 1]), [-1])


def stacked_rows(collected: Array) -> Array:
    """Rows [k, ..., 1, n] that a loop collected, as [..., k, n]."""
    rank = len(collected.shape)
    return op.Squeeze(op.Transpose(collected, perm=[*range(1, rank - 2), 0, rank - 2, rank - 1]), [-2])


def at_most_a_block(dim: Dim) -> bool:
    """Return whether the size is a known number, not 0, that fits into one panel."""
    return isinstance(dim, int) and 0 < dim <= BLOCK


def panels(
    n: Dim, count: Array, step: Callable[..., Sequence[Array]], carries: Sequence[Array], types: Sequence[Type]
) -> list[Array]:
    """Run `step(width, *carries) -> new carries` for panels of `BLOCK` columns of n.

    The columns that are left over are the first panel where n is known, and all widths are then; else they are the
    last one, and the width is None.
    """
    if not isinstance(n, int) or n <= BLOCK:
        return loop(block_count(count), lambda _, *given: (step(None, *given), []), carries, types)
    first = n - BLOCK * ((n - 1) // BLOCK)
    after = Array(tracing.constant(np.int64(n // BLOCK - (first == BLOCK))))
    return loop(after, lambda _, *given: (step(BLOCK, *given), []), step(first, *carries), types)


def known_to_be(x: Array, axis: int, width: int | None) -> Array:
    """`x`, whose size along an axis is this one, if it is known."""
    if width is None:
        return x
    shape: list[Dim] = list(x.shape)
    shape[axis] = width
    return op.Identity(x, types=[Type(x.dtype, shape)])


def block_count(n: Array) -> Array:
    """Return the number of panels that n columns (a vector of one element) make, a scalar."""
    return scalar(op.Div(op.Add(n, BLOCK - 1), BLOCK))
