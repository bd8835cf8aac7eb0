"""`op.Add(x, 2)`: what stands for an input, and attributes as ONNX holds them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Const, Type
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to
from tests.recording import kinds, record


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64"])
def test_a_number_takes_the_dtype_of_the_other_input(dtype: str) -> None:
    for function in (lambda x: op.Add(x, 2), lambda x: op.Sub(2, x), lambda x: op.Max(x, 1, 2)):
        block = record(function, f"{dtype}[3]")
        constants = [v for v in block.ops[0].inputs if isinstance(v, Const)]
        assert {c.type for c in constants} == {Type(dtype, [])}
        assert block.results[0].type == Type(dtype, [3])


def test_a_number_without_another_input_is_pythons_or_a_size() -> None:
    assert record(lambda: op.Neg(2.0)).ops[0].inputs[0].type == Type("float64", [])
    block = record(lambda x: op.Gather(x, 1), "float32[3]")
    assert block.ops[0].inputs[1].type == Type("int64", [])


def test_an_input_that_is_none_is_left_out_also_at_the_end() -> None:
    block = record(lambda x: (op.Clip(x, None, 1.0), op.Clip(x, 0.0, None), op.Clip(x, None, None)), "float32[3]")
    assert [[v is None for v in step.inputs] for step in block.ops] == [[False, True, False], [False, False], [False]]


def test_attributes_are_held_as_onnx_holds_them() -> None:
    block = record(
        lambda x: (
            op.Cast(x, to=np.float64), op.Transpose(x, perm=(1, 0)), op.ReduceSum(x, [0], keepdims=False),
            op.Gelu(x, approximate=b"tanh"), op.Softmax(x, axis=np.int64(0)), op.Clip(x, None, None, foo=None),
        ),
        "float32[2,3]",
    )  # fmt: skip
    told = [dict(step.attributes) for step in block.ops]
    assert told == [{"to": 11}, {"perm": [1, 0]}, {"keepdims": 0}, {"approximate": "tanh"}, {"axis": 0}, {}]
    assert all(type(v) in (int, list, str) for each in told for v in each.values())


def test_an_operator_of_several_outputs_returns_them_all_or_those_that_are_asked_for() -> None:
    def program(x: Any) -> Any:
        assert len(op.TopK(x, [1])) == 2
        assert isinstance(op.MaxPool(x, kernel_shape=[1]), Array)
        assert len(op.MaxPool(x, kernel_shape=[1], outputs=2)) == 2
        assert len(op.Split(x, num_outputs=2, axis=2)) == 2
        assert len(op.Split(x, [1, 2, 1], axis=2)) == 3
        assert isinstance(op.Split(x, num_outputs=1, axis=2), tuple)
        return x

    record(program, "float32[1,1,4]")


def test_a_dtype_that_an_operator_does_not_take_goes_through_float32_and_is_rounded_once() -> None:
    x = np.array([0.5, 1.25, -3.0]).astype(ml_dtypes.bfloat16)
    program = ps.trace(lambda x: op.Sinh(x), x)
    assert program.types[0] == Type(ml_dtypes.bfloat16, [3])
    wanted = np.sinh(x.astype(np.float32)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(program(x).astype(float), wanted.astype(float))
    eight = np.array([0.5, 1.75]).astype(ml_dtypes.float8_e4m3fn)
    block = record(lambda x: op.Concat(x, x, axis=0), "float8_e4m3fn[2]")
    assert block.results[0].type == Type(ml_dtypes.float8_e4m3fn, [4])
    found = ps.trace(lambda x: op.Concat(x, x, axis=0), eight)(eight)
    np.testing.assert_array_equal(found.astype(float), [0.5, 1.75, 0.5, 1.75])


def test_a_cast_to_the_own_dtype_records_nothing() -> None:
    def program(x: Any) -> Any:
        assert cast_to(x, "float32") is x
        return cast_to(x, np.int8)

    assert kinds(record(program, "float32[3]")) == ["Cast"]
