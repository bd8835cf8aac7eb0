"""NumPy arrays in a converted function: known arrays with traced indices, and arrays that may be written to.

NumPy needs the number of an index, and a known array holds no traced value. So `table[i]` with a traced index records
the table as a constant, and an array to which a traced value is written is traced from its creation on: the error of
the write tells the place of creation, and the function runs once more.

    table[i]        ->      Gather(table, i)
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Value, is_held
from primsplit.ir.errors import TraceError
from primsplit.numpy.complex.creation import constant
from primsplit.numpy.converted_run import is_written_later, made_at
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced, lift
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.views import View
from primsplit.tracing.trees import PART_OF


def writable(value: Any) -> Any:
    """Return a NumPy array as a traced array, which traced values can be written to; any other value unchanged."""
    return _traced(value, tracing.constant)


def _traced(value: Any, made: Callable[[Any], Value]) -> Any:
    """Return a NumPy array as a traced array of the constant that `made` returns; any other value unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype in PART_OF:
        return constant(value)
    if not is_held(value.dtype):
        return value
    array = Array(made(value))
    array.contiguous = value.flags.c_contiguous
    return array


def noted(result: Any, arguments: Any = ()) -> Any:
    """Return the result of a function, with new arrays traced if traced values are written to them later.

    The places that create other new arrays are noted.
    """
    return _with_noted(result, [*_arrays(arguments)]) if isinstance(result, _HOLDING) else result


_HOLDING = (np.ndarray, tuple, list, dict)


def _with_noted(result: Any, sources: list[Any]) -> Any:
    """Return a container with the arrays in it noted; a new one if an array of it is traced from now on."""
    if type(result) is dict:
        parts = [_with_noted(each, sources) for each in result.values()]
        return result if _are_same(parts, result.values()) else dict(zip(result, parts, strict=True))
    if type(result) is list or isinstance(result, tuple):
        parts = [_with_noted(each, sources) for each in result]
        make = getattr(type(result), "_make", type(result))  # a named tuple takes its parts one by one
        return result if _are_same(parts, result) else make(parts)
    return _noted(result, sources)


def _are_same(values: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(a is b for a, b in zip(values, others, strict=True))


def _noted(result: Any, sources: list[Any]) -> Any:
    if type(result) is not np.ndarray or not _can_be_held(result.dtype):
        return result
    return writable(result) if is_written_later(result, sources) else result


def _arrays(given: Any) -> Iterator[Any]:
    """Yield the arrays in nested lists, tuples and dictionaries."""
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, list | tuple | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _arrays(each)


def _can_be_held(dtype: np.dtype[Any]) -> bool:
    return is_held(dtype) or dtype in PART_OF


class _Plain(View):
    """A known array, or a part of its complex numbers, as a constant of the program.

    `row = table[i]` may be a view of the known array. A traced write to the row, and a read of it after the array
    itself was written to, raise the error that traces the array from its creation on.
    """

    __slots__ = ("_array", "_part")

    def __init__(self, table: Array, array: Any, part: Callable[[Any], Any]) -> None:
        super().__init__(Array(table.value), lambda base: base, self._refuse)
        self._array, self._part = array, part

    def _refuse(self, *_: Array) -> Any:
        raise not_made(self._array)

    def is_current(self) -> bool:
        """Return True; raise TraceError if the known array was written to since."""
        now = self._part(self._array)
        if not np.array_equal(self.base.value.numpy(), now, equal_nan=now.dtype.kind == "f"):
            self._refuse()
        return True


def _table(array: Any) -> Any:
    """Return a known array as a traced one of which a traced index takes a part; its place tells its variable."""
    table = _traced(array, lift)
    parts = zip(table.parts, (np.real, np.imag), strict=True) if isinstance(table, ComplexArray) else [(table, _all)]
    for each, part in parts:
        if each is not None:
            each.being(_Plain(each, array, part))
    return table


def _all(array: Any) -> Any:
    return array


class Elements:
    """Reads and writes the elements of a known array."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        if _is_traced(key) and _can_be_held(self._array.dtype):
            return _table(self._array)[key]
        return noted(self._array[key], (self._array,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if _can_be_held(self._array.dtype) and (holds_traced(value) or _is_traced(key)):
            raise not_made(self._array)
        self._array[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._array[key]


class ElementsInARow:
    """Reads and writes the elements of `x.flat`, of a known array."""

    def __init__(self, flat: Any) -> None:
        self._flat = flat

    def __getitem__(self, key: Any) -> Any:
        return Elements(self._flat.base.ravel())[key] if _is_traced(key) else self._flat[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if holds_traced(value) or _is_traced(key):
            raise not_made(self._flat.base)
        self._flat[key] = value


def elements_of(value: Any) -> Any:
    """Return an object that reads and writes the elements of a known array, or of its `flat` iterator."""
    return ElementsInARow(value) if type(value) is np.flatiter else Elements(value)


def _is_traced(key: Any) -> bool:
    return any(map(holds_traced, key if isinstance(key, tuple) else (key,)))


def not_made(array: Any) -> TraceError:
    """Return the error for a write of a traced value to a known array.

    If the function created the array, the error names the place, and the function runs once more with it traced.
    """
    error = TraceError(
        "a traced value is written to an array of NumPy's, which holds known numbers",
        place=tracing.user_place(),
        cure="Write to a copy, made by table.copy(), and return it; what is kept from call to call is a ps.state.",
    )
    error.made_at = made_at(array)
    return error
