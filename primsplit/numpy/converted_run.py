"""Records whether this thread runs a converted function, in which functions have substitutes."""

import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Const
from primsplit.tracing.array import Array


class _Thread(threading.local):
    depth = 0
    traces_new = False
    written: frozenset[tracing.Instruction] = frozenset()

    def __init__(self) -> None:
        self.made: dict[int, tuple[weakref.ref[Any], tracing.Instruction]] = {}


_thread = _Thread()


def is_converted() -> bool:
    """Return whether this thread is recording a converted function."""
    return _thread.depth > 0 and tracing.is_recording()


def expects_writes() -> bool:
    """Return whether an earlier run failed: traced values may be written to arrays that the function makes."""
    return _thread.traces_new


@contextmanager
def running_converted(written: frozenset[tracing.Instruction], *, traces_new: bool = False) -> Iterator[None]:
    """Mark everything recorded inside as part of a converted function.

    `written` holds the instructions at which NumPy makes arrays of known numbers that traced values are written to
    later. With `traces_new` what makes arrays that people write to makes traced ones.
    """
    before = _thread.written, _thread.traces_new
    _thread.depth += 1
    _thread.written, _thread.traces_new = before[0] | written, before[1] or traces_new
    try:
        yield
    finally:
        _thread.depth -= 1
        _thread.written, _thread.traces_new = before
        if _thread.depth == 0:
            _thread.made.clear()


def is_written_later(made: npt.NDArray[Any], sources: Iterable[Any]) -> bool:
    """Return whether this is a new array that traced values are written to later; remember where any other was made.

    An array that shares memory with one of its sources is not new.
    """
    if not is_converted() or any(np.may_share_memory(made, s) for s in sources if isinstance(s, np.ndarray)):
        return False
    place = tracing.user_instruction()
    if place is None or place in _thread.written:
        return place is not None
    owner = _owner(made)
    _thread.made[id(owner)] = weakref.ref(owner), place
    return False


def made_at(array: Any) -> tracing.Instruction | None:
    """Return the instruction at which the converted function made this array's memory.

    None for memory that it did not make.
    """
    if not isinstance(array, np.ndarray):
        return None
    owner = _owner(array)
    known, place = _thread.made.get(id(owner), (None, None))
    return place if known is not None and known() is owner else None


def _owner(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@contextmanager
def running_plainly() -> Iterator[None]:
    """Use NumPy's own functions inside, also in a converted function."""
    depth, _thread.depth = _thread.depth, 0
    try:
        yield
    finally:
        _thread.depth = depth


def known_arrays(values: Any) -> list[Any] | None:
    """Return the elements of these Arrays in a converted function; None elsewhere, or where one is not known.

    Arrays that stand in for NumPy's own are known until something traced is written to them. What is computed of them
    alone is computed by NumPy, so that it may still be a Python index or the condition of a Python branch.
    """
    if not is_converted() or any(type(v) is Array and not isinstance(v.last_value, Const) for v in values):
        return None  # no number of a weight is read in vain
    found = [v.known() if isinstance(v, Array) else None for v in values]
    return None if any(f is None for f in found) else found
