"""NumPy arrays in a function that is run again: tables with traced indices, and arrays that may be written to."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import is_held
from primsplit.ir.errors import TraceError
from primsplit.numpy.complex.creation import constant
from primsplit.numpy.second_run import is_again, is_written_later, made_at
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


def tabled(value: Any) -> Any:
    """A NumPy array as a Table; anything else as it is."""
    return value.view(Table) if type(value) is np.ndarray and _can_be_held(value.dtype) else value


def tabled_results(found: Any, given: Any = ()) -> Any:
    """What a function of NumPy's made of what it was given, with its arrays as Tables."""
    sources = [*_arrays(given)]
    if type(found) in {tuple, list}:
        return type(found)(_made(f, sources) for f in found)
    return _made(found, sources)


def _made(found: Any, sources: Sequence[Any]) -> Any:
    if not is_again():
        return _plain(found)
    if not isinstance(found, np.ndarray) or not _can_be_held(found.dtype):
        return found
    return writable(_plain(found)) if is_written_later(found, sources) else tabled(found)


def _arrays(given: Any) -> Iterator[Any]:
    """The arrays in nested lists, tuples and dictionaries."""
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, list | tuple | dict):
        for each in given.values() if isinstance(given, dict) else given:
            yield from _arrays(each)


def _can_be_held(dtype: np.dtype[Any]) -> bool:
    return is_held(dtype) or dtype in PART_OF


class Table(np.ndarray[Any, Any]):
    """A NumPy array that traced numbers can index, and whose copies can be written to.

    It shares its memory with the array that it stands in for. What NumPy computes of tables is a table, whose elements
    are NumPy's own numbers: they count, and are keys of dictionaries. In a thread that runs no function again, which
    may read a name that holds a table meanwhile, NumPy computes plain arrays of it; a pickle of it is one, too.
    """

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _plain(self).__reduce_ex__(protocol)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, options: Any) -> Any:
        found = super().__array_function__(function, types, args, options)
        return found if is_again() else _plain_within(found)

    def __getitem__(self, key: Any) -> Any:
        if is_again() and any(map(holds_traced, key if isinstance(key, tuple) else (key,))):
            return writable(_plain(self))[key]
        return _made(super().__getitem__(key), (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_again() and any(map(holds_traced, (value, *(key if isinstance(key, tuple) else (key,))))):
            raise _not_made(self)
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", ())
        if any(map(holds_traced, inputs)):
            for target in inputs[:1] if method == "at" else out:
                if isinstance(target, Table):
                    raise _not_made(target)
            return NotImplemented
        if out:
            options["out"] = tuple(map(_plain, out))
        if "where" in options:
            options["where"] = _plain(options["where"])
        found = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return _given_back(found, out) if out else tabled_results(found, inputs)

    @property
    def flat(self) -> Any:
        """The elements in a row."""
        return _Elements(self)

    @flat.setter
    def flat(self, new: Any) -> None:
        self[...] = np.reshape(new, self.shape) if np.size(new) == self.size else np.resize(new, self.shape)

    def fill(self, value: Any) -> None:
        """As in NumPy."""
        self[...] = value

    def copy(self, order: Any = "C") -> Any:
        """A copy, which traced values can be written to."""
        found = self.view(np.ndarray).copy(order)
        return writable(found) if is_again() else found

    def astype(self, *args: Any, **options: Any) -> Any:
        """A copy in another dtype, which traced values can be written to; the table itself where NumPy makes none."""
        plain = self.view(np.ndarray)
        found = plain.astype(*args, **options)
        if found is plain:
            return self
        return writable(found) if is_again() else found


def _method(name: str) -> Callable[..., Any]:
    original = getattr(np.ndarray, name)

    def call(self: Table, *args: Any, **options: Any) -> Any:
        if is_again() and holds_traced([*args, *options.values()]):
            return getattr(writable(_plain(self)), name)(*args, **options)
        found = original(self, *args, **options)
        return found if options.get("out") is not None else tabled_results(found, self)

    return functools.wraps(original)(call)


def _showing(name: str) -> Callable[..., Any]:
    original = getattr(np.ndarray, name)

    def call(self: Table, *args: Any, **options: Any) -> Any:
        return original(self if is_again() else _plain(self), *args, **options)

    return functools.wraps(original)(call)


_MAKING = (
    "all", "any", "argmax", "argmin", "argsort", "choose", "clip", "compress", "conj", "conjugate", "cumprod", "cumsum",
    "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "reshape", "round", "searchsorted",
    "std", "sum", "take", "trace", "var",
)  # fmt: skip
"""The methods that may make a new array."""
_SHOWING = ("diagonal", "squeeze", "swapaxes", "transpose")
"""The methods that show the same elements otherwise."""
for _name in _SHOWING:
    setattr(Table, _name, _showing(_name))
for _name in _MAKING:
    setattr(Table, _name, _method(_name))


class _Elements:
    """`x.flat` of a Table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.own = _plain(table).flat

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def __len__(self) -> int:
        return len(self.own)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.own)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.own, dtype)

    def __getitem__(self, key: Any) -> Any:
        return self.table.ravel()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_again() and holds_traced([key, value]):
            raise _not_made(self.table)
        self.own[key] = value


def _not_made(table: Table) -> TraceError:
    """The error for a write to a table: to one that the function made, it can be written when it is run once more."""
    error = TraceError(
        "a traced value is written to an array of NumPy's, which holds known numbers",
        place=tracing.user_place(),
        cure="Write to a copy, made by table.copy(), and return it; what is kept from call to call is a ps.state.",
    )
    error.made_at = made_at(table)
    return error


def _plain_within(found: Any) -> Any:
    """What a function of NumPy's gives, with plain arrays for tables."""
    return type(found)(map(_plain, found)) if type(found) in {tuple, list} else _plain(found)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Table) else value


def _given_back(found: Any, out: Sequence[Any]) -> Any:
    """The arrays given as `out`, in place of the views of them that were written to."""
    if not isinstance(found, tuple):
        return found if out[0] is None else out[0]
    return tuple(f if given is None else given for f, given in zip(found, out, strict=True))
