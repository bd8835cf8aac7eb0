"""Write a model as one protobuf a piece at a time: protobuf itself would hold its numbers three times."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import onnx

from primsplit.ir import Const
from primsplit.ir.errors import FileError
from primsplit.onnx.tensors import copy_bytes, size_in_file

LENGTH = 2
"""The wire type of a field that is preceded by its length."""


def write_protobuf(proto: onnx.ModelProto, waiting: Sequence[tuple[onnx.TensorProto, Const]], file: BinaryIO) -> None:
    """Write a model, and the data that wait into its initializers; its graph is removed from `proto`.

    Raises FileError if data have another size than their initializer, and errors of reading them.
    """
    heads = [
        tensor.SerializeToString() + _begun(onnx.TensorProto.RAW_DATA_FIELD_NUMBER, size_in_file(const))
        for tensor, const in waiting
    ]
    names = {tensor.name for tensor, _ in waiting}
    graph = proto.graph
    short = [tensor for tensor in graph.initializer if tensor.name not in names]
    del graph.initializer[:]
    graph.initializer.extend(short)
    body = graph.SerializeToString()
    proto.ClearField("graph")
    sizes = [len(head) + size_in_file(const) for head, (_, const) in zip(heads, waiting, strict=True)]
    begun = [_begun(onnx.GraphProto.INITIALIZER_FIELD_NUMBER, size) for size in sizes]
    file.write(proto.SerializeToString())
    file.write(_begun(onnx.ModelProto.GRAPH_FIELD_NUMBER, len(body) + sum(sizes) + sum(map(len, begun))))
    file.write(body)
    for start, head, (tensor, const) in zip(begun, heads, waiting, strict=True):
        file.write(start)
        file.write(head)
        _copy(const, tensor.name, file)


def _copy(const: Const, name: str, file: BinaryIO) -> None:
    start = file.tell()
    copy_bytes(const.data, file)
    if file.tell() - start != size_in_file(const):
        raise FileError(f"cannot read the data of {name}: there are not as many as its shape tells")


def _begun(field: int, length: int) -> bytes:
    """Return the bytes before a field of this length."""
    return bytes((*_varint(field << 3 | LENGTH), *_varint(length)))


def _varint(number: int) -> Iterator[int]:
    """Yield seven bits a byte, the lowest first; all bytes but the last have the eighth."""
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number
