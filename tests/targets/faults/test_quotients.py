"""A product with a reciprocal is a quotient, so that onnxruntime has none to make and loses no reader by it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing import check_grads

X, Y = np.array([0.7, -1.3, 2.1]), np.array([1.9, 0.4, -0.8])


def logistic(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


PRODUCTS: list[tuple[str, int, Callable[[Any, Any], Any]]] = [
    ("of two reciprocals, one read twice", 2, lambda x, y: (1 / x) * (1 / y) + (1 / x) * 3.0),
    ("of one reciprocal", 1, lambda x, y: (1 / x) * y),
    ("of a reciprocal and itself", 1, lambda x, y: (1 / x) * (1 / x) + y),
    ("of a reciprocal that is a result too", 1, lambda x, y: (1 / x, (1 / x) * y)),
    ("in a loop", 2, lambda x, y: ps.fori_loop(0, 2, lambda i, v: (1 / x) * (1 / v) + (1 / x) * y, y)),
]


@pytest.mark.parametrize(("count", "function"), [row[1:] for row in PRODUCTS], ids=[row[0] for row in PRODUCTS])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_product_with_a_reciprocal_loads_and_is_right(
    dtype: str, count: int, function: Callable[[Any, Any], Any]
) -> None:
    made = ps.trace(function, ps.spec(dtype, ["N"]), ps.spec(dtype, ["N"]))
    graph = made.to_onnx().graph
    nodes = [*graph.node, *(n for step in graph.node for a in step.attribute for n in a.g.node)]
    assert [node.op_type for node in nodes].count("Div") == count
    for size in (3, 1, 0):
        x, y = X[:size].astype(dtype), Y[:size].astype(dtype)
        found, wanted = made(x, y), function(x, y)
        for value, told in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
            np.testing.assert_allclose(value, told, rtol=1e-14 if dtype == "float64" else 1e-6)


def test_gates_that_are_multiplied_with_each_other_have_gradients() -> None:
    """The gates of a recurrent network, written out, of which the first step's state is a constant."""

    def gated(x: Any, y: Any) -> Any:
        state = np.zeros(3)
        for _ in range(2):
            state = logistic(x + 1) * state + logistic(y) * np.tanh(x)
            x, y = state * y, logistic(y) * state
        return np.sum(x * y)

    check_grads(gated, X, Y)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_whole_numbers_have_no_reciprocal(dtype: str) -> None:
    numbers = np.array([1, 2, 3, 5], dtype)
    product = ps.trace(lambda x: op.Div(x.dtype.type(1), x) * (x * x.dtype.type(4) + x.dtype.type(1)), numbers)
    np.testing.assert_array_equal(product(numbers), [5, 0, 0, 0])
