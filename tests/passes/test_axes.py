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


def test_the_exported_file_counts_axes_from_the_front() -> None:
    program = ps.trace(lambda x: op.ReduceSum(x, [-1], keepdims=0), ps.spec("float32", ["N", 3]))
    (axes,) = (np.frombuffer(i.raw_data, np.int64) for i in program.to_onnx().graph.initializer)
    assert axes.tolist() == [1]
