"""A function like another one differs in what is asked for alone."""

import types
from typing import Any

from primsplit.frontends.python.functions import function_like


def original(x: float, factor: float = 2.0, *, shift: float = 1.0) -> float:
    """Scale and shift."""
    return x * factor + shift


original.note = "kept"  # type: ignore[attr-defined]


def other(x: float, factor: float = 0.0, *, shift: float = 0.0) -> float:
    return x - factor - shift


def test_defaults_names_and_attributes_are_those_of_the_function() -> None:
    made: Any = function_like(original, code=other.__code__)
    assert made(10.0) == 10.0 - 2.0 - 1.0
    assert (made.__name__, made.__doc__, made.__module__) == ("original", "Scale and shift.", __name__)
    assert made.__dict__ is original.__dict__
    assert made.__annotations__ == original.__annotations__


def test_global_names_and_cells_may_be_others() -> None:
    def outer(inner: float) -> Any:
        return lambda: inner + scale  # type: ignore[name-defined]  # noqa: F821

    made = function_like(outer(1.0), names={"scale": 3.0}, cells=[types.CellType(4.0)])
    assert made() == 7.0
