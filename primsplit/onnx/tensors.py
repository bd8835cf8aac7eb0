"""Move numbers between programs and files: read them when asked for, copy them without holding all of them."""

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper

from primsplit.ir import AnyArray, Const, Data
from primsplit.ir.carriers import bits_in_file
from primsplit.ir.errors import FileError


@dataclass(frozen=True, slots=True)
class Tensor:
    """A model's tensor, of onnx_ir: in the file, or in one `beside` it that is read when the numbers are asked for.

    `model` is the path of the model's file.
    """

    tensor: Any
    beside: bool
    model: str = ""

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.tensor.dtype.numpy()
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(d) for d in self.tensor.shape)

    @property
    def where(self) -> str:
        return f"{self.tensor.path}:{self.tensor.offset}" if self.beside else ""

    def numpy(self) -> AnyArray:
        with self._reading():
            found: AnyArray = self.tensor.numpy()
            return _texts(found) if self.dtype == np.object_ else found

    def copy_to(self, file: BinaryIO) -> None:
        """Write the bytes as they are in a file; data in another file a piece at a time."""
        with self._reading():
            self.tensor.tofile(file)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError) as error:
            if isinstance(error, OSError) and not self.beside:
                raise
            raise FileError(f"cannot read the data of {self.tensor.name}: {_reason(error)}") from None


def _texts(array: AnyArray) -> AnyArray:
    """Return the strings of a tensor, which a file holds as bytes. Raises ValueError for bytes that are not UTF-8."""
    texts = [v.decode() if isinstance(v, bytes) else str(v) for v in array.reshape(-1).tolist()]
    return np.array(texts, np.object_).reshape(array.shape)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error).splitlines()[0][:200]


@functools.cache
def type_number(dtype: np.dtype[Any]) -> int:
    """Return the file's number of a dtype."""
    return int(onnx.helper.np_dtype_to_tensor_dtype(dtype))


def size_in_file(const: Const) -> int:
    """Return the bytes that the data take in a file, which packs elements of less than a byte."""
    return math.ceil(math.prod(const.data.shape) * bits_in_file(const.type.dtype) / 8)


def fill(proto: onnx.TensorProto, data: Data) -> onnx.TensorProto:
    """Write dtype, shape and numbers into a tensor of a model."""
    array = data.numpy()
    proto.data_type = type_number(array.dtype)
    proto.dims.extend(array.shape)
    if proto.data_type == onnx.TensorProto.STRING:
        proto.string_data.extend(v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1).tolist())
    else:
        proto.raw_data = raw_bytes(array)
    return proto


def raw_bytes(array: AnyArray) -> bytes:
    """Return the bytes of an array as a file holds them."""
    if array.dtype.isbuiltin == 1:
        return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return onnx.numpy_helper.from_array(array).raw_data


def copy_bytes(data: Data, file: BinaryIO) -> None:
    """Append the data to a file."""
    if isinstance(data, Tensor):
        data.copy_to(file)
    else:
        file.write(raw_bytes(data.numpy()))
