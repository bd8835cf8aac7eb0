"""Running products that overflow and underflow exactly where NumPy's do, at the product of all elements so far."""

import math

import numpy as np

from primsplit.ir import Value
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.axes import slab
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.scans import scanned
from primsplit.numpy.units import is_whole
from primsplit.ops import op
from primsplit.tracing import regions as nested
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import axis_back, axis_first, full, ones_like

FEW = 32
"""Elements that are multiplied one after the other: about as many operators as products of parts take."""


def running_product(x: Array, axis: int) -> Array:
    """The product of the elements up to each one along an axis. Its gradient is right at zeros: it divides nothing.

    Products of parts, which take few operators, are taken where none of them can overflow or underflow; else the run
    multiplies element by element. Integers wrap either way.
    """
    count = x.shape[axis]
    if is_whole(x):
        return scanned(x, axis, op.Mul, 1)
    if isinstance(count, int) and count <= FEW:
        return _one_by_one(x, axis, count)
    rows = axis_first(x, axis)
    parts = nested.record("parts", [], lambda: [scanned(rows, 0, op.Mul, 1).value])
    steps = nested.record("steps", [], lambda: _stepwise(rows))
    found = nested.emit_if(_is_ordinary(rows).value, parts, steps, [rows.type])
    return axis_back(Array(found[0]), axis)


def _one_by_one(x: Array, axis: int, count: int) -> Array:
    if count < 2:
        return Array(x.value)
    found = [slab(x, axis, 0, 1)]
    for i in range(1, count):
        found.append(op.Mul(found[-1], slab(x, axis, i, i + 1)))
    return op.Concat(*found, axis=axis)


def _stepwise(rows: Array) -> list[Value]:
    def step(product: Array, row: Array) -> tuple[list[Array], list[Array]]:
        longer = op.Mul(product, row)
        return [longer], [longer]

    _, products = scan(step, [full(rows.shape[1:], np.ones((), rows.dtype))], [rows])
    return [products.value]


def _is_ordinary(rows: Array) -> Array:
    """Whether no product of neighbours leaves the dtype's range, by sums of logarithms of finite nonzero elements."""
    size = op.Abs(rows)
    counted = op.And(size > 0.0, size < math.inf)
    logarithms = op.Log(op.Where(counted, size, ones_like(size)))
    start = full((1, *rows.shape[1:]), np.zeros((), rows.dtype))
    sums = op.Concat(start, op.CumSum(logarithms, 0), axis=0)
    spread = op.Sub(op.ReduceMax(sums, [0], keepdims=0), op.ReduceMin(sums, [0], keepdims=0))
    limits = float_limits(rows)
    wide = op.Not(spread < 0.95 * -math.log(float(limits.tiny)))
    return op.Equal(op.ReduceSum(op.Cast(wide, to=np.int64), keepdims=0), 0)
