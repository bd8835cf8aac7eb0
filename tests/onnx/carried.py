"""Models of dtypes of few bits, most of which came after the written opset."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.defs
from onnx import helper, numpy_helper

import primsplit as ps

IS_KNOWN = onnx.defs.onnx_opset_version() >= 28
node = helper.make_node
Arrays = Mapping[str, npt.NDArray[Any]]
VALUES = {
    "int2": [-2, -1, 0, 1],
    "uint2": [3, 1, 0, 2],
    "float4_e2m1fn": [-6, 0.5, -0.0, 3],
    "float6_e2m3fn": [-7.5, 0.125, 1, 0],
    "float6_e3m2fn": [28, 0.0625, -3, 1],
    "float8_e8m0fnu": [0.5, 1, 2, 4],
}
EARLIER = {
    "int4": [-8, 7, 0, 1],
    "uint4": [15, 1, 0, 2],
    "float8_e4m3fn": [448, -1, 0.5, 0],
    "float8_e5m2": [-4, 1, 0.5, 0],
}
QUANTIZED = [name for name in VALUES if name != "float8_e8m0fnu"]


def number_of(name: str) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(name)))


def declared(name: str, dtype: str, shape: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, number_of(dtype), shape)


def save(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    ends: Sequence[Sequence[onnx.ValueInfoProto]],
    stored: Arrays | None = None,
    opset: int = 28,
) -> str:
    """The path of a model with these nodes, inputs and outputs, and initializers."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (stored or {}).items()]
    graph = helper.make_graph(list(nodes), "g", *map(list, ends), tensors)
    path = str(folder / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13), path)
    return path


def cast(folder: Path, source: str, target: str, **how: Any) -> Any:
    made = node("Cast", ["x"], ["y"], to=number_of(target), **how)
    return ps.load(save(folder, [made], ([declared("x", source, ["N"])], [declared("y", target, ["N"])])))


def weights(name: str) -> npt.NDArray[Any]:
    return np.resize(np.array({**VALUES, **EARLIER}[name], np.float32), (4, 2)).astype(name)
