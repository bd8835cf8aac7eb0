"""scipy.signal.lfilter for traced signals and coefficients.

What the numerator makes of a signal, and the state before it, are the right side of the denominator's difference
equation, which `all_pole` solves by blocks.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.frontends.scipy.all_pole import all_pole, delayed
from primsplit.frontends.scipy.operands import inexact, not_empty, of_at_least, of_length
from primsplit.ir import Type, Value, dims
from primsplit.numpy.axes import slab
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import reshape_to, zeros
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan, record

__all__ = ["lfilter"]

MOST = 16
"""The order up to which a filter goes by blocks. Each order costs some operators; an order above is rare."""
FEW = 16
"""The samples up to which a filter goes sample by sample: that takes no longer."""


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The filter with numerator `b` and denominator `a` along an axis; with `zi` its last state, too.

    By blocks of samples, or one step of a scan for each sample where coefficients are complex, their number is large or
    known only to the run, or samples are few. Without a denominator SciPy filters nothing that is empty.
    """
    if not holds_complex(b) and not holds_complex(a) and any(map(holds_complex, (x, zi))):
        return _of_two_parts(b, a, x, axis, zi)
    given: list[Any] = [np.atleast_1d(operand(inexact(v))) for v in (b, a, x)]
    is_complex = any(map(holds_complex, given))
    if is_complex:
        dtype = np.result_type(*(v.dtype for v in given), *([] if zi is None else [inexact(zi).dtype]))
        given = [v.astype(dtype) for v in given]
    b, a, signal = given
    b, a = not_empty(b), not_empty(a)
    for place in range(signal.ndim):
        signal = of_at_least(signal, dims.maximum(2 - a.shape[0], 0), place)
    count = dims.maximum(b.shape[0], a.shape[0])
    first = refusing(a[0], a[0] == 0, ValueError("a filter whose first coefficient a[0] is 0 is not supported"))
    b, a = (v / first for v in (b, a))
    length = signal.shape[axis]
    is_short = isinstance(length, int) and length <= FEW
    if is_complex or is_short or not isinstance(count, int) or not 1 < count <= MOST + 1:
        forth, back = (np.pad(v, (0, count - v.shape[0])) for v in (b, a))
        return _by_samples(forth, back, signal, axis, zi)
    return _by_blocks(b, a, signal, axis, zi)


def _of_two_parts(b: Any, a: Any, x: Any, axis: int, zi: Any) -> Any:
    """The filter of the real and of the imaginary part."""
    signal, state = (None if v is None else operand(inexact(v)) for v in (x, zi))
    sides: tuple[Any, ...] = (np.real, np.imag)
    parts = [lfilter(b, a, side(signal), axis, None if state is None else side(state)) for side in sides]
    if zi is None:
        return ComplexArray(*parts)
    return tuple(ComplexArray(*pair) for pair in zip(*parts, strict=True))


def _by_blocks(b: Any, a: Any, signal: Any, axis: int, zi: Any) -> Any:
    """The filter of a signal whose samples lie last, as rows."""
    given: list[Any] = [array_like(v) for v in (b, a, signal, *([] if zi is None else [inexact(zi)]))]
    dtype = np.result_type(*(v.dtype for v in given))
    forth, back, x, *state = (cast_to(v, dtype) for v in given)
    order = max(b.shape[0], a.shape[0]) - 1
    moved = _moved(x, axis, -1)
    lead = moved.shape[:-1]
    rows = reshape_to(moved, (dims.product(lead), moved.shape[-1]))
    right, start = _weighted(forth, rows), None
    if state:
        wide: Any = np.broadcast_to(of_length(_moved(state[0], axis, -1), order, -1), (*lead, order))
        start = reshape_to(wide, (rows.shape[0], order))
        right = op.Add(right, _first(start, 0, rows.shape[1]))
    found = all_pole(slab(back, 0, 1, a.shape[0]), right) if a.shape[0] > 1 else right
    filtered = _moved(reshape_to(found, moved.shape), -1, axis)
    if start is None:
        return filtered
    last = op.Sub(_left_behind(forth, rows, order), _left_behind(back, found, order))
    last = op.Add(last, _first(start, dims.minimum(rows.shape[1], order), order))
    return filtered, _moved(reshape_to(last, (*lead, order)), -1, axis)


def _moved(x: Any, axis: int, place: int) -> Any:
    return np.moveaxis(x, axis, place)


def _weighted(forth: Array, x: Array) -> Array:
    """The weighted sum of the signal [c, n] and of its delays by 1, 2, ... samples."""
    total = op.Mul(x, slab(forth, 0, 0, 1))
    for j, late in enumerate(delayed(x, forth.shape[0] - 1), 1):
        total = op.Add(total, op.Mul(late, slab(forth, 0, j, j + 1)))
    return op.Identity(total, types=[x.type])


def _first(state: Array, first: Any, count: Any) -> Array:
    """So many columns from the first one on of a state [c, k], and zeros behind it."""
    wide = op.Concat(state, zeros((state.shape[0], count), state.dtype), axis=1)
    return slab(wide, 1, first, first + count)


def _left_behind(weights: Array, x: Array, order: int) -> Array:
    """The sums of weights[i + 1 + j] x[n - 1 - j] over j: what the last samples [c, n] give to the i-th later one."""
    size = int(weights.shape[0])
    wide = op.Concat(zeros((x.shape[0], order), x.dtype), x, axis=1)
    last = slab(wide, 1, x.shape[1], x.shape[1] + order)
    places = np.array([[min(order + i - p if p >= i else size, size) for i in range(order)] for p in range(order)])
    matrix = op.Gather(op.Concat(weights, np.zeros(1, weights.dtype), axis=0), places, axis=0)
    return op.MatMul(last, matrix, types=[Type(x.dtype, (x.shape[0], order))])


def _by_samples(b: Any, a: Any, signal: Any, axis: int, zi: Any) -> Any:
    """The transposed direct form II, one step of a scan for each sample."""
    count = b.shape[0]
    rows = np.moveaxis(signal, axis, 0)
    rest = (1,) * (rows.ndim - 1)
    forth, back = (v.reshape((count, *rest)) for v in (b, a))
    nothing = np.zeros_like(rows[:0]).sum(axis=0)[None]
    start = nothing * forth[1:]
    if zi is not None:
        start = of_length(np.moveaxis(inexact(zi), axis, 0), count - 1, 0) + start

    def step(*carried: Any) -> list[Value]:
        half = len(carried) // 2
        state, sample = _joined(carried[:half]), _joined(carried[half:])
        padded = np.concatenate([state, nothing], axis=0)
        made = padded[0] + forth[0] * sample
        return _values(padded[1:] + forth[1:] * sample - back[1:] * made, made)

    states, samples = _values(start), _values(rows)
    walks = (Walk(),) * len(states)
    body = record("lfilter", [*(v.type for v in states), *(element(v.type, Walk()) for v in samples)], step)
    found = emit_scan(ScanForm(body, len(states), walks, walks), states, samples)
    state, filtered = (_joined(list(map(Array, half))) for half in (found[: len(states)], found[len(states) :]))
    filtered = np.moveaxis(filtered, 0, axis)
    return filtered if zi is None else (filtered, np.moveaxis(state, 0, axis))


def _values(*arrays: Any) -> list[Value]:
    """The values of arrays, two of each that is complex."""
    each = [(x.real, x.imag) if isinstance(x, ComplexArray) else (array_like(x),) for x in arrays]
    return [part.value for pair in each for part in pair]


def _joined(parts: Sequence[Any]) -> Any:
    """The array of these parts, complex if there are two."""
    return ComplexArray(*parts) if len(parts) > 1 else parts[0]
