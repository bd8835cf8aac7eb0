"""NumPy's arrays in a function that is run again: tables, which traced numbers index, and what may be written to."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.errors import TraceError
from primsplit.ir import is_held
from primsplit.lifting import as_array, holds_traced
from primsplit.numpy.complex.creation import constant
from primsplit.numpy.complex.handle import PART_OF
from primsplit.numpy.second_run import is_again


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
    return value.view(Table) if type(value) is np.ndarray and is_held(value.dtype) else value


def tabled_results(found: Any) -> Any:
    """What a function of NumPy's gave, with its arrays as Tables."""
    return type(found)(map(tabled, found)) if type(found) in {tuple, list} else tabled(found)


class Table(np.ndarray[Any, Any]):
    """A NumPy array that traced numbers can index, and whose copies can be written to.

    It shares its memory with the array that it stands in for. What NumPy computes of tables is a table, whose elements
    are NumPy's own numbers: they count, and are keys of dictionaries.
    """

    def __getitem__(self, key: Any) -> Any:
        if is_again() and any(map(holds_traced, key if isinstance(key, tuple) else (key,))):
            return as_array(self.view(np.ndarray))[key]
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_again() and any(map(holds_traced, (value, *(key if isinstance(key, tuple) else (key,))))):
            raise _not_made()
        super().__setitem__(key, value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.get("out", ())
        if any(map(holds_traced, inputs)):
            if method == "at" or any(isinstance(v, Table) for v in out):
                raise _not_made()
            return NotImplemented
        if out:
            options["out"] = tuple(map(_plain, out))
        found = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return _given_back(found, out) if out else tabled_results(found)

    def copy(self, order: Any = "C") -> Any:
        """A copy, which traced values can be written to."""
        found = self.view(np.ndarray).copy(order)
        return writable(found) if is_again() else found

    def astype(self, *args: Any, **options: Any) -> Any:
        """A copy in another dtype, which traced values can be written to."""
        found = self.view(np.ndarray).astype(*args, **options)
        return writable(found) if is_again() else found


def _not_made() -> TraceError:
    return TraceError(
        "a traced value is written to an array of NumPy's, which holds known numbers",
        place=tracing.user_place(),
        cure="Write to a copy, made by table.copy(), and return it; what is kept from call to call is a ps.state.",
    )


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Table) else value


def _given_back(found: Any, out: Sequence[Any]) -> Any:
    """The arrays given as `out`, in place of the views of them that were written to."""
    if not isinstance(found, tuple):
        return found if out[0] is None else out[0]
    return tuple(f if given is None else given for f, given in zip(found, out, strict=True))
