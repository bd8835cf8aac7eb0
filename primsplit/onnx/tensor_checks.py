"""Check that a model's tensors are what they say: their numbers are available, and as many as their shape has."""

import math
from collections.abc import Sequence

import onnx
import onnx.helper

from primsplit.ir.carriers import bits_in_file
from primsplit.ir.errors import ParseError
from primsplit.onnx.external_data import check_external
from primsplit.ops.inference.table import MOST_AXES

MOST_BYTES = 2**62
"""No tensor is larger: beyond that, sizes do not fit in the 64 bits that operators count in."""

KNOWN = frozenset(onnx.TensorProto.DataType.values()) - {onnx.TensorProto.UNDEFINED}
TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
COMPLEX = frozenset({onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128})


def check_tensor(tensor: onnx.TensorProto, path: str) -> None:
    """Raise ParseError if a tensor of the model at `path` is not what it says, FileError without its data."""
    name = tensor.name or "a constant"
    size = bytes_of(tensor.data_type, tensor.dims, f"{path}: {name}")
    if tensor.HasField("segment"):
        raise ParseError(f"{path}: {name} is a segment of a tensor, which the standard has never defined")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        check_external(tensor, size, path)
        return
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data"):
        there, wanted = len(tensor.raw_data), size
    else:
        there = sum(len(getattr(tensor, field)) for field in TYPED)
        packed = _bits(tensor.data_type) in {2, 4}
        wanted = size if packed else count * (2 if tensor.data_type in COMPLEX else 1)
    if there != wanted:
        what = "bytes" if tensor.HasField("raw_data") else "numbers"
        raise ParseError(f"{path}: {name} has {there} {what}, and its shape {list(tensor.dims)} needs {wanted}")


def bytes_of(data_type: int, shape: Sequence[int], what: str) -> int:
    """Return the bytes of a tensor of literal shape. Raises ParseError if no tensor can be so."""
    if data_type not in KNOWN:
        raise ParseError(f"{what} has the unknown data type {data_type}")
    if len(shape) > MOST_AXES:
        raise ParseError(f"{what} has {len(shape)} axes, and arrays of NumPy have at most {MOST_AXES}")
    if any(d < 0 for d in shape):
        raise ParseError(f"{what} has a negative size in its shape {list(shape)}")
    size = math.ceil(math.prod(shape) * _bits(data_type) / 8)
    if size > MOST_BYTES:
        raise ParseError(f"{what} would take {size:.1e} bytes: its shape is {list(shape)}")
    return size


def _bits(data_type: int) -> int:
    if data_type == onnx.TensorProto.STRING:
        return 0
    return bits_in_file(onnx.helper.tensor_dtype_to_np_dtype(data_type))
