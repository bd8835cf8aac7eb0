"""NumPy's `order=`: which names there are, and where it depends on memory that a program does not know."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError
from primsplit.numpy.memory_order import order_name, reading_order
from tests.recording import record

X = np.arange(6.0).reshape(2, 3)


def test_an_order_has_numpys_names() -> None:
    assert [order_name(o) for o in (None, "c", "F", "a", "K")] == ["C", "C", "F", "A", "K"]
    with pytest.raises(ValueError, match="order must be one of 'C', 'F', 'A', or 'K'"):
        order_name("X")


def test_elements_are_read_as_they_are_asked_for() -> None:
    def program(x: Any) -> Any:
        own, row = x.copy(), x[0]
        assert [reading_order(o, own) for o in ("C", "F", "A", "K")] == ["C", "F", "C", "C"]
        assert reading_order("K", row) == "C"
        for order in ("A", "K"):
            with pytest.raises(TraceError, match="reads elements as they lie in memory"):
                reading_order(order, x + 1.0)
        return x

    record(program, "float64[2,3]")


CASES: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda x: x.ravel(order="F"),
    "flatten": lambda x: np.transpose(x).flatten("F"),
    "reshape": lambda x: np.reshape(x, (3, 2), order="F"),
    "a copy": lambda x: x.copy(order="K").ravel(order="C"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_elements_are_in_numpys_order(name: str) -> None:
    np.testing.assert_array_equal(ps.trace(CASES[name], X)(X), CASES[name](X))
