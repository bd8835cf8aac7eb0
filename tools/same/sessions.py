"""Keep every model that onnxruntime is given: what a program runs is seen whatever modules it went through."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import onnx
import onnxruntime

NUMBERED = re.compile(r"\b([^\W\d]\w*?)_(\d+)\b")
"""A symbol of a size that has a number: it depends on how many the process made before."""


@contextlib.contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """While this is open, the models of sessions are written into a folder in their order, their symbols renumbered."""
    load, count = onnxruntime.InferenceSession.__init__, 0

    def loaded(session: Any, model: Any, *args: Any, **named: Any) -> None:
        nonlocal count
        folder.mkdir(parents=True, exist_ok=True)
        data = model if isinstance(model, bytes) else Path(model).read_bytes()
        (folder / f"session_{count:03}.onnx").write_bytes(renumbered(data))
        count += 1
        load(session, model, *args, **named)

    with mock.patch.object(onnxruntime.InferenceSession, "__init__", loaded):
        yield


def renumbered(data: bytes) -> bytes:
    """The model with its symbols numbered in the order in which they come; what is no model as it is."""
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # noqa: BLE001  # tests give onnxruntime broken files too
        return data
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return f"{found[1]}_{numbers.setdefault(found[0], str(len(numbers)))}"

    for graph in _graphs(model.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = NUMBERED.sub(number, dim.dim_param)
    return bytes(model.SerializeToString(deterministic=True))


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)
