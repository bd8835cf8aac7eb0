"""Tests whether a condition is known only at run time, in a function that is run with joins."""

from contextlib import AbstractContextManager
from typing import Any

from primsplit.ir.scoped import Scoped
from primsplit.tracing.array import Array

_joins = Scoped[bool | None](lambda: None)
"""Whether this thread runs a function with joins of values of one type alone; None without joins."""


def joining(*, of_one_type: bool) -> AbstractContextManager[object]:
    """Return a context manager inside of which this thread runs a function with joins.

    With `of_one_type` only branches are joined whose sides give each name values of one type.
    """
    return _joins.set_to(of_one_type)


def joins_one_type() -> bool:
    """Whether this thread joins only branches whose sides give each name values of one type."""
    return _joins.value is True


def is_unknown(test: Any) -> bool:
    """Whether a condition is known only at run time, in a function that is run with joins."""
    return _joins.value is not None and type(test) is Array and test.truth() is None
