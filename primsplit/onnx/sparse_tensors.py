"""Replace sparse initializers and constants of a model by the tensors that they stand for.

```
values [5., 7.] at indices [0, 3] of shape [4]   ->   [5., 0., 0., 7.]
```
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from primsplit.ir import AnyArray
from primsplit.ir.errors import ParseError, UnsupportedFunction
from primsplit.onnx.tensor_checks import bytes_of, check_tensor

MOST_BYTES = 2**29
"""The most bytes of a model's sparse tensors once they are dense."""


def make_dense(proto: onnx.ModelProto, path: str) -> None:
    """Replace each sparse tensor by a dense one, in graphs inside of nodes and in functions too.

    Raises ParseError for one that is invalid, UnsupportedFunction if they are too large when dense.
    """
    left = MOST_BYTES
    for holder in _holders([proto.graph, *proto.functions]):
        for attribute in _attributes(holder):
            left -= _fill(attribute.sparse_tensor, attribute.t, left, path)
            attribute.ClearField("sparse_tensor")
            attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR
        for sparse in getattr(holder, "sparse_initializer", ()):
            left -= _fill(sparse, holder.initializer.add(name=sparse.values.name), left, path)
        if isinstance(holder, onnx.GraphProto):
            holder.ClearField("sparse_initializer")


def _holders(outer: list[Any]) -> Iterator[Any]:
    """Yield these graphs and functions, and the graphs inside of them."""
    for holder in outer:
        yield holder
        yield from _holders([a.g for node in holder.node for a in node.attribute if a.HasField("g")])


def _attributes(holder: Any) -> Iterator[onnx.AttributeProto]:
    for node in holder.node:
        if node.op_type == "Constant":
            yield from (a for a in node.attribute if a.name == "sparse_value" and a.HasField("sparse_tensor"))


def _fill(sparse: onnx.SparseTensorProto, dense: onnx.TensorProto, left: int, path: str) -> int:
    """Write the dense tensor, at most `left` bytes; return its size in bytes."""
    name = sparse.values.name or "a constant"
    size = bytes_of(sparse.values.data_type, sparse.dims, f"{path}: {name}")
    for tensor in (sparse.values, sparse.indices):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise UnsupportedFunction(f"{path}: {name} is sparse, and its data are in another file")
        check_tensor(tensor, path)
    if size > left or math.prod(sparse.dims) > MOST_BYTES:
        raise UnsupportedFunction(
            f"{path}: {name} is sparse, and takes {size:,} bytes when whole", cure="Make it a tensor."
        )
    values = onnx.numpy_helper.to_array(sparse.values)
    whole = np.full(math.prod(sparse.dims), "" if values.dtype.kind in "OSU" else 0, values.dtype)
    whole[_places(sparse, name, path)] = values
    dense.CopyFrom(onnx.numpy_helper.from_array(whole.reshape(sparse.dims), sparse.values.name))
    return size


def _places(sparse: onnx.SparseTensorProto, name: str, path: str) -> AnyArray:
    """Return the indices of the numbers in the flat tensor; the file has those, or a row of indices for each."""
    indices, count = onnx.numpy_helper.to_array(sparse.indices), math.prod(sparse.values.dims)
    rank = len(sparse.dims)
    if indices.dtype != np.int64 or len(sparse.values.dims) != 1 or indices.shape not in {(count,), (count, rank)}:
        raise ParseError(f"{path}: the indices of the sparse {name} are {indices.dtype}{list(indices.shape)}")
    rows = indices[:, None] if indices.ndim == 1 else indices
    sizes = [math.prod(sparse.dims)] if indices.ndim == 1 else list(sparse.dims)
    if np.any(rows < 0) or np.any(rows >= np.array(sizes, np.int64)):
        raise ParseError(f"{path}: the sparse {name} has indices outside of its shape {list(sparse.dims)}")
    return rows @ np.array([math.prod(sizes[i + 1 :]) for i in range(len(sizes))], np.int64)
