"""The same model with every floating-point number a double: what a claim about a derivative is judged in.

onnxruntime has no float64 kernels for many operators; the loaded model runs all the same, by primsplit's compositions.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
from onnx import AttributeProto, TensorProto

FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
DTYPES = {"to", "dtype", "output_datatype", "output_dtype", "softmax_precision"}
"""The attributes that name a dtype."""
NARROW = {("Resize", 2), ("Upsample", 1)}
"""Operands that the standard has in float32 alone, as it has the statistics of LayerNormalization."""


def widened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in float64. It may be none of the standard, where an operator has no such form."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept = {n.input[i] for n in made.graph.node for kind, i in NARROW if n.op_type == kind and len(n.input) > i}
    kept |= {name for n in made.graph.node if n.op_type == "LayerNormalization" for name in n.output[1:]}
    _widen_graph(made.graph, kept)
    for function in made.functions:
        _widen_nodes(function.node)
    return made


def wide_inputs(model: onnx.ModelProto, arrays: Iterable[Any]) -> list[Any]:
    """The arrays, in float64 where the widened model's inputs are."""
    kept = [v.type.HasField("tensor_type") and v.type.tensor_type.elem_type in FLOATS for v in model.graph.input]
    arrays = list(arrays)
    if len(kept) != len(arrays):  # a sequence is its elements, none of which stays narrow
        kept = [False] * len(arrays)
    return [a if narrow else _wide(a) for a, narrow in zip(arrays, kept, strict=True)]


def _wide(array: Any) -> Any:
    return array.astype(np.float64) if array.dtype.name in {"float16", "float32", "bfloat16"} else array


def _widen_graph(graph: onnx.GraphProto, kept: set[str]) -> None:
    for value in (*graph.input, *graph.output):
        if value.name not in kept:
            _widen_type(value.type)
    del graph.value_info[:]
    for tensor in graph.initializer:
        if tensor.name not in kept:
            _widen_tensor(tensor)
    _widen_nodes(graph.node)


def _widen_nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        for attribute in list(node.attribute):
            _widen_attribute(node, attribute)


def _widen_attribute(node: onnx.NodeProto, attribute: AttributeProto) -> None:
    if attribute.type == AttributeProto.TENSOR:
        _widen_tensor(attribute.t)
    elif attribute.type in {AttributeProto.GRAPH, AttributeProto.GRAPHS}:
        for graph in (*attribute.graphs, *([attribute.g] if attribute.type == AttributeProto.GRAPH else [])):
            _widen_graph(graph, set())
    elif attribute.type == AttributeProto.INT and attribute.name in DTYPES and attribute.i in FLOATS:
        attribute.i = TensorProto.DOUBLE
    elif attribute.type == AttributeProto.TYPE_PROTO:
        _widen_type(attribute.tp)
    elif node.op_type == "Constant" and attribute.name in {"value_float", "value_floats"}:
        numbers = attribute.f if attribute.name == "value_float" else list(attribute.floats)
        tensor = onnx.numpy_helper.from_array(np.asarray(numbers, np.float64))
        attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))


def _widen_tensor(tensor: TensorProto) -> None:
    if tensor.data_type in FLOATS:
        array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))


def _widen_type(type: onnx.TypeProto) -> None:
    if type.HasField("tensor_type") and type.tensor_type.elem_type in FLOATS:
        type.tensor_type.elem_type = TensorProto.DOUBLE
    elif type.HasField("sequence_type"):
        _widen_type(type.sequence_type.elem_type)
    elif type.HasField("optional_type"):
        _widen_type(type.optional_type.elem_type)
