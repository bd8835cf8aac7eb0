"""ONNX's operators in NumPy: onnxruntime's results, at the ends of ranges and for zero elements too."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing import evaluate

UNARY = {
    "Erf": [0.0, 0.5, -3.0], "Gelu": [0.0, 1.0, -2.0], "HardSwish": [-4.0, -1.0, 4.0], "Sigmoid": [-800.0, 0.0, 800.0],
    "Relu": [-1.0, 0.0, 2.0],
}  # fmt: skip


@pytest.mark.parametrize("kind", UNARY)
def test_an_activation_is_that_of_onnxruntime(kind: str) -> None:
    program = ps.trace(getattr(op, kind), ps.spec("float64", [3]))
    x = np.array(UNARY[kind])
    np.testing.assert_allclose(evaluate(program.block, [x])[0], program.session()(x)[0], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("starts", "ends", "step"), [(0, 9, 2), (-3, 100, 1), (100, -100, -1), (-2, 0, -2), (5, 2, 1), (-100, 2, -1)]
)
def test_a_slice_is_that_of_onnxruntime(starts: int, ends: int, step: int) -> None:
    program = ps.trace(lambda x: op.Slice(x, [starts], [ends], [0], [step]), ps.spec("float64", ["N"]))
    for size in (7, 1):
        x = np.arange(float(size))
        np.testing.assert_array_equal(evaluate(program.block, [x])[0], program.session()(x)[0])


@pytest.mark.parametrize("axis", [-1, 0])
def test_elements_are_gathered_along_a_negative_axis_too(axis: int) -> None:
    indices = np.array([[2], [0], [-1]]) if axis else np.array([[2, 0], [-1, 1]])
    program = ps.trace(lambda x: op.GatherElements(x, indices, axis=axis), ps.spec("float64", [3, 5]))
    x = np.arange(15.0).reshape(3, 5)
    np.testing.assert_array_equal(evaluate(program.block, [x])[0], program.session()(x)[0])


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_a_one_hot_row_of_a_place_that_is_not_there_is_empty(axis: int) -> None:
    places = np.array([[0, 2, 7], [-1, -4, 3]])
    program = ps.trace(lambda v: op.OneHot(places, np.int64(3), v, axis=axis), ps.spec("float64", [2]))
    wanted = np.moveaxis(np.array([np.eye(4, 3)[[0, 2, 3]], np.eye(4, 3)[[2, 3, 3]]]), -1, axis)
    for found in (evaluate(program.block, [np.array([0.0, 1.0])])[0], program(np.array([0.0, 1.0]))):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("x", "y"), [(7, 2), (-7, 2), (7, -2), (-7, -2)])
def test_integers_are_divided_towards_zero(x: int, y: int) -> None:
    program = ps.trace(op.Div, ps.spec("int64"), ps.spec("int64"))
    found = evaluate(program.block, [np.int64(x), np.int64(y)])[0]
    assert found == int(x / y)
    assert found == program.session()(np.int64(x), np.int64(y))[0]


def test_negative_pads_cut() -> None:
    program = ps.trace(lambda x: op.Pad(x, [-1, 2, 1, -1]), ps.spec("float64", [3, 2]))
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(evaluate(program.block, [x])[0], program.session()(x)[0])
