"""Access to single elements: `x.flat`, `x.item()` and `x.tolist()`, whose Python numbers stay traced."""

import math
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError, TraceError
from primsplit.numpy.indexing import WrittenInRow
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.asarray import plain_or_traced
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.handles.concretization import literal_size
from primsplit.tracing.handles.views import bases_of

_PYTHON = {"f": np.float64, "V": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
"""The dtype of Python's number for a kind of dtype."""


@implements("item")
def item(x: Array, *place: Any) -> Array:
    """The element at a place, or the only one, as a Python number. Raises ShapeError where there are several."""
    if not place:
        return _number(_only(x))
    at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
    return _number(x.ravel()[at[0]] if len(at) == 1 else x[tuple(at)])


def _only(x: Array) -> Array:
    sizes = [d for d in x.shape if isinstance(d, int)]
    if math.prod(sizes) != 1:
        raise ShapeError("can only convert an array of size 1 to a Python scalar", place=tracing.user_place())
    return x if not x.shape else reshape_to(x, ())


def _number(x: Array) -> Array:
    kind = _PYTHON.get(x.dtype.kind)
    return x if kind is None else Array(cast_to(x, kind).value, weak=True)


@implements("tolist")
def to_list(x: Array) -> Any:
    """Nested lists of Python numbers. Raises NumberAsked for a size that only the run knows."""
    if not x.shape:
        return _number(x)
    return [to_list(x[i]) for i in range(literal_size(x.shape[0], ".tolist()"))]


@implements("flat")
def flat(x: Array) -> Array:
    """All elements in a row; unlike `ravel` it is never a copy, but what an index picks of it is one."""
    row = Array(reshape_to(x, (x.size,)).value)
    return row.viewing(x, lambda source: reshape_to(source, (source.size,)), WrittenInRow(x.shape))


@implements("flat = y")
def write_flat(x: Any, new: Any) -> None:
    """`x.flat = new`: its elements, from the first on again where they are fewer. Nothing is not written.

    Raises TraceError for a view of the same array, of which NumPy reads what it has just written.
    """
    if isinstance(new, Array) and not _all_shown(x.real).isdisjoint(_all_shown(new.real)):
        raise TraceError(
            "the elements that are given to .flat are those of the same array",
            place=tracing.user_place(),
            cure="Give it a .copy() of them.",
        )
    values = np.ravel(plain_or_traced(new))
    if not dims.same(values.shape[0], 0):
        x.flat[...] = values if dims.same(values.shape[0], x.size) else FUNCTIONS[np.resize](values, (x.size,))


def _all_shown(x: Array) -> set[int]:
    """The array and all that it is a view of, by their ids."""
    return {id(array) for array in (x, *bases_of(x))}
