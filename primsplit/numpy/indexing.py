"""Indexing: `x[key]`, `x[key] = v` and `np.add.at`, with NumPy's rules for views, repeated indices and masks.

x = x.copy()
np.add.at(x, [0, 2, 0], v)
becomes
a: float64[3] = Expand(v, [3])
b: float64[N] = ScatterND(x, int64[3,1](0, 2, 0), a, reduction='add')
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Shape, Size
from primsplit.ir.errors import DtypeError, UnsupportedFunction
from primsplit.numpy.axes import array_like
from primsplit.numpy.converted_run import known_arrays
from primsplit.numpy.keys import Cut, Entry, Fancy, Take, read_key
from primsplit.numpy.reading import read
from primsplit.numpy.ufuncs import call_ufunc, cast_to, loop_dtypes, plain_out, ufunc_method
from primsplit.numpy.writing import write
from primsplit.ops import op
from primsplit.tracing.array import Array, implements, unsupported
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.broadcasting import expand_to, reshape_to


@implements("getitem")
def getitem(x: Array, key: Any) -> Array:
    """`x[key]`: a view for ints, slices, newaxis and ellipsis, a copy for arrays, a number for an int an axis.

    Raises IndexingError.
    """
    entries = read_key(x.shape, key)
    known = known_arrays([x])
    plain = None if known is None else _plain_key(key)
    result = read(x, entries) if known is None or plain is None else Array(tracing.constant(known[0][plain]))
    if any(isinstance(e, Fancy) for e in entries):
        result.scalar = True
        return result
    if all(isinstance(e, Take) for e in entries) and not _has_ellipsis(key):
        return Array(result.value, scalar=True)
    if x.view_of is not None and isinstance(x.view_of.write, WrittenInRow):
        return Array(result.value)
    found = Array(result.value, weak=result.weak).viewing(
        x, functools.partial(read, entries=entries), _WriteThrough(entries)
    )
    found.contiguous = x.contiguous and _is_block(entries)
    return found


def _is_block(entries: Sequence[Entry]) -> bool:
    """Return whether the entries select consecutive rows: numbers, then one slice without steps, then whole axes."""
    rest = list(itertools.dropwhile(lambda e: isinstance(e, Take), entries))
    first = rest[0] if rest else None
    return (not rest or (isinstance(first, Cut) and first.step == 1)) and all(
        isinstance(e, Cut) and e.is_whole for e in rest[1:]
    )


def _plain_key(key: Any) -> tuple[Any, ...] | None:
    """Return the key with known arrays in place of traced ones.

    None if one is not known, or the key has lists or Sizes.
    """
    parts = [p.known() if isinstance(p, Array) else p for p in _parts(key)]
    bounds = [b for p in parts for b in ((p.start, p.stop, p.step) if isinstance(p, slice) else (p,))]
    is_plain = not any(isinstance(b, Array | Size | list | tuple) for b in bounds)
    is_known = not any(k is None and isinstance(p, Array) for k, p in zip(parts, _parts(key), strict=True))
    return tuple(parts) if is_plain and is_known else None


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _has_ellipsis(key: Any) -> bool:
    return any(part is Ellipsis for part in _parts(key))


def as_view(part: Array, x: Array, key: Any) -> Array:
    """`part`, which is `x[key]` for a key of slices and ints, as a view of `x`."""
    entries = read_key(x.shape, key)
    return Array(part.value).viewing(x, functools.partial(read, entries=entries), _WriteThrough(entries))


class _WriteThrough:
    """Writes through a view, by the entries with which the view was read."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries

    def __call__(self, base: Array, new: Array) -> Array:
        return write(base, self.entries, new)


class WrittenInRow:
    """Writes through `x.flat`, whose slices are copies, in the shape of `x`."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape

    def __call__(self, base: Array, new: Array) -> Array:
        return reshape_to(new, self.shape)


@implements("setitem")
def setitem(x: Array, key: Any, new: Any) -> None:
    """`x[key] = new`, cast to the dtype of `x` as NumPy does. Raises IndexingError and ShapeError."""
    entries = read_key(x.shape, key)
    if isinstance(new, Array):
        if _is_own_view(x, entries, new):
            return
        _check_not_shuffled(x, new)
    written = as_written(new, x)
    known = known_arrays([x, written])
    plain = None if known is None else _plain_key(key)
    if known is not None and plain is not None:
        changed = known[0].copy()
        changed[plain] = known[1]
        x.assign(Array(tracing.constant(changed)))
        return
    x.assign(write(x, entries, written))


def _check_not_shuffled(x: Array, new: Array) -> None:
    """Raise UnsupportedFunction for NumPy's shuffle, which swaps rows of what is no array of its own by `x[i], x[j] =`.

    The rows are views here, so that the second would be written with itself.
    """
    if new.view_of is not None and new.view_of.base is x and tracing.is_in_call_of("shuffle"):
        raise rows_shuffled()


def rows_shuffled() -> UnsupportedFunction:
    """Return the error of a shuffle of the rows of a traced array."""
    return UnsupportedFunction(
        "NumPy's shuffle swaps rows of a traced array while it reads them",
        place=tracing.user_place(),
        cure="Write x[...] = x[rng.permutation(len(x))].",
    )


def as_written(new: Any, x: Array) -> Array:
    """Return the value to write to `x`, in the dtype of `x`. Raises DtypeError if `x` is not a traced array."""
    if not isinstance(x, Array):
        raise plain_out("a traced value is written into a NumPy array", x)
    if isinstance(new, list | tuple) and x.dtype.kind in "iu" and not holds_traced(new):
        return Array(tracing.constant(_of_integers(new, x.dtype)))
    return cast_to(array_like(new), x.dtype)


def _of_integers(numbers: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Lists of Python's numbers in a dtype of integers. Raises DtypeError where it does not hold one of them."""
    try:
        return np.asarray(numbers, dtype)
    except (OverflowError, ValueError, TypeError) as raised:
        error = DtypeError(str(raised), place=tracing.user_place())
        error.numpys = raised
        raise error from None


def _is_own_view(x: Array, entries: Sequence[Entry], new: Array) -> bool:
    """Return whether `new` already is `x[entries]`: `x[i] += v` writes through the view and then assigns it again."""
    view = new.view_of
    return (
        view is not None
        and view.base is x
        and view.seen == x.version
        and isinstance(view.write, _WriteThrough)
        and len(view.write.entries) == len(entries)
        and all(map(_same_entry, view.write.entries, entries))
    )


def _same_entry(a: Entry, b: Entry) -> bool:
    if isinstance(a, Take) and isinstance(b, Take):
        return _same_bound(a.index, b.index)
    if isinstance(a, Cut) and isinstance(b, Cut):
        return a.step == b.step and _same_bound(a.start, b.start) and _same_bound(a.stop, b.stop)
    return type(a) is type(b) and not isinstance(a, Fancy)


def _same_bound(a: Any, b: Any) -> bool:
    if isinstance(a, Array) or isinstance(b, Array):
        return isinstance(a, Array) and isinstance(b, Array) and a.value is b.value
    return dims.same(a, b)


_REDUCTIONS = {
    "add": "add", "subtract": "add", "multiply": "mul", "divide": "mul", "maximum": "max", "minimum": "min",
}  # fmt: skip


@ufunc_method("at")
def ufunc_at(ufunc: np.ufunc, x: Any, key: Any, *operands: Any) -> None:
    """`ufunc.at(x, key, v)`: the ufunc applied once for each time that an element is named."""
    if not isinstance(x, Array):
        raise plain_out(f"np.{ufunc.__name__}.at writes traced values into a NumPy array", x)
    entries = read_key(x.shape, key)
    operand = [array_like(v) for v in operands]
    result_dtype = loop_dtypes(ufunc, [x, *operand])[-1]
    if not np.can_cast(result_dtype, x.dtype, "same_kind"):
        raise DtypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {result_dtype} to {x.dtype} with rule 'same_kind'",
            place=tracing.user_place(),
        )
    if not any(isinstance(e, Fancy) for e in entries) or _names_once(entries):
        new = call_ufunc(ufunc, read(x, entries), *operand)
        x.assign(write(x, entries, cast_to(new, x.dtype)))
    elif ufunc.__name__ in _REDUCTIONS:
        v = cast_to(operand[0], x.dtype)
        if ufunc.__name__ == "subtract":
            v = -v
        elif ufunc.__name__ == "divide":
            v = op.Reciprocal(v)
        x.assign(write(x, entries, v, _REDUCTIONS[ufunc.__name__]))
    else:
        _at_one_by_one(ufunc, x, key, operand)


FEW = 64
"""Up to so many elements that are named twice are written one by one."""


def _at_one_by_one(ufunc: np.ufunc, x: Array, key: Any, operand: Sequence[Array]) -> None:
    """`ufunc.at` for elements that are known, in their order. Raises UnsupportedFunction for others, or for many."""
    given = [array_like(k).known() for k in (key if isinstance(key, tuple) else (key,)) if not isinstance(k, slice)]
    known = [k for k in given if k is not None and k.dtype.kind in "iu"]
    is_whole = len(known) == (len(key) if isinstance(key, tuple) else 1)
    if not is_whole or np.broadcast(*known).size > FEW:
        raise unsupported(f"np.{ufunc.__name__}.at with an index array that may name an element twice")
    places = np.broadcast_arrays(*known)
    shape = (*places[0].shape, *x.shape[len(places) :])
    values = [expand_to(v, shape) for v in operand]
    for at in np.ndindex(places[0].shape):
        entries = read_key(x.shape, tuple(int(p[at]) for p in places))
        new = call_ufunc(ufunc, read(x, entries), *(getitem(v, at) for v in values))
        x.assign(write(x, entries, cast_to(new, x.dtype)))


def _names_once(entries: Sequence[Entry]) -> bool:
    """Return whether the index arrays name each place at most once: one mask, or one array of different numbers."""
    picks = [e for e in entries if isinstance(e, Fancy)]
    if all(p.mask is not None and p.mask is picks[0].mask for p in picks):
        return True
    known = picks[0].index.known() if len(picks) == 1 else None
    return known is not None and bool((known >= 0).all()) and len(np.unique(known)) == known.size


@implements("fill")
def fill(x: Array, value: Any) -> None:
    """`x.fill(value)`."""
    setitem(x, Ellipsis, value)
