"""Find the ranges of sums, products of matrices, convolutions and other reductions.

```
x in [0, 1] of 10 elements        ReduceSum(x): [0, 10]
x - max(x), exp, ReduceSum        at least 1: one of the terms is exp(0)
```

A sum of floats never falls when a term grows, whatever the order is: its bounds are the sums of the bounds, wrong by
count * unit.
"""

import string
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from primsplit.audit.intervals.arithmetic import plus, square, times
from primsplit.audit.intervals.at import FAITHFUL, At
from primsplit.audit.intervals.ranges import Level, Range, interval, of_array, planes, unbounded, unit
from primsplit.ir import AnyArray, Value, Var

Axes = tuple[int, ...] | None


def total(at: At, term: Range, count: int | None, *operands: Range) -> Range:
    """Return the range of a sum of so many terms, each of the range of all; None for an unknown number, 1 or more."""
    low, high = term.ends
    if count is None:
        open_ended = unbounded(at.dtype)
        low, high = -np.inf if low < 0 else low, np.inf if high > 0 else high
        return at.result(np.asarray(low), np.asarray(high), term, *operands, open_ended)
    return at.result(np.asarray(count * low), np.asarray(count * high), term, *operands, ulps=max(count - 1, 0))


def axes_of(at: At) -> Axes:
    """Return the axes that a reduction goes over, counted from the first; None if they are not known."""
    x, told = at.take(0), at.known(1)
    rank = None if x.shape is None else len(x.shape)
    if rank is None or (told is None and at.given(1) is not None):
        return None
    if told is None or not told.size:
        return () if at.op.attributes.get("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted(int(a) % rank for a in told.reshape(-1)))


def count_of(at: At, axes: Axes) -> int | None:
    """Return how many elements one result of a reduction is made of."""
    sizes = at.take(0).shape
    if axes is None or sizes is None or any(sizes[a] is None for a in axes):
        return None
    return int(np.prod([sizes[a] or 0 for a in axes], dtype=np.int64))


def reduced(at: At, x: Range, axes: Axes, function: Callable[..., AnyArray]) -> Range | None:
    """Return the bounds of each result, computed by a function of arrays; None if single elements are not known."""
    if axes is None or x.is_uniform:
        return None
    keep = bool(at.op.attributes.get("keepdims", 1))
    plain = replace(x, error=None)
    found = planes([plain], lambda a: np.asarray(function(a, axis=axes, keepdims=keep)))
    return None if found is None else replace(found, dtype=at.dtype)


def sum_of(at: At, x: Range) -> Range:
    """Return the range of a sum of elements, over the axes of a reduction."""
    axes = axes_of(at)
    count = count_of(at, axes)
    nan = x.inf if x.inf and x.ends[0] < 0 < x.ends[1] else Level.NEVER
    if nan is Level.CAN:
        at.note("inf - inf", x)
    each = reduced(at, x, axes, np.sum)
    if each is None or count is None:
        found = total(at, replace(x.hull(), attains=x.attains), count)
    else:
        sizes = reduced(at, replace(x, low=x.largest, high=x.largest), axes, np.sum)
        assert sizes is not None
        slack = 2 * count * unit(at.dtype) * sizes.high
        low = np.where(each.low >= 0, np.maximum(each.low - slack, 0.0), each.low - slack)
        high = np.where(each.high <= 0, np.minimum(each.high + slack, 0.0), each.high + slack)
        found = at.result(low, high, x.hull())
    if x.attains is not None and x.attains[0] is not None and x.attains[0] == axes and x.ends[0] >= 0:
        found = replace(found, low=np.maximum(found.low, x.attains[1]))
    return replace(found, nan=max(found.nan, nan), shape=at.shape, attains=None)


def reduce_sum(at: At) -> Range:
    """Return the range of a sum over axes."""
    return sum_of(at, at.take(0))


def reduce_mean(at: At) -> Range:
    """Return the range of a mean over axes: within that of the elements, but for rounding; its sum may overflow."""
    x = at.take(0)
    count = count_of(at, axes_of(at))
    sums = sum_of(at, x)
    if count is None:
        low, high = x.ends
        return at.result(np.asarray(low), np.asarray(high), sums.hull(), ulps=FAITHFUL, nan=sums.nan, inf=sums.inf)
    each = sums if count else unbounded(at.dtype)
    return at.result(each.low / max(count, 1), each.high / max(count, 1), sums, ulps=1)


def reduce_extreme(function: Callable[..., AnyArray]) -> Callable[[At], Range]:
    """Return the transfer of the largest or smallest over axes."""

    def transfer(at: At) -> Range:
        x = at.take(0)
        each = reduced(at, x, axes_of(at), function)
        found = x.hull() if each is None else each
        return replace(found, dtype=at.dtype, shape=at.shape, nonzero=x.nonzero)

    return transfer


def reduce_product(at: At) -> Range:
    """Return the range of a product over axes."""
    x, count = at.take(0), count_of(at, axes_of(at))
    if count is None:
        return at.unknown()[0]
    low, high = x.ends
    largest = max(abs(low), abs(high))
    most = max(largest**count, 1.0 if not count else 0.0)
    low, high = (low**count, high**count) if low >= 0 else (-most, most)
    return at.result(np.asarray(low), np.asarray(high), x.hull(), ulps=count)


def _magnitudes(at: At, x: Range) -> Range:
    low = np.where((x.low <= 0) & (x.high >= 0), 0.0, np.minimum(np.abs(x.low), np.abs(x.high)))
    return x.like(low, x.largest, dtype=at.dtype)


def reduce_l1(at: At) -> Range:
    """Return the range of a sum of magnitudes."""
    return sum_of(at, _magnitudes(at, at.take(0)))


def reduce_squares(at: At) -> Range:
    """Return the range of a sum of squares."""
    x = at.take(0)
    return sum_of(at, replace(square(at, x), shape=x.shape))


def reduce_l2(at: At) -> Range:
    """Return the range of a length."""
    found = reduce_squares(at)
    return at.result(np.sqrt(found.low), np.sqrt(found.high), found, ulps=2)


# Products of matrices.


def contracted(at: At, one: Range, other: Range, count: int | None) -> Range:
    """Return the range of sums of so many products of two values."""
    term = times(at, one.hull(), other.hull())
    return replace(total(at, term, count), shape=at.shape)


def matmul(at: At) -> Range:
    """Return the range of a product of matrices, of each element if both are known element by element."""
    x, y = at.take(0), at.take(1)
    count = _inner(x, y)
    each = _each(at, x, y, count)
    return contracted(at, x, y, count) if each is None else each


def _inner(x: Range, y: Range) -> int | None:
    sizes = [None if r.shape is None or not r.shape else r.shape[axis] for r, axis in (
        (x, -1), (y, -2 if y.shape is not None and len(y.shape) > 1 else -1))]  # fmt: skip
    return next((s for s in sizes if s is not None), None)


def _each(at: At, x: Range, y: Range, count: int | None) -> Range | None:
    ends = [e for e in (x.whole(), y.whole()) if e is not None]
    if count is None or not at.is_float or len(ends) < 2:
        return None
    if (x.is_uniform and y.is_uniform) or not (np.all(x.is_bounded) and np.all(y.is_bounded)):
        return None
    middles = [(low + high) / 2 for low, high in ends]
    radii = [(high - low) / 2 for low, high in ends]
    sizes = [np.maximum(np.abs(low), np.abs(high)) for low, high in ends]
    middle, most = middles[0] @ middles[1], sizes[0] @ sizes[1]
    radius = np.abs(middles[0]) @ radii[1] + radii[0] @ sizes[1]
    slack = radius + 2 * (count + 2) * (unit(at.dtype) + 2.0**-52) * most
    found = at.result(middle - slack, middle + slack, x.hull(), y.hull())
    lowest = 0.0 if x.ends[0] >= 0 and y.ends[0] >= 0 else -np.inf
    return replace(found, low=np.maximum(found.low, lowest), shape=tuple(middle.shape))


def gemm(at: At) -> Range:
    """Return the range of alpha * A @ B + beta * C."""
    told = at.op.attributes
    sides = ((at.take(0), "transA"), (at.take(1), "transB"))
    x, y = (r.transposed if told.get(name, 0) else r for r, name in sides)
    inner = replace_at(at, x, y)
    product = matmul(inner)
    at.hazards.extend(inner.hazards)
    at.is_open = at.is_open or inner.is_open
    alpha, beta = float(told.get("alpha", 1.0)), float(told.get("beta", 1.0))
    if alpha != 1.0:
        product = times(at, product, interval(alpha, alpha, at.dtype, ()))
    addend = at.given(2)
    if addend is None:
        return product
    scaled = addend if beta == 1.0 else times(at, addend, interval(beta, beta, at.dtype, ()))
    return replace(plus(at, product, scaled), shape=at.shape)


def replace_at(at: At, *inputs: Range) -> At:
    """Return the same op with other inputs."""
    return At(at.op, inputs, at.types, at.made, at.compute, at.found)


def convolution(at: At) -> Range:
    """Return the range of a convolution: of all products of an input, or the 0 of its padding, with a weight."""
    x, w = at.take(0), at.take(1)
    sizes = w.shape
    count = None if sizes is None or None in sizes else int(np.prod([d or 0 for d in sizes[1:]], dtype=np.int64))
    padded = replace(x.hull(), low=np.minimum(x.ends[0], 0.0), high=np.maximum(x.ends[1], 0.0), nonzero=False)
    found = contracted(at, padded, w, count)
    bias = at.given(2)
    return found if bias is None else replace(plus(at, found.hull(), bias.hull()), shape=at.shape)


def einsum(at: At) -> Range:
    """Return the range of a sum of products over the indices that the result lacks."""
    equation = str(at.op.attributes["equation"]).replace(" ", "")
    given, _, result = equation.partition("->")
    sizes: dict[str, int | None] = {}
    for own, r in zip(given.split(","), at.inputs, strict=True):
        if r is not None and r.shape is not None and len(own) == len(r.shape):
            sizes.update(zip(own, r.shape, strict=True))
    labels = {c for c in given if c in string.ascii_letters}
    summed = [sizes.get(c) for c in labels if c not in result] if "->" in equation and "." not in equation else [None]
    count = None if None in summed else int(np.prod([d or 0 for d in summed], dtype=np.int64))
    term = at.take(0).hull()
    for i in range(1, len(at.inputs)):
        term = times(at, term, at.take(i).hull())
    return replace(total(at, term, count), shape=at.shape)


# Windows, running sums, and normalized values.


def average(at: At) -> Range:
    """Return the range of a mean over windows: within that of the elements and the 0 of the padding."""
    x = at.take(0)
    low, high = x.ends
    return at.result(np.asarray(min(low, 0.0)), np.asarray(max(high, 0.0)), x.hull(), ulps=FAITHFUL + 2**10)


def running(at: At) -> Range:
    """Return the range of a running sum, of each element if those of the input are known."""
    x = at.take(0)
    ends, axis = x.whole(), at.known(1)
    if ends is None or axis is None or x.is_uniform or not at.is_float:
        return _running_of_all(at, x)
    low, high, size = (accumulated(at, a) for a in (*ends, np.broadcast_to(x.largest, ends[0].shape)))
    slack = 2 * ends[0].shape[int(axis)] * unit(at.dtype) * size
    return at.result(low - slack, high + slack, x.hull(), nan=x.inf)


def accumulated(at: At, array: AnyArray) -> AnyArray:
    """Return running sums of an array as CumSum adds them up."""
    axis = int(at.take(1).ends[0])
    is_back = bool(at.op.attributes.get("reverse", 0))
    turned = np.flip(array, axis) if is_back else array
    sums = np.cumsum(turned, axis=axis)
    sums = sums - turned if at.op.attributes.get("exclusive", 0) else sums
    return np.asarray(np.flip(sums, axis) if is_back else sums)


def _running_of_all(at: At, x: Range) -> Range:
    count = None if x.shape is None or None in x.shape else max((d for d in x.shape if d is not None), default=1)
    term = replace(x.hull(), low=np.minimum(x.ends[0], 0.0), high=np.maximum(x.ends[1], 0.0))
    found = total(at, term, count)
    lowest = x.ends[0] if x.ends[0] >= 0 and not at.op.attributes.get("exclusive", 0) else -np.inf
    return replace(found, low=np.maximum(found.low, lowest), shape=at.shape, nan=max(found.nan, x.inf))


def softmax(at: At) -> Range:
    """Return the range of Softmax, of each element if those of the input are known."""
    x = at.take(0)
    logs = _log_shares(at, x)
    slack = 2.0**-10 if at.dtype.itemsize < 4 else 1e-4
    if logs is None:
        _note_no_shares(at, x)
        return Range(np.zeros(()), np.asarray(1 + slack), at.dtype, at.shape, nan=max(x.nan, x.inf))
    low, high = (np.exp(end) for end in logs)
    return x.like(low * (1 - slack), high * (1 + slack), dtype=at.dtype, shape=at.shape)


def _log_shares(at: At, x: Range) -> tuple[AnyArray, AnyArray] | None:
    """Return bounds of x - log(sum(exp(x))) of each element; None if they are not known."""
    ends = x.whole()
    if ends is None or x.inf or not bool(np.all(x.is_bounded)):
        return None
    axis = int(at.op.attributes.get("axis", -1))
    low, high = ends
    sums = [np.logaddexp.reduce(end, axis=axis, keepdims=True) for end in ends]
    return low - sums[1], np.minimum(high - sums[0], 0.0)


def _note_no_shares(at: At, x: Range) -> None:
    """Report a softmax of elements that can all be -inf along its axis, which is 0 / 0."""
    if x.inf is not Level.CAN:
        return
    ends, low = x.whole(), _minus_infinite(at, at.op.inputs[0], x)
    whole = np.broadcast_to(low, ends[0].shape) if ends is not None and low.ndim else low
    axis = int(at.op.attributes.get("axis", -1))
    if bool(np.any(whole.all(axis) if whole.ndim else whole)):
        at.note("0 / 0", x, always=x.ends == (-np.inf, -np.inf))


def _minus_infinite(at: At, value: Value | None, x: Range) -> AnyArray:
    """Return which elements can be -inf, of a value that an infinite constant is chosen for or added to too."""
    maker = at.maker(value)
    if x.inf is not Level.CAN or maker is None or maker.kind not in {"Add", "Where"}:
        return np.asarray((x.low == -np.inf) & (x.inf is Level.CAN))
    inputs = [v for v in maker.inputs if v is not None]
    ranges = [at.found[v] if isinstance(v, Var) else of_array(v.numpy()) for v in inputs]
    parts = [_minus_infinite(at, v, r) for v, r in zip(inputs, ranges, strict=True)]
    if maker.kind == "Add":
        return np.asarray(parts[0] | parts[1])
    condition = ranges[0]
    return np.asarray((parts[1] & (condition.high > 0)) | (parts[2] & (condition.low < 1)))


def log_softmax(at: At) -> Range:
    """Return the range of LogSoftmax: at most 0, and so far below as the elements differ and there are many."""
    x = at.take(0)
    logs = _log_shares(at, x)
    if logs is not None:
        slack = 2.0**-10 * (1 + np.abs(logs[0]))
        return x.like(logs[0] - slack, np.minimum(logs[1] + slack, 2.0**-10), dtype=at.dtype, shape=at.shape)
    _note_no_shares(at, x)
    return Range(np.asarray(-np.inf), np.asarray(2.0**-10), at.dtype, at.shape, nan=max(x.nan, x.inf), inf=x.inf)


def scattered(at: At) -> Range:
    """Return the range of values to which others are added at places."""
    data, updates = at.take(0), at.take(2)
    how = at.op.attributes.get("reduction", "none")
    if how != "add":
        return at.unknown()[0]
    ends = [scatter(at, *pair) for pair in ((data.low, updates.low), (data.high, updates.high))]
    sizes, count = scatter(at, data.largest, updates.largest), updates.count
    if ends[0] is not None and ends[1] is not None and sizes is not None and count is not None and at.is_float:
        slack = 2 * count * unit(at.dtype) * sizes
        return at.result(ends[0] - slack, ends[1] + slack, data.hull(), updates.hull())
    low, high = updates.ends
    term = replace(updates.hull(), low=np.asarray(min(low, 0.0)), high=np.asarray(max(high, 0.0)))
    return replace(plus(at, data.hull(), total(at, term, updates.count)), shape=at.shape)


def scatter(at: At, data: AnyArray, updates: AnyArray) -> AnyArray | None:
    """Return numbers added at places as the op does; None if the places or sizes are not known."""
    places = at.known(1)
    ends = at.take(0).whole(), at.take(2).whole()
    if places is None or ends[0] is None or ends[1] is None:
        return None
    whole = np.broadcast_to(data, ends[0][0].shape), np.broadcast_to(updates, ends[1][0].shape)
    return at.compute(at.op, [whole[0].astype(np.float64), places, whole[1].astype(np.float64)])


SUMS: Mapping[str, Callable[[At], Range]] = {
    "AveragePool": average, "Conv": convolution, "CumSum": running, "Einsum": einsum, "Gemm": gemm,
    "GlobalAveragePool": average, "LogSoftmax": log_softmax, "MatMul": matmul, "ReduceL1": reduce_l1,
    "ReduceL2": reduce_l2, "ReduceMax": reduce_extreme(np.max), "ReduceMean": reduce_mean,
    "ReduceMin": reduce_extreme(np.min), "ReduceProd": reduce_product, "ReduceSum": reduce_sum,
    "ReduceSumSquare": reduce_squares, "ScatterElements": scattered, "ScatterND": scattered, "Softmax": softmax,
}  # fmt: skip
"""The range of the result of each operator that adds up or reduces."""
