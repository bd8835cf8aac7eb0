"""onnx's own inference is asked by types alone: symbols come back, later dtypes go through others, faults are told."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Const, Type, Value, Var
from primsplit.ir.dims import Size, symbol
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference.standard import check_by_standard, infer_by_standard, key_of, tensor_of, type_proto
from primsplit.ops.inference.table import Site

N = symbol("N")


def site(kind: str, *inputs: Value | None, outputs: int = 1, **attributes: Any) -> Site:
    return Site(kind, inputs, attributes, outputs)


def var(*shape: Any, dtype: Any = "float32") -> Var:
    return Var(Type(dtype, shape))


def test_symbols_and_literals_come_back_as_they_were() -> None:
    assert infer_by_standard(site("Transpose", var(N, 3, 2), perm=[2, 0, 1])) == [Type("float32", [2, N, 3])]
    values, places = infer_by_standard(site("TopK", var(N, 9), Const(np.array([4])), outputs=2))
    assert (values, places) == (Type("float32", [N, 4]), Type("int64", [N, 4]))


def test_a_size_that_onnx_does_not_know_is_a_new_symbol() -> None:
    (found,) = infer_by_standard(site("NonZero", var(N, 3)))
    assert found.shape is not None
    first, second = found.shape
    assert first == 2
    assert isinstance(second, Size)
    assert second.text not in {"N", "3"}


def test_a_rank_that_onnx_does_not_know_is_unknown() -> None:
    (found,) = infer_by_standard(site("Reshape", var(N, 3), var(N, dtype="int64")))
    assert found.shape is None


def test_a_node_that_onnx_refuses_is_refused_with_its_reason() -> None:
    with pytest.raises(ShapeError, match=r"MatMul: .*Incompatible dimensions"):
        infer_by_standard(site("MatMul", var(2, 3), var(4, 5)))


@pytest.mark.parametrize("dtype", [ml_dtypes.float4_e2m1fn, ml_dtypes.int2, ml_dtypes.uint2], ids=str)
def test_a_dtype_that_onnx_may_not_know_comes_back_as_it_was(dtype: Any) -> None:
    assert infer_by_standard(site("Transpose", var(2, N, dtype=dtype))) == [Type(dtype, [N, 2])]


def test_a_check_refuses_what_inference_does_and_leaves_empty_arrays_alone() -> None:
    check_by_standard(site("MatMul", var(2, 3), var(3, 5)))
    with pytest.raises(ShapeError):
        check_by_standard(site("MatMul", var(2, 3), var(4, 5)))
    check_by_standard(site("MatMul", var(2, 0), var(4, 5)))


def test_uses_of_equal_types_attributes_and_constants_have_one_key() -> None:
    def key(kind: str = "Gemm", rows: Any = 3, constant: float = 1.0, **attributes: Any) -> Any:
        return key_of(site(kind, var(2, rows), Const(np.full((3, 1), constant)), None, **attributes))

    assert key() == key()
    assert key(alpha=0.5) == key(alpha=0.5)
    others = [key(), key("MatMul"), key(rows=N), key(constant=2.0), key(alpha=0.5), key(alpha=0.25), key(beta=0.5)]
    arrays = [key(value=np.array(v)) for v in ([1, 2], [1, 3], [1.0, 2.0])]
    assert len({*others, *arrays}) == len(others) + len(arrays)


def test_a_type_and_a_constant_are_written_as_onnx_does() -> None:
    tensor = type_proto(Type("bool", [N, 3])).tensor_type
    assert [d.dim_param or d.dim_value for d in tensor.shape.dim] == ["N", 3]
    assert tensor.elem_type == 9
    assert not type_proto(Type("float32", None)).tensor_type.HasField("shape")
    assert tensor_of(Const(np.array([1, 2]))).dims == [2]
