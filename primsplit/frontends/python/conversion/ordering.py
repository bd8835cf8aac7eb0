"""Replaces Python's functions that compare arguments, such as `min` and `sorted`, by forms without branches."""

from typing import Any

from primsplit.frontends.python.overrides.builtin import BUILTINS
from primsplit.frontends.python.overrides.table import Substitute

ORDERING = frozenset({"min", "max", "sorted", "all", "any"})
"""The names of these functions."""


def ordering(function: Any) -> Any:
    """Return the form without branches of a function that compares arguments; other functions unchanged."""
    original = getattr(function, "original", function)
    served = (BUILTINS[name] for name in ORDERING)
    return next((Substitute(each.traced, each.traced) for each in served if each.original is original), function)
