"""float64 constants that are 0 or 1 in float32 count in onnxruntime."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

TINY = float(np.finfo(float).tiny)
X = np.array([0.0, 1.0, -2.5])

FAINT: list[tuple[str, Callable[[Any], Any]]] = [
    ("an added guard", lambda x: np.log(np.abs(np.sin(x)) + 1e-300)),
    ("a guard of an array of one element", lambda x: np.log(np.abs(np.sin(x)) + np.array([TINY]))),
    ("a subtracted guard", lambda x: np.sqrt(np.abs(np.sin(x * 0) - 1e-60))),
    ("a factor near 1", lambda x: np.exp(np.sin(x) * (1 + 1e-9))),
    ("a divisor near 1", lambda x: np.exp(np.sin(x) / (1 + 1e-9))),
    ("a numerator near 1", lambda x: np.sin(x) * ((1 + 1e-9) / np.exp(x))),
    ("a guard in a loop", lambda x: ps.fori_loop(0, 2, lambda i, v: np.log(np.sin(v * 0) + 1e-300), x)),
]


@pytest.mark.parametrize("function", [row[1] for row in FAINT], ids=[row[0] for row in FAINT])
def test_a_constant_that_float32_takes_for_neutral_counts(function: Callable[[Any], Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = function(X)
    np.testing.assert_allclose(ps.trace(function, X)(X), wanted, rtol=2e-15)


def test_parts_of_a_constant_that_float32_takes_for_neutral_count() -> None:
    """The cotangents of a running product of four numbers are pieces of the weights."""
    x, weights = np.array([1e-200, 1e200, 1e200, 1e-100]), np.array([1.0, 1e-100, 1e-300, 1e-200])
    found = ps.grad(lambda x: np.sum(np.cumprod(x) * weights))(x)
    np.testing.assert_allclose(found, [3e100, 3e-300, 2e-300, 1.0], rtol=1e-12)


@pytest.mark.parametrize("constant", [0.0, -0.0, 1.0])
def test_what_is_neutral_is_left_away(constant: float) -> None:
    made = ps.trace(lambda x: np.exp(np.sin(x) * 1.0 + constant), X)
    np.testing.assert_allclose(made(X), np.exp(np.sin(X) + constant), rtol=1e-15)
    assert "Sum" not in [node.op_type for node in made.to_onnx().graph.node]


NOTHING = np.zeros((1, 0))
EMPTY: list[tuple[str, Callable[[Any], Any]]] = [
    ("a factor", lambda x: x * NOTHING),
    ("a term before", lambda x: NOTHING + x),
    ("a subtracted term", lambda x: x - NOTHING),
    ("a divisor", lambda x: x / NOTHING),
    ("an integer", lambda x: x + NOTHING.astype(np.int64)),
]


@pytest.mark.parametrize("function", [row[1] for row in EMPTY], ids=[row[0] for row in EMPTY])
def test_a_constant_without_elements_is_not_neutral(function: Callable[[Any], Any]) -> None:
    """onnxruntime before 1.27 gave the other operand, or nothing, or did not load the file."""
    program = ps.trace(function, ps.spec("float64", ["N", "M"]))
    for shape in ((3, 1), (3, 0), (1, 1)):
        assert program(np.ones(shape)).shape == (shape[0], 0)
    assert {n.op_type for n in program.to_onnx().graph.node} & {"Add", "Sub", "Mul", "Div"} == set()
