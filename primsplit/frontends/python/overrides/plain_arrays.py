"""NumPy arrays in a converted function: known arrays with traced indices, and arrays that may be written to.

NumPy asks an index for its number, and a known array holds no traced value. So `table[i]` of a traced number records
the table, and an array to which a traced value is written is traced from where it was made: the write says where that
is, and the function is run once more.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import is_held
from primsplit.ir.errors import TraceError
from primsplit.numpy.complex.creation import constant
from primsplit.numpy.converted_run import is_written_later, made_at
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.trees import PART_OF


def writable(value: Any) -> Any:
    """A NumPy array as a traced array, which traced values can be written to; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype in PART_OF:
        return constant(value)
    if not is_held(value.dtype):
        return value
    found = Array(tracing.constant(value))
    found.contiguous = value.flags.c_contiguous
    return found


def noted(found: Any, given: Any = ()) -> Any:
    """What a function made of what it was given: its new arrays are traced if traced values are written to them later.

    Where any other is made is remembered.
    """
    if type(found) in {tuple, list}:
        sources = [*_arrays(given)]
        parts = [_noted(f, sources) for f in found]
        return found if all(a is b for a, b in zip(parts, found, strict=True)) else type(found)(parts)
    return _noted(found, [*_arrays(given)]) if type(found) is np.ndarray else found


def _noted(found: Any, sources: list[Any]) -> Any:
    if type(found) is not np.ndarray or not _can_be_held(found.dtype):
        return found
    return writable(found) if is_written_later(found, sources) else found


def _arrays(given: Any) -> Iterator[Any]:
    """The arrays in nested lists, tuples and dictionaries."""
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, list | tuple | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _arrays(each)


def _can_be_held(dtype: np.dtype[Any]) -> bool:
    return is_held(dtype) or dtype in PART_OF


class Elements:
    """What reads and writes the elements of a known array."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        if _is_traced(key) and _can_be_held(self._array.dtype):
            return writable(self._array)[key]
        return noted(self._array[key], (self._array,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if _can_be_held(self._array.dtype) and (holds_traced(value) or _is_traced(key)):
            raise not_made(self._array)
        self._array[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._array[key]


class ElementsInARow:
    """What reads and writes the elements of `x.flat`, of a known array."""

    def __init__(self, flat: Any) -> None:
        self._flat = flat

    def __getitem__(self, key: Any) -> Any:
        return Elements(self._flat.base.ravel())[key] if _is_traced(key) else self._flat[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if holds_traced(value) or _is_traced(key):
            raise not_made(self._flat.base)
        self._flat[key] = value


def elements_of(value: Any) -> Any:
    """What reads and writes elements of a known array, or of the iterator over it."""
    return ElementsInARow(value) if type(value) is np.flatiter else Elements(value)


def _is_traced(key: Any) -> bool:
    return any(map(holds_traced, key if isinstance(key, tuple) else (key,)))


def not_made(array: Any) -> TraceError:
    """The error for a write of a traced value to a known array.

    One that the function made can be written to when the function is run once more.
    """
    error = TraceError(
        "a traced value is written to an array of NumPy's, which holds known numbers",
        place=tracing.user_place(),
        cure="Write to a copy, made by table.copy(), and return it; what is kept from call to call is a ps.state.",
    )
    error.made_at = made_at(array)
    return error
