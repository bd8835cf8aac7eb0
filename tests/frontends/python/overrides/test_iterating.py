"""np.nditer and np.broadcast of traced arrays: read and written element by element."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([[0.7, 1.9, -0.4], [0.2, -1.1, 0.6]])


def read(x: Any) -> Any:
    total = 0.0
    with np.nditer(x) as elements:
        for element in elements:
            total = total * 0.5 + element * element
    return total


def written(x: Any) -> Any:
    y = x.copy()
    for element in np.nditer(y, op_flags=["readwrite"]):
        element[...] = element * element
    return y * x


def by_place(x: Any) -> Any:
    y = np.zeros(6)
    elements = np.nditer(x, flags=["multi_index"])
    for element in elements:
        row, column = elements.multi_index
        y[3 * row + column] = element * (row + 1)
    return y


def step_by_step(x: Any) -> Any:
    y = x * 1.0
    elements = np.nditer(y, flags=["c_index"], op_flags=["readwrite"])
    while not elements.finished:
        elements[0] = elements[0] * elements.index
        elements.iternext()
    return y


def of_two(x: Any) -> Any:
    y = np.zeros((2, 3))
    for a, b, c in np.nditer([x, x[0], y], op_flags=[["readonly"], ["readonly"], ["writeonly"]]):
        c[...] = a * b
    return y


def broadcast(x: Any) -> Any:
    both = np.broadcast(x, x[0])
    assert (both.shape, both.size, both.ndim, both.numiter) == ((2, 3), 6, 2, 2)
    return sum(a * b**2 for a, b in both) * np.ones(np.broadcast(x[:, :1], x[0]).shape)


@pytest.mark.parametrize(
    "function", [read, written, by_place, step_by_step, of_two, broadcast], ids=lambda f: f.__name__
)
def test_elements_are_read_and_written_as_by_numpy(function: Callable[[Any], Any]) -> None:
    check_grads(function, X, symbolic=False, order=1, value_tolerance=1e-12)


def test_chunks_of_elements_are_refused() -> None:
    def chunks(x: Any) -> Any:
        return sum(c.sum() for c in np.nditer(x, flags=["external_loop"]))

    with pytest.raises(ps.PrimsplitError, match="single elements") as caught:
        ps.trace(chunks, X)
    assert "np.nditer(x, flags" in str(caught.value)
