"""Records whether this thread runs a converted function, in which functions have substitutes."""

import weakref
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Const
from primsplit.ir.scoped import Scoped
from primsplit.ir.values import owner_of
from primsplit.tracing.array import Array


class _Run(NamedTuple):
    """A run of a converted function, or of no such function."""

    is_converted: bool
    written: frozenset[tracing.Instruction]
    traces_new: bool
    made: dict[int, tuple[weakref.ref[Any], tracing.Instruction]]
    """The instructions that created the memory of each array in the function, by the array's `id`."""


_run = Scoped(lambda: _Run(is_converted=False, written=frozenset(), traces_new=False, made={}))


def is_converted() -> bool:
    """Return whether this thread is recording a converted function."""
    return _run.value.is_converted and tracing.is_recording()


def expects_writes() -> bool:
    """Return whether an earlier run failed: traced values may be written to arrays that the function makes."""
    return _run.value.traces_new


def running_converted(
    written: frozenset[tracing.Instruction], *, traces_new: bool = False
) -> AbstractContextManager[object]:
    """Mark everything recorded inside as part of a converted function.

    `written` holds the instructions at which NumPy makes arrays of known numbers that traced values are written to
    later. With `traces_new` what makes arrays that people write to makes traced ones.
    """
    around = _run.value
    made = around.made if around.is_converted else {}
    return _run.set_to(_Run(True, around.written | written, around.traces_new or traces_new, made))


def is_written_later(made: npt.NDArray[Any], sources: Iterable[Any]) -> bool:
    """Return whether this is a new array that traced values are written to later; remember where any other was made.

    An array that shares memory with one of its sources is not new.
    """
    if not is_converted() or any(np.may_share_memory(made, s) for s in sources if isinstance(s, np.ndarray)):
        return False
    place = tracing.user_instruction()
    if place is None or place in _run.value.written:
        return place is not None
    owner = owner_of(made)
    _run.value.made[id(owner)] = weakref.ref(owner), place
    return False


def made_at(array: Any) -> tracing.Instruction | None:
    """Return the instruction at which the converted function made this array's memory.

    None for memory that it did not make.
    """
    if not isinstance(array, np.ndarray):
        return None
    owner = owner_of(array)
    known, place = _run.value.made.get(id(owner), (None, None))
    return place if known is not None and known() is owner else None


def running_plainly() -> AbstractContextManager[object]:
    """Use NumPy's own functions inside, also in a converted function."""
    return _run.set_to(_run.value._replace(is_converted=False))


def known_arrays(values: Any) -> list[Any] | None:
    """Return the elements of these Arrays in a converted function; None elsewhere, or where one is not known.

    Arrays that stand in for NumPy's own are known until something traced is written to them. What is computed of them
    alone is computed by NumPy, so that it may still be a Python index or the condition of a Python branch.
    """
    if not is_converted() or any(type(v) is Array and not isinstance(v.last_value, Const) for v in values):
        return None  # no number of a weight is read in vain
    found = [v.known() if isinstance(v, Array) else None for v in values]
    return None if any(f is None for f in found) else found
