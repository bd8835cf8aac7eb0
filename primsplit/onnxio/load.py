"""An ONNX model as a Block: opset converted, functions inlined, types inferred anew, weights read when asked for."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import google.protobuf.message
import numpy as np
import onnx
import onnx.defs
import onnx.inliner
import onnx.shape_inference
import onnx.version_converter
import onnx_ir as oir

from primsplit import dims
from primsplit.dims import Dim
from primsplit.errors import FileError, ParseError, Place, UnsupportedFunction
from primsplit.infer import fresh
from primsplit.ir import AnyArray, Block, Const, Type, Value, Var
from primsplit.schema import OPSET, exists
from primsplit.tracing import Recording, close, emit, fresh_stack, recording


@dataclass(frozen=True, slots=True)
class Tensor:
    """A model's tensor: in the file, or in a file beside it that is read when the numbers are asked for."""

    tensor: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        found: np.dtype[Any] = self.tensor.dtype.numpy()
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(d) for d in self.tensor.shape)

    def numpy(self) -> AnyArray:
        found: AnyArray = self.tensor.numpy()
        return found


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model: its block, the names of inputs and outputs, and the initializers by name."""

    block: Block
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: Mapping[str, Const]


def load_model(path: str) -> Model:
    """Read a model of any opset that can be told in the one primsplit writes.

    Raises FileError where the file cannot be read, ParseError where it is no valid model, UnsupportedFunction for an
    operator that is not of the standard, at its node.
    """
    proto = _typed(_converted(_read(path), path))
    try:
        model = oir.from_proto(proto)
        oir.external_data.set_base_dir(model.graph, os.path.dirname(os.path.abspath(path)))
    except (ValueError, TypeError, KeyError, RuntimeError) as error:
        raise ParseError(f"{path} is no valid model: {_first_line(error)}") from None
    return _Reader(path).model(model.graph)


def _read(path: str) -> onnx.ModelProto:
    try:
        proto = onnx.load(path, load_external_data=False)
        _check_external(proto, path)
        onnx.checker.check_model(path)
        proto = onnx.inliner.inline_local_functions(proto) if proto.functions else proto
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (google.protobuf.message.DecodeError, onnx.checker.ValidationError, UnicodeDecodeError) as error:
        raise ParseError(f"{path} is no valid model: {_first_line(error)}") from None
    return proto


def _check_external(proto: onnx.ModelProto, path: str) -> None:
    """Refuse external data outside the model's folder."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key != "location":
                continue
            inside = os.path.realpath(os.path.join(folder, entry.value))
            if os.path.isabs(entry.value) or os.path.commonpath([folder, inside]) != folder:
                raise ParseError(f"{path}: the data of {tensor.name} lie outside the model's folder, at {entry.value}")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _converted(proto: onnx.ModelProto, path: str) -> onnx.ModelProto:
    """The model at the pinned opset: as it is where its operators mean the same there, else by onnx's converter."""
    version = next((o.version for o in proto.opset_import if o.domain in {"", "ai.onnx"}), OPSET)
    changed = sorted({n.op_type for n in _nodes(proto.graph) if _differs(n, version)})
    if not changed:
        for entry in proto.opset_import:
            entry.version = OPSET if entry.domain in {"", "ai.onnx"} else entry.version
        return proto
    try:
        return onnx.version_converter.convert_version(proto, OPSET)
    except (RuntimeError, onnx.version_converter.ConvertError) as error:
        raise UnsupportedFunction(
            f"{path} has opset {version}, and {', '.join(changed)} cannot be told in opset {OPSET}",
            because=(_first_line(error),),
            cure=f"Export the model at opset {OPSET}.",
        ) from None


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _differs(node: onnx.NodeProto, version: int) -> bool:
    """True where the node's operator is another at the pinned opset: other inputs, outputs or attributes."""
    if node.domain not in {"", "ai.onnx"}:
        return False
    if not onnx.defs.has(node.op_type, max_inclusive_version=version):
        return True
    there = onnx.defs.get_schema(node.op_type, max_inclusive_version=version)
    if there.since_version <= 1 and version < 7:
        return True
    if not onnx.defs.has(node.op_type, max_inclusive_version=OPSET):
        return True
    here = onnx.defs.get_schema(node.op_type, max_inclusive_version=OPSET)
    return here.since_version != there.since_version and _form(here) != _form(there)


def _form(schema: Any) -> Any:
    """What of a schema a model depends on: a version that only admits further dtypes has the same."""
    attributes = tuple(
        sorted((k, str(a.type), a.required, a.default_value.SerializeToString()) for k, a in schema.attributes.items())
    )
    formals = tuple(tuple((p.name, str(p.option)) for p in side) for side in (schema.inputs, schema.outputs))
    return attributes, formals, MEANING.get((schema.name, schema.since_version))


MEANING = {("BatchNormalization", 9): 9, ("Softmax", 11): 11, ("LogSoftmax", 11): 11, ("Hardmax", 11): 11}
"""Versions whose meaning changed while their form stayed."""


def _typed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types of its values, as far as onnx infers them: sub-graphs' outputs are declared by them."""
    try:
        return onnx.shape_inference.infer_shapes(proto)
    except (RuntimeError, onnx.shape_inference.InferenceError, ValueError):
        return proto


class _Reader:
    """Records a graph's nodes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: dict[str, Value] = {}
        self.count = 0

    def model(self, graph: Any) -> Model:
        with fresh_stack(), recording() as recorded:
            params = {name: self.initializer(value) for name, value in graph.initializers.items()}
            inputs = [v for v in graph.inputs if v.name not in params]
            given = [self.param(v, recorded) for v in inputs]
            self.record(graph, recorded)
            results = [self.value(v) for v in graph.outputs]
        block = close(graph.name or "model", given, recorded, [r for r in results if r is not None])
        names = tuple(v.name for v in inputs), tuple(v.name for v in graph.outputs)
        return Model(block, *names, {k: v for k, v in params.items() if isinstance(v, Const)})

    def initializer(self, value: Any) -> Value:
        found = self.values[value.name] = Const(Tensor(value.const_value), hint=value.name)
        return found

    def param(self, value: Any, recorded: Recording) -> Var:
        if value.type is None or not isinstance(value.type, oir.TensorType):
            raise UnsupportedFunction(f"{self.path}: the input {value.name} is {value.type}, and no tensor")
        var = recorded.param(self.type(value), value.name)
        self.values[value.name] = var
        return var

    def type(self, value: Any) -> Type:
        """The declared type; sizes that have no name get a fresh one."""
        shape = None if value.shape is None else [self.dim(d, value.name, i) for i, d in enumerate(value.shape)]
        return Type(value.type.dtype.numpy(), shape)

    def dim(self, dim: Any, name: str, axis: int) -> Dim:
        if isinstance(dim, int):
            return dim
        return dims.parse(dim.value) if dim.value else fresh(f"{name}_{axis}")

    def value(self, value: Any) -> Value | None:
        if value is None or value.name == "":
            return None
        if value.name not in self.values and value.const_value is not None:
            return self.initializer(value)
        if value.name not in self.values:
            raise ParseError(f"{self.path}: the value {value.name} is read before it is defined")
        return self.values[value.name]

    def record(self, graph: Any, recorded: Recording) -> None:
        for node in graph:
            self.count += 1
            recorded.place = Place(self.path, self.count, node.name or node.op_type)
            made = self.node(node)
            for output, value in zip(node.outputs, made, strict=True):
                if output.name:
                    self.values[output.name] = _hinted(value, output.name)

    def node(self, node: Any) -> tuple[Value, ...]:
        if node.domain not in {"", "ai.onnx"} or not exists(node.op_type):
            name = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
            raise UnsupportedFunction(
                f"{self.path}: node {node.name or self.count} is {name}, which is no operator of ONNX opset {OPSET}"
            )
        if node.op_type == "Constant":
            return (self.constant(node),)
        attributes = {name: self.attribute(a) for name, a in node.attributes.items()}
        inputs = [self.value(v) for v in node.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        blocks = any(isinstance(a, Block) for a in attributes.values())
        types = [self.type(v) for v in node.outputs] if blocks else None
        return emit(node.op_type, inputs, attributes, outputs=len(node.outputs), types=types)

    def constant(self, node: Any) -> Const:
        ((kind, attribute),) = node.attributes.items()
        value = attribute.value
        if kind == "value":
            return Const(Tensor(value))
        dtypes = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}
        return Const(np.asarray(value, dtypes.get(kind, np.object_)))

    def attribute(self, attribute: Any) -> Any:
        if attribute.type == oir.AttributeType.GRAPH:
            return self.subgraph(attribute.value)
        if attribute.type == oir.AttributeType.TENSOR:
            return attribute.value.numpy()
        value = attribute.value
        return list(value) if isinstance(value, tuple) else value

    def subgraph(self, graph: Any) -> Block:
        with recording() as inner:
            for value in graph.initializers.values():
                self.initializer(value)
            params = [self.param(v, inner) for v in graph.inputs if v.name not in graph.initializers]
            self.record(graph, inner)
            results = [self.value(v) for v in graph.outputs]
        return close(graph.name or "body", params, inner, [r for r in results if r is not None])


def _hinted(value: Value, name: str) -> Value:
    if isinstance(value, Var | Const) and not value.hint:
        value.hint = name
    return value
