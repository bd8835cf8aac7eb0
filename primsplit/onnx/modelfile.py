"""Read an ONNX file: refuse what cannot be a model in one sentence, and set long data apart.

Checking, converting and inferring copy a model several times over, so they receive a model in which every long
initializer is an input. Long weights are never copied. Files are written directly as protobuf; onnx_ir only reads the
tensors of loaded models.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.checker
import onnx.defs
import onnx.helper

from primsplit.ir.errors import ParseError, UnsupportedFunction
from primsplit.onnx.all_tensors import all_tensors
from primsplit.onnx.invalid_nodes import invalid_node
from primsplit.onnx.protobufs import (
    first_line,
    graphs,
    invalid,
    parsed,
)
from primsplit.onnx.sparse_tensors import make_dense
from primsplit.onnx.tensor_checks import bytes_of, check_tensor
from primsplit.onnx.weights import held_tensors

SHORT = 256
"""The most elements of an initializer that stays one: operators' types may depend on its numbers."""


CONTRIB = "com.microsoft"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file's model. In `proto` long initializers are inputs; `tensors` are all initializers by name, in order.

    `fixed` are the names of those that are no inputs of the file, `held` has the tensors of the Constant nodes of the
    main graph, `producer` is the program that wrote it.
    """

    path: str
    proto: onnx.ModelProto
    tensors: Mapping[str, onnx.TensorProto]
    fixed: frozenset[str]
    held: Mapping[str, onnx.TensorProto]
    producer: str


def read_file(path: str) -> ModelFile:
    """Read a model. Raises FileError if there is no file to read, ParseError if it holds no valid model."""
    proto = parsed(path)
    _import_contrib(proto)
    try:
        make_dense(proto, path)
        _check(proto, path)
    except UnicodeDecodeError as error:
        raise invalid(path, error) from None
    tensors = {t.name: t for t in proto.graph.initializer}
    fixed = frozenset(tensors).difference(v.name for v in proto.graph.input)
    return ModelFile(path, _short(proto), tensors, fixed, held_tensors(proto.graph), proto.producer_name)


def _import_contrib(proto: onnx.ModelProto) -> None:
    """Import onnxruntime's own operators if a model has some and no import: tf2onnx forgets it for graphs in nodes.

    onnxruntime reads such a model, the checker of onnx does not.
    """
    used = (node.domain for graph in graphs(proto.graph) for node in graph.node)
    if CONTRIB in used and all(o.domain != CONTRIB for o in proto.opset_import):
        proto.opset_import.append(onnx.helper.make_opsetid(CONTRIB, 1))


def _check(proto: onnx.ModelProto, path: str) -> None:
    """Refuse faults of a model that onnx's checker accepts."""
    _check_imports(proto, path)
    for tensor in all_tensors(proto):
        check_tensor(tensor, path)
    _check_graph(proto.graph, path)
    for function in proto.functions:
        _check_nodes(function.node, path, in_function=True)
    names = [o.name for o in proto.graph.output]
    if not names or len(set(names)) < len(names):
        raise ParseError(f"{path} has no outputs" if not names else f"{path} has an output twice, among {names[:9]}")
    for value in proto.graph.input:
        _check_type(value, path)
    stored = {t.name for t in proto.graph.initializer}
    if len(stored) < len(proto.graph.initializer) or "" in stored:
        raise ParseError(f"{path} has two initializers of one name, or one without a name")


def _check_imports(proto: onnx.ModelProto, path: str) -> None:
    versions = [o.version for o in proto.opset_import if o.domain in {"", "ai.onnx"}]
    newest = onnx.defs.onnx_opset_version()
    if len(versions) > 1 and len(set(versions)) > 1:
        raise ParseError(f"{path} is no valid model: it is of the opsets {versions} at once")
    if versions and not 0 < versions[0] <= newest:
        raise UnsupportedFunction(f"{path} has opset {versions[0]}, and the onnx package knows 1 to {newest}")


def _check_graph(graph: onnx.GraphProto, path: str, *, in_function: bool = False) -> None:
    """Refuse missing numbers and names that are no texts, in the graphs inside too."""
    _check_texts(path, graph.name)
    inputs = {v.name: v.type.tensor_type for v in graph.input}
    for tensor in graph.initializer:
        _check_texts(path, tensor.name)
        if tensor.name in inputs and not _is_of(inputs[tensor.name], tensor):
            raise ParseError(f"{path} is no valid model: the initializer {tensor.name} is not of the type of its input")
    for value in (*graph.input, *graph.output, *graph.value_info):
        _check_texts(path, value.name, *(d.dim_param for d in value.type.tensor_type.shape.dim))
    _check_nodes(graph.node, path, in_function=in_function)


def _is_of(declared: onnx.TypeProto.Tensor, tensor: onnx.TensorProto) -> bool:
    """Whether a tensor has a declared type, of which any part may be open."""
    if declared.elem_type not in {onnx.TensorProto.UNDEFINED, tensor.data_type}:
        return False
    sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in declared.shape.dim]
    is_alike = len(sizes) == len(tensor.dims) and all(a < 0 or a == b for a, b in zip(sizes, tensor.dims, strict=True))
    return is_alike or not declared.HasField("shape")


def _check_texts(path: str, *texts: Any) -> None:
    """Refuse names that are bytes: protobuf returns those for texts that are not UTF-8."""
    for text in texts:
        if not isinstance(text, str):
            raise ParseError(f"{path} is no valid model: the name {text!r} is no UTF-8")


def _check_nodes(nodes: Iterable[onnx.NodeProto], path: str, *, in_function: bool) -> None:
    for node in nodes:
        attributes = node.attribute
        _check_texts(path, node.op_type, node.name, node.domain, *node.input, *node.output)
        if node.op_type == "Constant" and len(attributes) != 1:
            raise ParseError(f"{path}: the Constant {node.name} has {len(attributes)} values")
        for attribute in attributes:
            _check_texts(path, attribute.name, attribute.ref_attr_name)
            if attribute.ref_attr_name and not in_function:
                raise ParseError(f"{path}: {node.op_type} refers to an attribute of a function, and is in none")
            if attribute.HasField("sparse_tensor"):
                raise UnsupportedFunction(f"{path}: the {node.op_type} {node.name} has a sparse {attribute.name}")
            if attribute.HasField("g"):
                _check_graph(attribute.g, path, in_function=in_function)


def _check_type(value: onnx.ValueInfoProto, path: str) -> None:
    if value.type.HasField("tensor_type"):
        tensor = value.type.tensor_type
        known = [d.dim_value for d in tensor.shape.dim if d.dim_value > 0]
        bytes_of(tensor.elem_type, known, f"{path}: the input {value.name}")


def _short(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model in which long initializers are inputs."""
    short = onnx.ModelProto(
        ir_version=max(proto.ir_version, 4), functions=proto.functions, metadata_props=proto.metadata_props
    )
    short.producer_version = proto.producer_version
    short.opset_import.extend(proto.opset_import)
    source, graph = proto.graph, short.graph
    graph.name = source.name or "model"
    for field in ("node", "input", "output", "value_info"):
        getattr(graph, field).extend(getattr(source, field))
    given = {v.name for v in graph.input}
    for tensor in source.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL and math.prod(tensor.dims) <= SHORT:
            graph.initializer.append(tensor)
        elif tensor.name not in given:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return short


def check_model(proto: onnx.ModelProto, path: str) -> None:
    """Raise ParseError if onnx finds a model invalid.

    A value of unknown rank may be an input or an output. Only the model's own inputs need a type.
    """
    whole, *inner = graphs(proto.graph)
    untold = [*whole.output, *(v for g in inner for v in (*g.input, *g.output))]
    untyped = [v for v in untold if v.type.WhichOneof("value") is None]
    for value in untyped:
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    unranked = [
        value.type.tensor_type
        for graph in (whole, *inner)
        for value in (*graph.input, *graph.output, *graph.value_info)
        if value.type.HasField("tensor_type") and not value.type.tensor_type.HasField("shape")
    ]
    for tensor in unranked:
        tensor.shape.SetInParent()
    try:
        onnx.checker.check_model(proto)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise invalid_node(proto, (whole, *inner), path, first_line(error)) or invalid(path, error) from None
    finally:
        for tensor in unranked:
            tensor.ClearField("shape")
        for value in untyped:
            value.ClearField("type")
