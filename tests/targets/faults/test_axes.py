"""Reductions of empty arrays, whose negative axes onnxruntime counts wrongly."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceProd"]


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_an_empty_array_is_reduced_to_the_right_shape_along_negative_axes(kind: str) -> None:
    def reduced(x: Any) -> Any:
        return getattr(op, kind)(x, [0, -1], keepdims=0)

    program = ps.trace(reduced, ps.spec("float64", ["A", "B", "C"]))
    assert program(np.ones((0, 4, 3))).shape == (4,)
    assert program(np.ones((2, 0, 0))).shape == (0,)
    assert program(np.ones((2, 4, 3))).shape == (4,)


@pytest.mark.parametrize("kind", ["ArgMax", "ArgMin"])
def test_the_places_of_extrema_among_none_have_the_right_shape(kind: str) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x, axis=-2, keepdims=0), ps.spec("float64", ["A", "B", "C"]))
    for shape in ((0, 4, 3), (2, 4, 0), (2, 4, 3)):
        assert program(np.ones(shape)).shape == (shape[0], shape[2])


def test_the_exported_file_counts_axes_from_the_front() -> None:
    program = ps.trace(lambda x: op.ReduceSum(x, [-1], keepdims=0), ps.spec("float32", ["N", 3]))
    (axes,) = (np.frombuffer(i.raw_data, np.int64) for i in program.to_onnx().graph.initializer)
    assert axes.tolist() == [1]


@pytest.mark.parametrize("axes", [[1], [-1, 0]])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_transpose_is_not_moved_past_a_pad_of_some_axes(axes: list[int], is_given: bool) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    amounts = np.array([1] * len(axes) + [2] * len(axes))
    wanted = np.pad(
        x.transpose(2, 0, 1), [(1, 2) if a in {b % 3 for b in axes} else (0, 0) for a in range(3)], constant_values=7.0
    )

    def padded(x: Any, pads: Any) -> Any:
        return op.Pad(np.transpose(x, (2, 0, 1)), pads if is_given else amounts, np.float64(7), np.array(axes))

    sizes = ps.spec("float64", ["A", "B", "C"]), ps.spec("int64", [2 * len(axes)])
    np.testing.assert_array_equal(ps.trace(padded, *sizes)(x, amounts), wanted)
    made = ps.split(lambda x: np.sum(wanted * padded(x, amounts) ** 2), sizes[0])
    gradient = made.joint()(x)[1]
    np.testing.assert_allclose(gradient, (2 * x.transpose(2, 0, 1) ** 2).transpose(1, 2, 0))
