"""Read the protobuf of a model, and walk the graphs in it."""

import os
import stat
from collections.abc import Iterator
from typing import Any

import google.protobuf.message
import onnx

from primsplit.ir.errors import FileError, ParseError

MOST_BYTES = 2**31
"""The most bytes of a protobuf."""


def parsed(path: str) -> onnx.ModelProto:
    """Return the protobuf in a file. Raises FileError if there is no file to read, ParseError if it holds no model."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise FileError(f"cannot read {path}: it is {'a folder' if stat.S_ISDIR(found.st_mode) else 'no file'}")
        if found.st_size >= MOST_BYTES:
            raise ParseError(f"{path} is no valid model: it has {found.st_size / 1e9:.1f} GB, and a protobuf at most 2")
        with open(path, "rb") as file:
            proto: onnx.ModelProto = onnx.ModelProto.FromString(file.read())
    except FileError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, ParseError):
            raise
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', '') or error}") from None
    except google.protobuf.message.DecodeError as error:
        raise invalid(path, error) from None
    if not proto.ir_version or not proto.HasField("graph"):
        raise ParseError(f"{path} is no valid model: it has no graph, or no version")
    return proto


def invalid(path: str, error: Exception) -> ParseError:
    """Return the error for a file that is not a valid model, with the message of the library that found out."""
    return ParseError(f"{path} is no valid model: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Return the message of a library's error, in one line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


def graphs(graph: Any) -> Iterator[Any]:
    """Yield the graph, or the function, and every graph inside it."""
    yield graph
    for node in graph.node:
        yield from _inside(node)


def kinds_of(model: onnx.ModelProto) -> set[str]:
    """Return the operators of a model and of the graphs inside it."""
    return {node.op_type for graph in graphs(model.graph) for node in graph.node}


def _inside(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from graphs(attribute.g)


Key = tuple[str, str, str]
"""The domain, name and overload that identify a function in its model."""


def function_key(function: onnx.FunctionProto) -> Key:
    """Return the key of a function."""
    return function.domain, function.name, function.overload


def call_key(node: onnx.NodeProto) -> Key:
    """Return the key of the function that a node calls, if it calls one."""
    return node.domain, node.op_type, node.overload
