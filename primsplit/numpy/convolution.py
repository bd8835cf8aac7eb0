"""NumPy's convolution and correlation of two vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type, Value, dims
from primsplit.ir.dims import Dim, floor_divide
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import END, FRONT, reaching
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.products import computed, operands
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import reshape_to, size_scalar, zeros_like
from primsplit.tracing.regions import emit_if, record


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """The convolution of two vectors, in memory that grows with the longer one."""
    a, v = (_vector(x) for x in operands(a, v))
    middle = (dims.minimum(a.shape[0], v.shape[0]) - 1) // 2
    return _window(all_sums(a, v), mode, a, v, middle)


def all_sums(a: Array, v: Array) -> Array:
    """The convolution of two vectors of one dtype, either of which may be empty."""
    return computed(_sums, a, v)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """The correlation of two vectors: the sums of a[n + k] v[n] for every shift k.

    Raises UndecidableSize for mode "same" where only the run can tell which vector is longer.
    """
    a, v = (_vector(x) for x in operands(a, v))
    middle: Dim = 0
    if mode == "same":
        middle = (v.shape[0] - 1) // 2 if a.shape[0] >= v.shape[0] else a.shape[0] // 2
    turned = op.Slice(v, [-1], [FRONT], [0], [-1], types=[v.type])
    return _window(all_sums(a, turned), mode, a, v, middle)


def _vector(x: Array) -> Array:
    """A vector, of which a run that gives it no elements fails. Raises ShapeError."""
    if len(x.shape) > 1:
        raise ShapeError("convolve and correlate take vectors", place=tracing.user_place())
    if not x.shape:
        return op.Unsqueeze(x, [0])
    if dims.same(x.shape[0], 0):
        error = ShapeError("what is convolved cannot be empty", place=tracing.user_place())
        error.numpys = ValueError(error.what)
        raise error
    return reaching(x, 0, 1)


SMALL = 2**17
"""The most numbers that are held in memory at once."""

MOST = 64
"""The most numbers in a block."""


def _sums(a: Array, v: Array) -> Array:
    """All N + M - 1 sums: of short vectors at once, else by blocks of the shorter one."""
    n, m = a.shape[0], v.shape[0]
    if isinstance(n, int) and isinstance(m, int) and m > n:
        return _sums(v, a)
    count = m * (n + m)
    if isinstance(count, int):
        return (_full if count <= SMALL else _long)(a, v)
    return _either(op.LessOrEqual(size_scalar(count), SMALL), (_full, _long), a, v)


def _long(a: Array, v: Array) -> Array:
    a, v = _by_length(a, v)
    if not a.type.is_float:
        return _by_blocks(a, v)
    return _either(op.And(_is_finite(a), _is_finite(v)), (_by_blocks, _by_elements), a, v)


def _by_length(a: Array, v: Array) -> tuple[Array, Array]:
    """The vectors, the longer one first, as far as that matters: blocks of few numbers may be of the longer one."""
    n, m = a.shape[0], v.shape[0]
    if dims.at_least(n, m) or (isinstance(m, int) and m <= MOST):
        return a, v
    if dims.at_least(m, n) or (isinstance(n, int) and n <= MOST):
        return v, a
    types = [Type(a.dtype, (dims.maximum(n, m),)), Type(a.dtype, (dims.minimum(n, m),))]
    first, second = (record(name, [], lambda pair=pair: pair) for name, pair in _orders(a, v))
    is_longer = op.GreaterOrEqual(size_scalar(n), size_scalar(m))
    longer, shorter = emit_if(is_longer.value, first, second, types)
    return Array(longer), Array(shorter)


def _orders(a: Array, v: Array) -> list[tuple[str, list[Value]]]:
    return [("first", [a.value, v.value]), ("second", [v.value, a.value])]


def _is_finite(x: Array) -> Array:
    """Whether all numbers are finite: the zeros of blocks must not meet infinity or NaN."""
    zero = np.zeros((), x.dtype)
    return op.Equal(op.ReduceSum(op.Mul(x, zero), keepdims=0), zero)


Way = Callable[[Array, Array], Array]


def _either(condition: Array, ways: tuple[Way, Way], a: Array, v: Array) -> Array:
    """The sums by the first way, or by the second."""
    first, second = (record(way.__name__.strip("_"), [], lambda way=way: [way(a, v).value]) for way in ways)
    return Array(emit_if(condition.value, first, second, [Type(a.dtype, (a.shape[0] + v.shape[0] - 1,))])[0])


def _by_blocks(a: Array, v: Array) -> Array:
    """The sums for one block of b numbers of `v` after the other: a matrix [b, 2 b] times all blocks of `a`.

    A column holds a block of `a` and the one before it, the matrix shifts the block of `v` by one in each row. What
    a block adds lies one block later than what the one before it adds. 4 N M operations, and memory for 6 N numbers.
    """
    n, m = a.shape[0], v.shape[0]
    b = min(MOST, max(8, 1 << (m - 1).bit_length())) if isinstance(m, int) else MOST
    count, columns = floor_divide(m + b - 1, b), floor_divide(n + b - 1, b) + 1
    rows = op.Slice(_in_rows(v, 0, count, b), [-1], [FRONT], [1], [-1], types=[Type(v.dtype, (count, b))])
    blocks = op.Transpose(_in_rows(a, b, columns + 1, b), perm=[1, 0])
    half = Type(a.dtype, (b, columns))
    pairs = op.Concat(*(op.Slice(blocks, [i], [columns + i], [1], types=[half]) for i in (0, 1)), axis=0)
    zeros = op.ConstantOfShape(op.Shape(op.Slice(pairs, [0], [b], [0])), value=np.zeros(1, a.dtype), types=[half])

    def step(rest: Array, row: Array) -> tuple[list[Array], list[Array]]:
        total = op.Add(rest, op.MatMul(_shifted(row, b), pairs))
        done = op.Slice(total, [0], [1], [1])
        return [op.Concat(op.Slice(total, [1], [END], [1]), op.Sub(done, done), axis=1, types=[half])], [done]

    rest, found = scan(step, [zeros], [rows])
    done = reshape_to(found, [count * b])
    later = reshape_to(op.Transpose(rest, perm=[1, 0]), [columns * b])
    kept = Type(a.dtype, (n + m - 1,))
    return op.Slice(op.Concat(done, later, axis=0), [0], [n + m - 1], [0], types=[kept])


def _in_rows(x: Array, before: int, count: Dim, b: int) -> Array:
    """The vector, zeros before it and zeros after it, as `count` rows of b numbers."""
    after = count * b - before - x.shape[0]
    return reshape_to(op.Pad(x, [before, after], types=[Type(x.dtype, (count * b,))]), [count, b])


def _shifted(row: Array, b: int) -> Array:
    """The matrix [b, 2 b] whose row i is the row of b numbers, pushed i + 1 places to the right.

    Pushing is cutting a run of padded rows into rows one shorter.
    """
    padded = op.Expand(op.Pad(row, [1, b]), [b, 2 * b + 1])
    run = op.Slice(op.Reshape(padded, [-1]), [0], [2 * b * b], [0])
    return op.Reshape(run, [b, 2 * b])


def _by_elements(a: Array, v: Array) -> Array:
    """The convolution by a scan over the numbers of `v`."""

    def step(rest: Array, by: Array) -> tuple[list[Array], list[Array]]:
        total = op.Add(rest, op.Mul(a, by))
        done = op.Slice(total, [0], [1], [0])
        zero = np.zeros(1, a.dtype)
        return [op.Concat(op.Slice(total, [1], [END], [0]), zero, axis=0, types=[a.type])], [done]

    rest, found = scan(step, [zeros_like(a)], [op.Unsqueeze(v, [1])])
    kept = Type(a.dtype, (a.shape[0] + v.shape[0] - 1,))
    return op.Slice(op.Concat(op.Squeeze(found, [1]), rest, axis=0), [0], [-1], [0], types=[kept])


def _full(a: Array, v: Array) -> Array:
    """All N + M - 1 sums: the outer product [M, N], its row i pushed i places to the right, summed over rows.

    Pushing is padding each row with M zeros and cutting the run of all rows into rows one shorter. Cost: 2 N M
    operations, and the memory traffic of five passes over N M elements, which are held all.
    """
    n, m = a.shape[0], v.shape[0]
    rows = op.MatMul(op.Unsqueeze(v, [1]), op.Unsqueeze(a, [0]))
    padded = op.Pad(rows, [0, 0, 0, m], types=[Type(a.dtype, (m, n + m))])
    run = reshape_to(padded, [m * (n + m)])
    length = m * (n + m - 1)
    cut = op.Slice(run, [0], [length], [0], types=[Type(a.dtype, (length,))])
    return op.ReduceSum(reshape_to(cut, [m, n + m - 1]), [0], keepdims=0)


def _window(full: Array, mode: str, a: Array, v: Array, middle: Dim) -> Array:
    """The part of the full convolution that the mode keeps."""
    longer, shorter = dims.maximum(a.shape[0], v.shape[0]), dims.minimum(a.shape[0], v.shape[0])
    windows = {"same": (middle, longer), "valid": (shorter - 1, longer - shorter + 1)}
    if mode == "full":
        return full
    if mode not in windows:
        raise ShapeError(f"mode must be 'full', 'same' or 'valid', not {mode!r}", place=tracing.user_place())
    first, count = windows[mode]
    return op.Slice(full, [first], [first + count], [0], types=[Type(full.dtype, (count,))])
