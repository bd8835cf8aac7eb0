"""A product over no elements is zero, whatever memory held before."""

import numpy as np
import pytest

import primsplit as ps

F = "float64"


@pytest.mark.parametrize(
    ("function", "specs", "shapes", "expected"),
    [
        (lambda a, v: a @ v, (["M", "K"], ["K"]), ((5, 0), (0,)), (5,)),
        (lambda a, v: a @ v, (["B", "M", "K"], ["K"]), ((2, 5, 0), (0,)), (2, 5)),
        (lambda a, b: a.swapaxes(1, 2) @ b, (["B", "K", "M"], ["B", "K", "N"]), ((2, 0, 3), (2, 0, 4)), (2, 3, 4)),
        (lambda a, b: a @ b.swapaxes(1, 2), (["B", "M", "K"], ["B", "N", "K"]), ((2, 3, 0), (2, 4, 0)), (2, 3, 4)),
        (lambda a, b: a.T @ b, (["K", "M"], ["K", "N"]), ((0, 3), (0, 4)), (3, 4)),
        (lambda a, b: a @ b, (["M", "K"], ["K", 1]), ((3, 0), (0, 1)), (3, 1)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_product_over_nothing_is_zero(function, specs, shapes, expected, dtype) -> None:
    def f(a, b, junk):
        # The buffers of `junk` are what the product's memory held before.
        filled = np.exp(junk) + np.exp(junk + 1.0)
        return function(a + filled.min(), b + filled.min()) + 0.0 * filled.min()

    program = ps.trace(f, *(ps.spec(dtype, s) for s in specs), ps.spec(dtype, expected))
    arrays = [np.ones(s, dtype) for s in shapes]
    for _ in range(5):
        np.testing.assert_array_equal(program(*arrays, np.zeros(expected, dtype)), np.zeros(expected, dtype))


def test_a_size_that_is_known_costs_nothing() -> None:
    program = ps.trace(lambda a, v: a @ v, ps.spec(F, ["M", 3]), ps.spec(F, [3]))
    assert "Where" not in {n.op_type for n in program.to_onnx().graph.node}
