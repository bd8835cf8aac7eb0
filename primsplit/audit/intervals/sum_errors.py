"""Bound the errors of sums, products of matrices and other reductions.

```
z = sum(x)       sum(ex) + n u sum(|x|)
Z = X @ Y        |X| EY + EX |Y| + EX EY + (n + 2) u |X| |Y|
```

`n` is the number of terms. The bound holds for every order of additions, and for fused products.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import FAITHFUL, At
from primsplit.audit.intervals.errors import NO_BOUND, Rule, error_of
from primsplit.audit.intervals.ranges import Range, unit
from primsplit.audit.intervals.sums import Axes, accumulated, axes_of, count_of, scatter
from primsplit.ir import AnyArray


def _reduced(at: At, array: AnyArray | None, function: Callable[..., Any]) -> tuple[AnyArray, int] | None:
    """Return a reduction of an array of the input's shape, and how many elements each result has."""
    axes: Axes = axes_of(at)
    count, x = count_of(at, axes), at.take(0)
    ends = x.whole()
    if count is None or array is None:
        return None
    if ends is None:
        return np.asarray(np.max(array, initial=0.0) * (count if function is np.sum else 1)), count
    whole = np.broadcast_to(array, ends[0].shape)
    keep = bool(at.op.attributes.get("keepdims", 1))
    return np.asarray(function(whole, axis=axes, keepdims=keep)), count


def reduce_sum(at: At, found: Range) -> AnyArray:
    """Return the error of a sum over axes."""
    x = at.take(0)
    error, size = _reduced(at, x.error, np.sum), _reduced(at, x.largest, np.sum)
    if error is None or size is None:
        return NO_BOUND
    return np.asarray(error[0] + max(size[1] - 1, 0) * unit(found.dtype) * size[0])


def reduce_mean(at: At, found: Range) -> AnyArray:
    """Return the error of a mean over axes."""
    count = count_of(at, axes_of(at))
    return NO_BOUND if not count else np.asarray(reduce_sum(at, found) / count + 2 * unit(found.dtype) * found.largest)


def reduce_extreme(at: At, found: Range) -> AnyArray:
    """Return the error of the largest or smallest: the largest error of an element."""
    error = _reduced(at, at.take(0).error, np.max)
    return NO_BOUND if error is None else error[0]


def reduce_product(at: At, found: Range) -> AnyArray:
    """Return the error of a product over axes."""
    x = at.take(0)
    wide = _reduced(at, None if x.error is None else x.largest + x.error, np.prod)
    size = _reduced(at, x.largest, np.prod)
    if wide is None or size is None or x.whole() is None:
        return NO_BOUND
    return np.asarray(wide[0] - size[0] + size[1] * 2 * unit(found.dtype) * wide[0])


def _with_first(at: At, low: AnyArray, high: AnyArray, error: AnyArray) -> At:
    first = replace(at.take(0), low=low, high=high, error=error, value=None)
    return At(at.op, [first, *at.inputs[1:]], at.types, at.made, at.compute, at.found)


def reduce_l1(at: At, found: Range) -> AnyArray:
    """Return the error of a sum of magnitudes."""
    return reduce_sum(at, found)


def reduce_squares(at: At, found: Range) -> AnyArray:
    """Return the error of a sum of squares."""
    x = at.take(0)
    error = NO_BOUND if x.error is None else x.error
    squares = x.largest**2
    each = 2 * x.largest * error + error**2 + unit(found.dtype) * squares
    return reduce_sum(_with_first(at, np.zeros_like(squares), squares, each), found)


def reduce_l2(at: At, found: Range) -> AnyArray:
    """Return the error of a length: that of the sum of squares, divided by the length, or its root."""
    error = reduce_squares(at, found)
    return np.asarray(
        np.minimum(error / np.maximum(found.low, 1e-300), np.sqrt(error)) + 2 * unit(found.dtype) * found.largest
    )


def matmul(at: At, found: Range) -> AnyArray:
    """Return the error of a product of matrices."""
    return _product(at.take(0), at.take(1), found)


def _product(x: Range, y: Range, found: Range) -> AnyArray:
    ends = [e for e in (x.whole(), y.whole()) if e is not None]
    if len(ends) < 2 or x.error is None or y.error is None:
        return NO_BOUND
    sizes = [np.maximum(np.abs(low), np.abs(high)) for low, high in ends]
    errors = [np.broadcast_to(r.error, e[0].shape) for r, e in zip((x, y), ends, strict=True) if r.error is not None]
    if not all(np.all(np.isfinite(a)) for a in (*sizes, *errors)):
        return NO_BOUND
    count = sizes[0].shape[-1]
    carried = sizes[0] @ errors[1] + errors[0] @ (sizes[1] + errors[1])
    return np.asarray(carried + (count + 2) * unit(found.dtype) * (sizes[0] @ sizes[1]))


def gemm(at: At, found: Range) -> AnyArray:
    """Return the error of alpha * A @ B + beta * C."""
    told = at.op.attributes
    sides = ((at.take(0), "transA"), (at.take(1), "transB"))
    x, y = (r.transposed if told.get(name, 0) else r for r, name in sides)
    alpha, beta = abs(float(told.get("alpha", 1.0))), abs(float(told.get("beta", 1.0)))
    error = alpha * _product(x, y, found) * (1 + 2 * unit(found.dtype))
    addend = at.given(2)
    if addend is not None:
        error = error + beta * (NO_BOUND if addend.error is None else addend.error)
    scale = 3 if alpha != 1.0 or beta != 1.0 else 1
    sizes = found.largest + (0.0 if addend is None else beta * addend.largest)
    return np.asarray(error + scale * unit(found.dtype) * (found.largest + sizes))


def running(at: At, found: Range) -> AnyArray:
    """Return the error of a running sum."""
    x = at.take(0)
    ends, axis = x.whole(), at.known(1)
    if ends is None or axis is None or x.error is None:
        return NO_BOUND
    error, size = (accumulated(at, np.broadcast_to(a, ends[0].shape)) for a in (x.error, x.largest))
    return np.asarray(error + ends[0].shape[int(axis)] * unit(found.dtype) * size)


def softmax(at: At, found: Range) -> AnyArray:
    """Return the error of shares: an error of the numbers changes them by a factor, twice."""
    x, kernel = at.take(0), _of_shares(at, found)
    error = NO_BOUND if x.error is None else np.max(x.error, initial=0.0)
    return np.asarray(found.largest * (np.expm1(2 * error) + kernel) + 2.0**-126)


def log_softmax(at: At, found: Range) -> AnyArray:
    """Return the error of logarithms of shares: that of the number, and of the logarithm of the sum."""
    x = at.take(0)
    error = NO_BOUND if x.error is None else np.max(x.error, initial=0.0)
    return np.asarray(2 * error + _of_shares(at, found) * (1 + found.largest))


def _of_shares(at: At, found: Range) -> float:
    """Return the relative error of a kernel that sums exponentials."""
    sizes, axis = at.take(0).shape, int(at.op.attributes.get("axis", -1))
    count = None if sizes is None else sizes[axis]
    return np.inf if count is None else (4 * FAITHFUL + 2 * count) * unit(found.dtype)


def scattered(at: At, found: Range) -> AnyArray:
    """Return the error of values to which others are added at places that are known."""
    data, updates = at.take(0), at.take(2)
    count = updates.count
    if count is None or data.error is None or updates.error is None:
        return NO_BOUND
    error, size = scatter(at, data.error, updates.error), scatter(at, data.largest, updates.largest)
    if error is None or size is None:
        return NO_BOUND
    return np.asarray(error + count * unit(found.dtype) * size)


SUM_ERRORS: Mapping[str, Rule] = {
    "CumSum": running, "Gemm": gemm, "LogSoftmax": log_softmax, "MatMul": matmul, "ReduceL1": reduce_l1,
    "ReduceL2": reduce_l2, "ReduceMax": reduce_extreme, "ReduceMean": reduce_mean, "ReduceMin": reduce_extreme,
    "ReduceProd": reduce_product, "ReduceSum": reduce_sum, "ReduceSumSquare": reduce_squares,
    "ScatterElements": scattered, "ScatterND": scattered, "Softmax": softmax,
}  # fmt: skip
"""The error of the result of each reduction."""


def bounded(at: At, found: Range) -> AnyArray:
    """Return a bound of the error of an op's first result; infinite where none is known, and of what may be NaN."""
    if found.nan:
        return NO_BOUND
    rule = SUM_ERRORS.get(at.op.kind)
    error = error_of(at, found) if rule is None else rule(at, found)
    return np.where(np.isnan(error), np.inf, error)
