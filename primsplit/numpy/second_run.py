"""Whether this thread runs a function again, with other meanings of NumPy's names: see `primsplit.substitutes`."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primsplit import tracing
from primsplit.array import Array


class _Thread(threading.local):
    depth = 0


_thread = _Thread()


def is_again() -> bool:
    """True while this thread records a function that is run again."""
    return _thread.depth > 0 and tracing.is_recording()


@contextmanager
def running_again() -> Iterator[None]:
    """What is recorded inside belongs to a function that is run again."""
    _thread.depth += 1
    try:
        yield
    finally:
        _thread.depth -= 1


@contextmanager
def running_plainly() -> Iterator[None]:
    """What runs inside means NumPy's own functions, also in a function that is run again."""
    depth, _thread.depth = _thread.depth, 0
    try:
        yield
    finally:
        _thread.depth = depth


def known_arrays(values: Any) -> list[Any] | None:
    """The elements of these Arrays in a function that is run again; None elsewhere, or where one is not known.

    Arrays that stand in for NumPy's own are known until something traced is written to them. What is computed of them
    alone is computed by NumPy, so that it may still be a Python index or the condition of a Python branch.
    """
    if not is_again():
        return None
    found = [v.known() if isinstance(v, Array) else None for v in values]
    return None if any(f is None for f in found) else found
