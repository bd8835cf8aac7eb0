"""Check a model's external files before onnxruntime gets it: versions below 1.30 read whatever file the data name."""

import mmap
import os
from collections.abc import Iterator

import onnx

from primsplit.ir.errors import FileError
from primsplit.onnx.all_tensors import all_tensors
from primsplit.onnx.external_data import check_external, external_path
from primsplit.onnx.protobufs import parsed
from primsplit.onnx.tensor_checks import bytes_of

LOCATION = b"location"
"""The key of a tensor's file of data: a model without it has no such tensor."""


def check_external_files(path: str) -> None:
    """Raise ParseError or FileError if a model's data are in a file that it may not read, or that is too short."""
    for tensor in _external_tensors(path):
        size = bytes_of(tensor.data_type, tensor.dims, f"{path}: {tensor.name or 'a constant'}")
        check_external(tensor, size, path)


def external_files(path: str) -> set[str]:
    """Return the files beside a model that hold its tensors. Raises ParseError or FileError."""
    return {external_path(tensor, path) for tensor in _external_tensors(path)}


def _external_tensors(path: str) -> Iterator[onnx.TensorProto]:
    """Yield the tensors whose data are in other files.

    A model with all its numbers inside is not parsed: it may be large, and onnxruntime parses it again.
    """
    if _has_external_data(path):
        yield from (t for t in all_tensors(parsed(path)) if t.data_location == onnx.TensorProto.EXTERNAL)


def _has_external_data(path: str) -> bool:
    try:
        if not os.path.getsize(path):
            return False
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(LOCATION) >= 0
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', '') or error}") from None
