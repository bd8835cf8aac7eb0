"""A Block as an ONNX model."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir

from primsplit.dims import Size
from primsplit.errors import FileError, Place
from primsplit.ir import Block, Const, Loaded, Op, Type, Value, Var
from primsplit.names import Names
from primsplit.schema import IR_VERSION, OPSET

PRODUCER = "primsplit"


def to_model(
    block: Block,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    defaults: Mapping[str, Const] | None = None,
) -> oir.Model:
    """The model of a block that has no captures. `inputs` and `outputs` name its parameters and results.

    `defaults` are the numbers of inputs that a run may leave out: initializers of the inputs' names.

    Constants are shared where they are the same object; a result that is a parameter or a constant, or is returned
    twice, goes through Identity, since ONNX wants a value of its own for each output.
    """
    writer = Writer()
    input_names = list(inputs) if inputs is not None else [writer.names.give(p) for p in block.params]
    output_names = list(outputs) if outputs is not None else [f"y{i}" for i in range(len(block.results))]
    writer.names.taken.update(input_names, output_names)
    params = [writer.declare(p, n) for p, n in zip(block.params, input_names, strict=True)]
    for value, name in zip(params, input_names, strict=True):
        if defaults and name in defaults:
            value.const_value = tensor_of(defaults[name], name)
    results = writer.reserve_results(block, output_names)
    nodes = [writer.node(op) for op in block.ops]
    finished = [writer.result(r, n, own, nodes) for r, n, own in zip(block.results, output_names, results, strict=True)]
    graph = oir.Graph(
        params,
        finished,
        nodes=nodes,
        initializers=[*writer.initializers.values(), *(p for p in params if p.const_value is not None)],
        opset_imports={"": OPSET},
        name=block.name or PRODUCER,
    )
    return oir.Model(
        graph, ir_version=IR_VERSION, producer_name=PRODUCER, metadata_props=dict(metadata) if metadata else None
    )


class Writer:
    """Turns Vars into values, Consts into initializers, Ops into nodes."""

    def __init__(self) -> None:
        self.names = Names()
        self.values: dict[Var, oir.Value] = {}
        self.initializers: dict[Any, oir.Value] = {}
        self.kept: list[Const] = []
        self.counts: dict[str, int] = {}
        self.told: dict[Place | None, Mapping[str, str]] = {}
        self.types: dict[Any, tuple[oir.TensorType, oir.Shape | None]] = {}

    def declare(self, var: Var, name: str) -> oir.Value:
        """The value of a Var, under exactly this name."""
        self.names.of[var] = name
        self.names.taken.add(name)
        known = self.types.get(var.type.key)
        if known is None:
            known = self.types[var.type.key] = (oir.TensorType(dtype_of(var.type)), shape_of(var.type))
        value = self.values[var] = oir.Value(name=name, type=known[0], shape=known[1])
        return value

    def reserve_results(self, block: Block, output_names: Sequence[str]) -> list[bool]:
        """Give each result its output's name where it may have it; False where it needs an Identity."""
        own: list[bool] = []
        for result, name in zip(block.results, output_names, strict=True):
            fits = isinstance(result, Var) and result not in self.values
            if isinstance(result, Var) and fits:
                self.declare(result, name)
            own.append(fits)
        return own

    def read(self, value: Value | None) -> oir.Value | None:
        if value is None:
            return None
        if isinstance(value, Const):
            return self.initializer(value)
        found = self.values.get(value)
        return self.declare(value, self.names.give(value)) if found is None else found

    def initializer(self, const: Const) -> oir.Value:
        """The value that holds a constant; constants that are the same data share one."""
        key = data_key(const)
        known = self.initializers.get(key)
        if known is None:
            self.kept.append(const)
            name = self.names.give(Var(const.type), const.hint or f"c{len(self.initializers)}")
            known = oir.Value(
                name=name,
                type=oir.TensorType(dtype_of(const.type)),
                shape=shape_of(const.type),
                const_value=tensor_of(const, name),
            )
            self.initializers[key] = known
        return known

    def node(self, op: Op) -> oir.Node:
        domain, _, kind = op.kind.rpartition("::")
        inputs = [self.read(v) for v in op.inputs]
        attributes = [self.attribute(k, v) for k, v in op.attributes.items()]
        outputs = [self.read(v) for v in op.outputs]
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return oir.Node(
            domain,
            kind,
            inputs,
            attributes,
            outputs=[o for o in outputs if o is not None],
            name=f"{kind}_{self.counts[kind]}",
            metadata_props=self.metadata(op),
        )

    def metadata(self, op: Op) -> dict[str, str]:
        """What a node says of where it comes from."""
        told = self.told.get(op.place)
        if told is None:
            told = self.told[op.place] = _told(op.place)
        return {**told, "remark": op.remark} if op.remark else dict(told)

    def attribute(self, name: str, value: Any) -> oir.Attr:
        if isinstance(value, Block):
            return oir.AttrGraph(name, self.subgraph(value))
        if isinstance(value, np.ndarray):
            return oir.AttrTensor(name, oir.tensor(value))
        if isinstance(value, bytes):
            value = value.decode()
        return oir.convenience.convert_attribute(name, value)

    def subgraph(self, block: Block) -> oir.Graph:
        params = [self.declare(p, self.names.give(p)) for p in block.params]
        own = [isinstance(r, Var) and r not in self.values for r in block.results]
        nodes = [self.node(op) for op in block.ops]
        inside = {v for op in block.ops for v in op.outputs}
        seen: set[Var] = set()
        results: list[oir.Value] = []
        for result, fresh in zip(block.results, own, strict=True):
            direct = fresh and isinstance(result, Var) and result in inside and result not in seen
            if isinstance(result, Var):
                seen.add(result)
            name = self.names.give(Var(result.type), "r")
            read = self.read(result)
            results.append(read if direct and read is not None else self.copy(result, name, nodes))
        return oir.Graph(params, results, nodes=nodes, name=block.name or "body")

    def result(self, result: Value, name: str, own: bool, nodes: list[oir.Node]) -> oir.Value:
        return self.values[result] if own and isinstance(result, Var) else self.copy(result, name, nodes)

    def copy(self, result: Value, name: str, nodes: list[oir.Node]) -> oir.Value:
        value = oir.Value(name=name, type=oir.TensorType(dtype_of(result.type)), shape=shape_of(result.type))
        nodes.append(oir.Node("", "Identity", [self.read(result)], outputs=[value], name=f"result {name}"))
        return value


def _told(place: Place | None) -> Mapping[str, str]:
    """What a node says of the user's line."""
    if place is None or not place.filename:
        return {}
    source = place.source
    return {"place": str(place), "source": source} if source else {"place": str(place)}


def data_key(const: Const) -> Any:
    """Equal for constants that are the same data: equal short arrays, or the same object."""
    return (const.type.key, const.numpy().tobytes()) if const.is_small else id(const.data)


def dtype_of(type: Type) -> oir.DataType:
    """The dtype, in the file's words."""
    return oir.DataType.from_numpy(type.dtype)


def shape_of(type: Type) -> oir.Shape | None:
    """The shape, in the file's words."""
    if type.shape is None:
        return None
    return oir.Shape([d.text if isinstance(d, Size) else d for d in type.shape], frozen=True)


def tensor_of(const: Const, name: str) -> Any:
    """The data of a constant; what is not in memory yet is left where it is."""
    data = const.data
    if isinstance(data, Loaded):
        return oir.tensor(np.ascontiguousarray(data.array).reshape(data.array.shape), name=name)
    return oir.LazyTensor(
        lambda: oir.tensor(data.numpy()), dtype=dtype_of(const.type), shape=oir.Shape(data.shape), name=name
    )


def serialize(model: oir.Model) -> onnx.ModelProto:
    """The protobuf of a model."""
    return oir.to_proto(model)


def write_model(model: oir.Model, path: str) -> None:
    """Write the model; data above 1.5 GB goes to `path + ".data"`. The file appears whole or not at all.

    Raises FileError where the path cannot be written.
    """
    folder = os.path.dirname(os.path.abspath(path))
    size = sum(v.const_value.nbytes for v in model.graph.initializers.values() if v.const_value is not None)
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".primsplit-") as scratch:
            name = os.path.basename(path)
            external = f"{name}.data" if size > 1_500_000_000 else None
            oir.save(model, os.path.join(scratch, name), external_data=external)
            for written in sorted(os.listdir(scratch), reverse=True):
                os.replace(os.path.join(scratch, written), os.path.join(folder, written))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from None
