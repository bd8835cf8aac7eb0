"""Tests whether a condition is known only at run time, in a function that is run with joins."""

from contextlib import AbstractContextManager
from typing import Any

from primsplit.ir.scoped import Scoped
from primsplit.tracing.array import Array

_joins = Scoped(bool)
"""Whether this thread runs a function with joins."""


def joining() -> AbstractContextManager[object]:
    """Return a context manager inside of which this thread runs a function with joins."""
    return _joins.set_to(True)


def is_unknown(test: Any) -> bool:
    """Whether a condition is known only at run time, in a function that is run with joins."""
    return _joins.value and type(test) is Array and test.known() is None
