"""Read an ONNX file as it is written: an op for each node, in the file's order, without a change.

Nodes that stand before those they read come after them here: onnxruntime runs such a file too.

```
node "mlp.py:13 hidden/Tanh" Tanh(a) -> hidden   ->   hidden: float32[N,4] = Tanh(a)   # mlp.py:13
```

`ps.load` is for running and differentiating: it converts opsets, inlines functions and computes what is known. Nothing
of that is done here: a listing of these ops is a listing of the file.
"""

import contextlib
import hashlib
import os
import re
from collections import ChainMap
from collections.abc import Container, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.shape_inference

from primsplit.audit.sections import Section, sections_of
from primsplit.ir import Attribute, Block, Const, Op, Type, Value, Var, walk
from primsplit.ir.dims import Dim, symbol
from primsplit.ir.errors import ParseError, Place
from primsplit.ir.names import StatePair
from primsplit.ir.notation.literals import type_text
from primsplit.ir.plain_text import in_one_line
from primsplit.onnx.declared import named_size, numpy_dtype
from primsplit.onnx.load import check_valid
from primsplit.onnx.model_tensors import tensor_in
from primsplit.onnx.modelfile import read_file
from primsplit.onnx.provenance import CALL, line_of, read_lines
from primsplit.onnx.running_order import in_running_order
from primsplit.onnx.save import PRODUCER
from primsplit.onnx.states import read_states
from primsplit.onnx.versions import domain_of

UNKNOWN = "?"
"""The name of a size that a file does not tell."""
INFERRED = re.compile(r"unk__\d+")
"""A name that onnx gives to a size when it infers types."""
Scope = MutableMapping[str, Value]


class OfCall(str):
    """The value of an attribute in a function, which its call gives under a name: `@name`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the call's attribute."""
        return self[1:]


@dataclass(frozen=True, slots=True)
class Written:
    """A file's graph and its functions, by name, an op for each node.

    `names` has the file's name of each value, `told` its type as a text, "" where the file does not tell it, `nodes`
    the name of each node, `calls` the call of linear algebra that a node says it is of. `defaults` are the attributes
    of functions that have a default. `held` are the initializers by name, `sections` the parts of the graph, `opsets`
    the versions of the domains. `is_ours` tells whether primsplit wrote the file.
    """

    path: str
    size: int
    digest: str
    producer: str
    block: Block
    functions: Mapping[str, Block]
    defaults: Mapping[str, Mapping[str, Attribute]]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    held: Mapping[str, Const]
    states: tuple[StatePair, ...]
    names: Mapping[Value, str]
    told: Mapping[Var, str]
    nodes: Mapping[Op, str]
    calls: Mapping[Op, str]
    sections: tuple[Section, ...]
    opsets: Mapping[str, int]
    is_ours: bool

    def ops(self) -> Iterator[Op]:
        """Yield the op of every node, in graphs inside and in functions too."""
        for block in (self.block, *self.functions.values()):
            yield from walk(block)


def read_written(path: str) -> Written:
    """Read a file. Raises FileError, and ParseError for a file that holds no valid model."""
    file = read_file(path)
    check_valid(file.proto, path)
    graph = _with_types(in_running_order(file.proto)).graph
    reader = _Reader(path, file.proto)
    block = reader.model(graph, file.tensors, file.fixed)
    inputs, outputs = tuple(reader.names[p] for p in block.params), tuple(v.name for v in graph.output)
    types = {name: p.type for name, p in zip(inputs, block.params, strict=True)}
    made = {name: r.type for name, r in zip(outputs, block.results, strict=True)}
    is_ours = file.producer == PRODUCER
    derived = {r for name, r in zip(outputs, block.results, strict=True) if name.startswith(("d_", "t_"))}
    return Written(
        path=path,
        size=os.path.getsize(path),
        digest=_digest(path),
        producer=in_one_line(f"{file.producer} {file.proto.producer_version}".strip()),
        block=block,
        functions={f"{f.domain}::{f.name}": reader.function(f) for f in file.proto.functions},
        defaults={f"{f.domain}::{f.name}": reader.attributes(f.attribute_proto, {}) for f in file.proto.functions},
        inputs=inputs,
        outputs=outputs,
        held=reader.held,
        states=read_states({p.key: p.value for p in file.proto.metadata_props}, types, made) if is_ours else (),
        names=reader.names,
        told=reader.told,
        nodes=reader.nodes,
        calls=reader.calls,
        sections=sections_of(block, derived) if is_ours else (Section("", block.ops),),
        opsets={domain_of(o.domain): o.version for o in file.proto.opset_import},
        is_ours=is_ours,
    )


def with_graph(file: Written, model: onnx.ModelProto) -> Written:
    """Return a file with the graph of another model, such as the definition of an operator, and no sections."""
    reader = _Reader(file.path, model)
    block = reader.model(model.graph, {}, ())
    opsets = {domain_of(o.domain): o.version for o in model.opset_import}
    whole = (Section("", block.ops),)
    found = replace(file, block=block, functions={}, defaults={}, sections=whole, opsets=opsets, is_ours=False)
    names, told, nodes, calls = reader.names, reader.told, reader.nodes, reader.calls
    return replace(found, names=names, told=told, nodes=nodes, calls=calls, held=reader.held)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_types(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model, with the types that onnx infers where the file leaves out those of nodes' outputs."""
    graph = proto.graph
    told = {v.name for v in (*graph.value_info, *graph.output)}
    if all(name in told for node in graph.node for name in node.output):
        return proto
    with contextlib.suppress(onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return onnx.shape_inference.infer_shapes(proto)
    return proto


class _Reader:
    """Makes Vars of names and Ops of nodes."""

    def __init__(self, path: str, proto: onnx.ModelProto) -> None:
        self.path = path
        self.lines = read_lines(proto)
        self.held: dict[str, Const] = {}
        self.names: dict[Value, str] = {}
        self.told: dict[Var, str] = {}
        self.nodes: dict[Op, str] = {}
        self.calls: dict[Op, str] = {}

    def model(self, graph: onnx.GraphProto, tensors: Mapping[str, onnx.TensorProto], fixed: Container[str]) -> Block:
        """Return the block of the main graph, with these initializers, of which the `fixed` ones are no inputs."""
        self.held = {name: self.const(tensor) for name, tensor in tensors.items()}
        return self.graph(graph, dict(self.held), [v for v in graph.input if v.name not in fixed])

    def graph(self, graph: onnx.GraphProto, scope: Scope, given: Iterable[onnx.ValueInfoProto]) -> Block:
        """Return the block of a graph with these inputs, whose nodes read the values in the scope."""
        types = {v.name: v.type for v in (*graph.value_info, *graph.output)}
        params = tuple(self.var(v.name, v.type) for v in given)
        scope.update((self.names[p], p) for p in params)
        ops = tuple(self.node(node, scope, types) for node in graph.node)
        return Block(graph.name or "graph", params, ops, tuple(self.value(v.name, scope) for v in graph.output))

    def inner(self, graph: onnx.GraphProto, outer: Scope) -> Block:
        """Return the block of a graph inside a node."""
        scope: Scope = ChainMap({t.name: self.const(t) for t in graph.initializer}, *_maps(outer))
        return self.graph(graph, scope, graph.input)

    def function(self, function: onnx.FunctionProto) -> Block:
        """Return the block of a model-local function, whose inputs have no types."""
        types = {v.name: v.type for v in function.value_info}
        params = tuple(self.var(name, types.get(name)) for name in function.input)
        scope: Scope = {self.names[p]: p for p in params}
        ops = tuple(self.node(node, scope, types) for node in function.node)
        results = tuple(self.value(name, scope) for name in function.output)
        return Block(f"{function.domain}::{function.name}", params, ops, results)

    def node(self, node: onnx.NodeProto, scope: Scope, types: Mapping[str, onnx.TypeProto]) -> Op:
        """Return the op of a node, and put its outputs into the scope."""
        line = line_of(node.name, self.lines)
        place = None if line is None else Place(line.filename, line.line, line.function, written=line)
        told = {p.key: p.value for p in node.metadata_props}
        domain = domain_of(node.domain)
        inputs = tuple(self.value(name, scope) if name else None for name in node.input)
        attributes = self.attributes(node.attribute, scope)
        outputs = tuple(self.var(name, types.get(name)) for name in node.output)
        kind = f"{domain}::{node.op_type}" if domain else node.op_type
        found = Op(kind, inputs, outputs, attributes, place, told.get("remark", ""))
        scope.update(zip(node.output, outputs, strict=True))
        self.nodes[found] = node.name
        if CALL in told:
            self.calls[found] = told[CALL]
        return found

    def value(self, name: str, scope: Scope) -> Value:
        """Return the value of a name. Raises ParseError for one that is read before it is defined."""
        found = scope.get(name)
        if found is None:
            raise ParseError(f"{self.path}: the value {name} is read before it is defined")
        return found

    def const(self, tensor: onnx.TensorProto) -> Const:
        """Return the constant of an initializer."""
        found = Const(tensor_in(tensor, self.path), hint=tensor.name)
        self.names[found] = tensor.name
        return found

    def var(self, name: str, type: onnx.TypeProto | None) -> Var:
        """Return a Var of this name and declared type."""
        found = Var(Type(np.float32, None), name)
        self.names[found] = name
        kind = None if type is None else type.WhichOneof("value")
        if type is None or kind is None:
            self.told[found] = ""
        elif kind == "tensor_type" and type.tensor_type.elem_type:
            found.type = _array_type(type.tensor_type)
            self.told[found] = type_text(found.type).replace(f"`{UNKNOWN}`", UNKNOWN)
        else:
            self.told[found] = _other_type(type)
        return found

    def attributes(self, given: Iterable[onnx.AttributeProto], scope: Scope) -> dict[str, Attribute]:
        """Return the values of attributes by name."""
        return {a.name: self.attribute(a, scope) for a in given}

    def attribute(self, attribute: onnx.AttributeProto, scope: Scope) -> Attribute:
        """Return the value of an attribute: a block of a graph, an array of a tensor."""
        if attribute.ref_attr_name:
            return OfCall(f"@{attribute.ref_attr_name}")
        if attribute.HasField("g"):
            return self.inner(attribute.g, scope)
        if attribute.HasField("t"):
            return tensor_in(attribute.t, self.path).numpy()
        if attribute.HasField("tp"):
            return _other_type(attribute.tp)
        found = onnx.helper.get_attribute_value(attribute)
        if isinstance(found, bytes):
            return found.decode(errors="replace")
        if not isinstance(found, int | float | str):
            return [v.decode(errors="replace") if isinstance(v, bytes) else v for v in found]
        return found


def _maps(scope: Scope) -> list[MutableMapping[str, Value]]:
    return scope.maps if isinstance(scope, ChainMap) else [scope]


def _array_type(told: onnx.TypeProto.Tensor) -> Type:
    dtype = numpy_dtype(told.elem_type)
    if not told.HasField("shape"):
        return Type(dtype, None)
    return Type(dtype, [_size(dim) for dim in told.shape.dim])


def _size(dim: Any) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value >= 0 else symbol(UNKNOWN)
    named = None if INFERRED.fullmatch(dim.dim_param) else named_size(dim.dim_param)
    return symbol(UNKNOWN) if named is None else named


def _other_type(told: onnx.TypeProto) -> str:
    """Return the type of a value that is no array of a known dtype: `sequence(float32[N])`."""
    kind = str(told.WhichOneof("value") or "").removesuffix("_type")
    if kind in {"tensor", "sparse_tensor"}:
        held = told.tensor_type if kind == "tensor" else told.sparse_tensor_type
        text = type_text(_array_type(held)).replace(f"`{UNKNOWN}`", UNKNOWN) if held.elem_type else ""
        return text if kind == "tensor" else f"sparse({text})"
    if kind in {"sequence", "optional"}:
        return f"{kind}({_other_type(getattr(told, f'{kind}_type').elem_type)})"
    return kind
