"""Tests whether a condition is known only at run time, in a function that is run with joins."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primsplit.tracing.array import Array


class _Joining(threading.local):
    """Whether this thread runs a function with joins."""

    depth = 0


_joining = _Joining()


@contextmanager
def joining() -> Iterator[None]:
    """Inside, this thread runs a function with joins."""
    _joining.depth += 1
    try:
        yield
    finally:
        _joining.depth -= 1


def is_unknown(test: Any) -> bool:
    """True for a condition that only the run knows, in a function that is run with joins."""
    return _joining.depth > 0 and type(test) is Array and test.known() is None
