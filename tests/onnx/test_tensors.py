"""Numbers as a file holds them: their dtype's number, their bytes, and elements of less than a byte."""

import io
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.numpy_helper
import pytest

from primsplit.ir import Const
from primsplit.onnx.tensors import copy_bytes, fill, raw_bytes, size_in_file, type_number

DTYPES: list[Any] = ["float32", "float64", "float16", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, "int8", "uint64",
                     "bool", "complex64", ml_dtypes.int4, ml_dtypes.uint4]  # fmt: skip


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (5, 1)])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
def test_a_tensor_is_the_one_that_onnx_reads_and_as_long_as_it_is_told(dtype: Any, shape: tuple[int, ...]) -> None:
    data = Const(np.ones(shape).astype(dtype)).data
    array = data.numpy()
    proto = fill(onnx.TensorProto(), data)
    assert proto.data_type == type_number(array.dtype) == onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    assert tuple(proto.dims) == shape
    found = onnx.numpy_helper.to_array(proto)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)
    file = io.BytesIO()
    copy_bytes(data, file)
    assert file.getvalue() == proto.raw_data
    assert len(file.getvalue()) == size_in_file(Const(array))


def test_two_elements_of_four_bits_take_a_byte() -> None:
    assert [size_in_file(Const(np.zeros(n, ml_dtypes.int4))) for n in (0, 1, 2, 5)] == [0, 1, 1, 3]


def test_bytes_are_in_the_order_of_a_file_whatever_the_arrays_layout() -> None:
    turned = np.arange(6.0).reshape(2, 3).T
    assert raw_bytes(turned) == np.ascontiguousarray(turned).astype("<f8").tobytes()


def test_texts_are_held_as_utf_8() -> None:
    proto = fill(onnx.TensorProto(), Const(np.array(["a", "é"], np.object_)).data)
    assert list(proto.string_data) == [b"a", "é".encode()]
