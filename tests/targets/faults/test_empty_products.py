"""A product over no elements is zero, whatever memory held before."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
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


@pytest.mark.parametrize(
    ("function", "specs", "dtype", "costs"),
    [
        (lambda a, b: a @ b, (["M", "K"], ["K", "N"]), "float32", False),
        (lambda a, b: a.T @ b, (["K", "M"], ["K", "N"]), "float32", False),
        (lambda a, b: a.T @ b, (["K", "M"], ["K", "N"]), "float16", False),
        (lambda a, b: a @ b.T, (["M", "K"], ["N", "K"]), "int64", False),
        (lambda a, b: a @ b, (["B", "M", "K"], ["B", "K", "N"]), "float32", False),
        (lambda a, b: a.swapaxes(1, 2) @ b, (["B", "K", "M"], ["B", "K", "N"]), "float32", True),
        (lambda a, b: a.swapaxes(1, 2) @ b, (["B", "K", "M"], ["B", "K", "K"]), "float32", False),
        (lambda a, v: a @ v, (["M", "K"], ["K"]), "float32", True),
    ],
)
def test_products_that_onnxruntime_writes_cost_nothing(function, specs, dtype, costs) -> None:
    """A vector and a stack that is turned need a choice of zeros; two matrices, other stacks, empty results do not."""
    program = ps.trace(function, *(ps.spec(dtype, s) for s in specs))
    assert any(n.op_type in {"Where", "If"} for n in program.to_onnx().graph.node) == costs


REPEATING = [
    ((3, "K"), ("N", "K", 4)),
    (("N", 3, "K"), (1, "K", 4)),
    (("N", 1, 3, "K"), (5, "K", 4)),
    (("N", 3, "K"), ("M", 1, "K", 4)),
    (("K",), ("N", "K", 4)),
    (("N", 3, "K"), ("K", 4)),
]
TURNS = {"none": (False, False), "left": (True, False), "right": (False, True)}
CASES = [(a, b, turned) for a, b in REPEATING for turned in TURNS if turned != "left" or len(a) > 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("left", "right", "turned"), CASES)
def test_a_stack_is_repeated_for_any_number_of_matrices(left, right, turned, dtype) -> None:
    """onnxruntime refuses none, and leaves memory as it was where the sum is over nothing."""
    is_left, is_right = TURNS[turned]

    def flipped(value, is_turned):
        return np.swapaxes(value, -1, -2) if is_turned else value

    def f(a, b):
        return np.sum(np.sin(flipped(a, is_left) @ flipped(b, is_right)))

    specs = [(*s[:-2], s[-1], s[-2]) if t else s for s, t in ((left, is_left), (right, is_right))]
    joint = ps.split(f, *(ps.spec(dtype, s) for s in specs)).joint()
    random = np.random.default_rng(0)
    for n, m, k in itertools.product((0, 1, 2), repeat=3):
        sizes = {"N": n, "M": m, "K": k}
        a, b = (random.standard_normal([sizes.get(d, d) for d in s]) for s in specs)
        u, v = (random.standard_normal(x.shape) for x in (a, b))
        value, d_a, d_b = joint(a.astype(dtype), b.astype(dtype))
        close = {"rtol": 1e-7, "atol": 1e-7} if dtype == F else {"rtol": 1e-3, "atol": 1e-3}
        np.testing.assert_allclose(value, f(a, b), **close)
        slope = (f(a + 1e-6 * u, b + 1e-6 * v) - f(a - 1e-6 * u, b - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(np.sum(d_a * u) + np.sum(d_b * v), slope, **close)


@pytest.mark.parametrize("axes", [(1, 0, 2), (1, 2, 0)])
@pytest.mark.parametrize("side", [0, 1])
def test_the_first_axis_may_move_into_the_matrices(side, axes) -> None:
    """onnxruntime fuses such a Transpose of float32 with the product, and ends the process where an axis is empty."""

    def f(*arrays):
        a, b = (x.transpose(axes) if i == side else x for i, x in enumerate(arrays))
        return np.sum(np.sin(a @ b))

    shapes = [("N", "M", "K"), ("N", "K", 4)]
    shapes[side] = tuple(shapes[side][axes.index(i)] for i in range(3))
    joint = ps.split(f, *(ps.spec("float32", s) for s in shapes)).joint()
    for n, m, k in itertools.product((0, 2), repeat=3):
        arrays = [np.ones([{"N": n, "M": m, "K": k}.get(d, d) for d in s], np.float32) for s in shapes]
        value, *gradients = joint(*arrays)
        np.testing.assert_allclose(value, n * m * 4 * np.sin(k), rtol=1e-5)
        for array, gradient in zip(arrays, gradients, strict=True):
            np.testing.assert_allclose(np.sum(gradient), n * m * 4 * k * np.cos(k), rtol=1e-5)
            assert gradient.shape == array.shape


BACKWARDS = """<ir_version: 10, opset_import: ["" : 21]>
agraph (float[K,M] a, float[N,K,4] b) => (float[N,M,4] y) { t = Transpose (a)  y = MatMul (t, b) }
"""


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_transpose_that_does_not_say_its_order_is_taken_in(number, tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(BACKWARDS), tmp_path / "backwards.onnx")
    program = ps.load(str(tmp_path / "backwards.onnx"))
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((number, 2, 4), np.float32)
    np.testing.assert_array_equal(program(a, b), a.T @ b)


def test_a_stack_that_is_surely_there_is_repeated_without_a_look() -> None:
    program = ps.trace(lambda a, b: a @ b, ps.spec(F, [3, 4]), ps.spec(F, [5, 4, 2]))
    assert "If" not in {n.op_type for n in program.to_onnx().graph.node}
