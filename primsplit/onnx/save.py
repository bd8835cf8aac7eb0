"""Write a Block as an ONNX model, directly into its protobuf: objects in between would take most of the time.

```
y: float32[N] = Exp(x)   ->   <node op_type=Exp name="model.py:3 y/Exp" input=[x] output=[y] metadata: remark>
```

`provenance` says how a node is named, and where the text of its line is.
"""

import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import onnx
import onnx.helper

from primsplit.ir import Block, Const, Loaded, Op, Type, Value, Var, walk
from primsplit.ir.errors import FileError, PrimsplitError
from primsplit.ir.names import Names
from primsplit.ir.providers import Provenance
from primsplit.ir.runtimes import fault
from primsplit.onnx.provenance import CALL, NodeNames, Nodes
from primsplit.onnx.tensors import fill, size_in_file, type_number
from primsplit.onnx.weights import FileConstants
from primsplit.ops.inference.standard import type_proto
from primsplit.ops.schema import IR_VERSION, OPSET
from primsplit.ops.traits import traits
from primsplit.tracing.paths import name_of_path

PRODUCER = "primsplit"
LARGEST = 1_500_000_000
"""The most bytes of numbers in one protobuf, which must stay below 2 GiB."""
DEEPEST = 31
"""The most nested graphs: protobuf reads a hundred nested messages, and each graph takes three."""
MADE_AGAIN = re.compile(r"gemm_(input|output)_shape|.*_token_\d+")
"""Names of constants from onnxruntime's optimizer: from 1.26 on it fails if it has to create them once more."""

Into = onnx.GraphProto | onnx.FunctionProto


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and the data of its long constants, still to be written: in its tensors, or in a file beside it.

    `name_of` returns the main graph's name of a value, None for one that it does not have. `nodes` is what is
    known of the nodes by their names.
    """

    proto: onnx.ModelProto
    waiting: list[tuple[onnx.TensorProto, Const]] = field(default_factory=list)
    name_of: Callable[[Value], str | None] = field(default=lambda value: None)
    nodes: Nodes = field(default_factory=Nodes)

    @property
    def waiting_bytes(self) -> int:
        """Return the bytes that the data that wait take in a file."""
        return sum(size_in_file(const) for _, const in self.waiting)

    @property
    def fits(self) -> bool:
        """Whether one protobuf holds all."""
        return self.waiting_bytes <= LARGEST


@functools.cache
def _version() -> str:
    return version(PRODUCER)


def new_model(name: str, metadata: Mapping[str, str] | None = None) -> onnx.ModelProto:
    """Return an empty model of the pinned versions."""
    proto = onnx.ModelProto(ir_version=IR_VERSION, producer_name=PRODUCER, producer_version=_version())
    proto.opset_import.add(domain="", version=OPSET)
    proto.graph.name = name or PRODUCER
    tell(proto, metadata or {})
    return proto


def document(graph: onnx.GraphProto, derivatives: Collection[int]) -> None:
    """Write the texts of a graph and of its outputs, those at some positions being derivatives."""
    graph.doc_string = f"{graph.name}, with derivatives" if derivatives else graph.name
    for i in derivatives:
        graph.output[i].doc_string = "derivative"


def tell(proto: onnx.ModelProto, metadata: Mapping[str, str]) -> None:
    """Add metadata to a model's."""
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=value)


def to_model(
    block: Block,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    metadata: Mapping[str, str] | None = None,
    *,
    defaults: Mapping[str, Const] | None = None,
    derivatives: Collection[int] = (),
    provenance: Provenance = "full",
) -> Model:
    """Return the model of a block that has no captures. `inputs` and `outputs` name its parameters and results.

    `derivatives` are the positions of results that are such, as the model's texts say. `defaults` are the numbers of
    inputs that a run may leave out: initializers of the inputs' names. Raises PrimsplitError for sub-blocks more than
    `DEEPEST` deep.

    Constants are shared if they are the same object; a result that is a parameter or a constant, or is returned twice,
    goes through Identity, since ONNX needs a separate value for each output.
    """
    nodes = NodeNames(provenance)
    proto = new_model("" if provenance == "none" else block.name, metadata)
    graph = proto.graph
    stored = Initializers(graph)
    writer = Writer(stored.hold, nodes)
    input_names = list(inputs) if inputs is not None else [writer.names.give(p) for p in block.params]
    output_names = list(outputs) if outputs is not None else [f"y{i}" for i in range(len(block.results))]
    writer.names.taken.update(input_names, output_names)
    for param, name in zip(block.params, input_names, strict=True):
        writer.declare(param, name)
        graph.input.append(writer.value_info(name, param.type))
    writer.body(block, output_names, graph)
    for result, name in zip(block.results, output_names, strict=True):
        graph.output.append(writer.value_info(name, result.type))
    document(graph, derivatives)
    for name in input_names:
        if defaults and name in defaults:
            stored.hold(defaults[name], name)
    tell(proto, {**stored.told(), **nodes.told()})
    return Model(proto, stored.waiting, writer.name_of, nodes.nodes)


class Initializers:
    """The constants of a graph: short ones are written at once, long ones wait.

    `constants` are the names of float constants that are not weights; None if there are no floats.
    """

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.graph = graph
        self.waiting: list[tuple[onnx.TensorProto, Const]] = []
        self.constants: FileConstants | None = None

    def told(self) -> dict[str, str]:
        """Return the model's metadata about the constants."""
        return {} if self.constants is None else self.constants.told()

    def hold(self, const: Const, name: str) -> None:
        """Write a constant under this name."""
        if const.type.is_float:
            self.constants = self.constants or FileConstants()
            self.constants.add(const, name)
        tensor = self.graph.initializer.add(name=name)
        if const.is_short or type_number(const.type.dtype) == onnx.TensorProto.STRING:
            fill(tensor, const.data)
            return
        tensor.data_type = type_number(const.type.dtype)
        tensor.dims.extend(const.data.shape)
        self.waiting.append((tensor, const))


class Writer:
    """Turns Vars into names, Ops into nodes of a graph or function. `hold` writes a Const under a name."""

    def __init__(self, hold: Callable[[Const, str], None], nodes: NodeNames, taken: Collection[str] = ()) -> None:
        self.hold = hold
        self.nodes = nodes
        self.is_named = nodes.provenance != "none"
        self.names = Names(taken, hints=self.is_named)
        self.initializers: dict[Any, str] = {}
        self.reserved: dict[Any, str] = {}
        self.constants: dict[Const, str] = {}
        self.outputs: set[str] = set()
        self.begun: dict[tuple[str, str, str], onnx.NodeProto] = {}
        self.types: dict[Any, onnx.TypeProto] = {}
        self.draws: set[int] = set()
        self.depth = 0

    def declare(self, var: Var, name: str) -> None:
        """Give a Var exactly this name."""
        self.names.of[var] = name
        self.names.taken.add(name)

    def type(self, type: Type) -> onnx.TypeProto:
        """Return the protobuf of the type; created once."""
        known = self.types.get(type.key)
        if known is None:
            known = self.types[type.key] = type_proto(type)
        return known

    def value_info(self, name: str, type: Type) -> onnx.ValueInfoProto:
        """Return the declaration of a value."""
        return onnx.ValueInfoProto(name=name, type=self.type(type))

    def body(self, block: Block, output_names: Sequence[str], into: Into) -> None:
        """Write the block's ops, and its results under these names, directly if possible."""
        self.names.learn(block)
        constants = {v.key: v for op in walk(block) for v in op.inputs if isinstance(v, Const) and v.hint}
        self.names.hints.update(c.hint for c in constants.values())
        for key, weight in ((key, c) for key, c in constants.items() if c.is_weight and key not in self.reserved):
            self.reserved[key] = self.names.give(Var(weight.type), weight.hint)
        own: list[bool] = []
        for result, name in zip(block.results, output_names, strict=True):
            is_own = isinstance(result, Var) and result not in self.names.of
            if isinstance(result, Var) and is_own:
                self.declare(result, name)
            own.append(is_own)
        self.names.learn_roots(block)
        self.outputs = ends = set(output_names)
        for op in block.ops:
            self.node(op, into, ends)
        for result, name, is_own in zip(block.results, output_names, own, strict=True):
            if not is_own:
                self.copy(result, name, into)

    def read(self, value: Value | None) -> str:
        """Return the name under which a value is read; "" for an absent input."""
        if value is None:
            return ""
        if isinstance(value, Const):
            return self.initializer(value)
        return self.names.of.get(value) or self.names.give(value)

    def name_of(self, value: Value) -> str | None:
        """Return the name under which a value is written; None if it is not."""
        return self.constants.get(value) if isinstance(value, Const) else self.names.of.get(value)

    @fault(
        "constants_of_an_optimized_model_made_again",
        kind="refuses",
        operators=("MatMul", "Add", "Gemm"),
        says="A MatMul and an Add become a Gemm with constants of fixed names: a model that was optimized before has "
        "these names already, and does not load.",
        since="1.26",
    )
    def initializer(self, const: Const) -> str:
        """Return the name of the value that holds a constant; constants with the same data share one."""
        found = self.constants.get(const)
        if found is not None:
            return found
        key = const.key
        known = self.initializers.get(key)
        if known is None:
            hint = const.hint if const.is_weight or self.is_named else ""
            hint = "" if MADE_AGAIN.fullmatch(hint) else hint
            if self.is_named and const.type.rank:
                path = "".join(const.place.variables if const.place is not None else ())
                hint = hint or name_of_path(path) or ("" if const.is_short else "table")
            hint = hint or f"c{len(self.initializers)}"
            known = self.reserved.get(key) or self.names.give(Var(const.type), hint)
            self.initializers[key] = known
            self.hold(const, known)
        self.constants[const] = known
        return known

    def node(self, op: Op, into: Into, ends: Collection[str] = ()) -> None:
        """Write an op; its outputs are declared, except those in `ends`, which the graph declares itself.

        A copy is no node: readers read its input instead. onnxruntime removes copies while it makes `y / x` of `(1 / x)
        * y`, and then reads the copy of y that is gone.
        """
        if op.kind == "Identity" and self.names.of.get(op.outputs[0]) not in ends:
            self.names.of[op.outputs[0]] = self.read(op.inputs[0])
            return
        kind = op.kind.rpartition("::")[2]
        inputs = [self.read(v) for v in op.inputs]
        if traits(kind).random and "seed" not in op.attributes:
            self.set_apart(into)
        outputs = [self.names.give_made(v, op.kind) for v in op.outputs]
        node = into.node.add()
        node.CopyFrom(self.begin(op))
        is_told = bool(outputs) and (outputs[0] in self.outputs or bool(self.names.hint(op.outputs[0])))
        node.name = self.nodes.give(op, kind, outputs[0] if is_told else "")
        node.input.extend(inputs)
        node.output.extend(outputs)
        if op.attributes:
            self.attributes(op, node.attribute)
        for name, var in zip(outputs, op.outputs, strict=True):
            if name not in ends:
                told = into.value_info.add(name=name)
                told.type.CopyFrom(self.type(var.type))

    def attributes(self, op: Op, into: Any) -> None:
        """Add an op's attributes to its node's."""
        if op.blocks() and self.depth == DEEPEST:
            raise PrimsplitError(
                f"branches and loops are nested more than {DEEPEST} deep, and a reader of ONNX files takes no more",
                place=op.place,
                cure="Write a loop that tests in each step with ps.while_loop, a long chain of tests with ps.switch.",
            )
        self.depth += 1
        for name, value in op.attributes.items():
            self.attribute(into, name, value)
        self.depth -= 1

    @fault(
        "draws_at_one_place_are_one",
        kind="wrong",
        operators=("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"),
        says="Draws without a seed at the same place of two graphs, such as the bodies of two loops, are one draw.",
    )
    def set_apart(self, into: Into) -> None:
        """Write copies of a constant until the position of the next node is that of no random draw in another graph.

        If a draw has no seed, onnxruntime computes one from the process's and the node's position in its graph: in the
        bodies of two loops, or before one and inside of it, two draws would be one.
        """
        while len(into.node) in self.draws:
            self.copy(Const(np.zeros((), np.bool_)), self.names.give(Var(Type(np.bool_, ())), "apart"), into)
        self.draws.add(len(into.node))

    def begin(self, op: Op) -> onnx.NodeProto:
        """Return the common part of nodes of an operator with one remark."""
        call = self.nodes.call(op)
        key = (op.kind, op.remark, call)
        found = self.begun.get(key)
        if found is None:
            domain, _, kind = op.kind.rpartition("::")
            found = self.begun[key] = onnx.NodeProto(op_type=kind)
            if domain:
                found.domain = domain
            if op.remark and self.is_named:
                found.metadata_props.add(key="remark", value=op.remark.encode(errors="replace").decode())
            if call:
                found.metadata_props.add(key=CALL, value=call)
        return found

    def attribute(self, into: Any, name: str, value: Any) -> None:
        """Add an attribute to a node's."""
        if isinstance(value, Block):
            self.subgraph(value, into.add(name=name, type=onnx.AttributeProto.GRAPH).g)
        elif isinstance(value, np.ndarray):
            fill(into.add(name=name, type=onnx.AttributeProto.TENSOR).t, Loaded(value))
        elif isinstance(value, list | tuple) and not value:
            into.add(name=name, type=onnx.AttributeProto.INTS)
        else:
            into.append(onnx.helper.make_attribute(name, value))

    def subgraph(self, block: Block, graph: onnx.GraphProto) -> None:
        """Write a block that may read values outside of it."""
        graph.name = block.name if block.name and self.is_named else "body"
        for param in block.params:
            name = self.names.give(param)
            graph.input.append(self.value_info(name, param.type))
        inside = {v: op.kind for op in block.ops for v in op.outputs}
        own: dict[Var, str] = {}
        is_own: list[bool] = []
        for result in block.results:
            is_own.append(isinstance(result, Var) and result in inside and result not in own)
            if isinstance(result, Var) and is_own[-1]:
                own[result] = self.names.give_made(result, inside[result])
        ends = set(own.values())
        for op in block.ops:
            self.node(op, graph, ends)
        for result, direct in zip(block.results, is_own, strict=True):
            name = self.read(result) if direct else self.names.give(Var(result.type), "r")
            if not direct:
                self.copy(result, name, graph)
            graph.output.append(self.value_info(name, result.type))

    def copy(self, result: Value, name: str, into: Into) -> None:
        """Give a value another name."""
        into.node.add(op_type="Identity", name=f"result {name}", input=[self.read(result)], output=[name])


def beside(model: Model, least: int) -> dict[str, Const]:
    """Return the data that wait and have so many bytes, by name; others are written into the model.

    The tensors of the model say from now on that their data are elsewhere.
    """
    data = {}
    for tensor, const in model.waiting:
        if size_in_file(const) < least:
            del tensor.dims[:]
            fill(tensor, const.data)
        else:
            place(tensor, {"location": "memory"})
            data[tensor.name] = const
    return data


def place(tensor: onnx.TensorProto, told: Mapping[str, str | int]) -> None:
    """Write into a tensor where its data are."""
    tensor.data_location = onnx.TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in told.items():
        tensor.external_data.add(key=key, value=str(value))


def serialize(model: Model) -> onnx.ModelProto:
    """Return the protobuf of a model, with all its numbers. Raises FileError if they are too many for one."""
    if not model.fits:
        raise FileError(
            f"the model has {model.waiting_bytes / 1e9:.1f} GB of numbers, which do not fit in one protobuf",
            cure="Save it: the numbers go to a file beside it.",
        )
    for tensor, const in model.waiting:
        del tensor.dims[:]
        fill(tensor, const.data)
    return model.proto
