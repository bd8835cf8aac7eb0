"""Load an ONNX model as a Block: convert its opset, inline functions, infer types, read weights when asked for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import onnx
import onnx.defs
import onnx.helper

from primsplit.ir import Block, Const
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ir.frozen_branches import FrozenBranch
from primsplit.ir.names import StatePair, kept_apart
from primsplit.onnx.definitions.earlier import CHANGED, EARLIER
from primsplit.onnx.definitions.masked_softmax import with_masked_rows
from primsplit.onnx.definitions.repeated_places import with_last_writers
from primsplit.onnx.definitions.untaken import with_quiet_sides
from primsplit.onnx.graph_reader import GraphReader
from primsplit.onnx.input_types import Specs, declare
from primsplit.onnx.jumps import with_jumps
from primsplit.onnx.limits import STEPS, most_nodes, node_count
from primsplit.onnx.local_functions import check_with_functions, inlined
from primsplit.onnx.modelfile import CONTRIB, ModelFile, read_file
from primsplit.onnx.protobufs import graphs
from primsplit.onnx.provenance import read_lines
from primsplit.onnx.running_order import in_running_order
from primsplit.onnx.save import PRODUCER
from primsplit.onnx.sequences.ends import Ends, Said
from primsplit.onnx.states import read_states
from primsplit.onnx.versions import converted, domain_of, lowered, nodes_of, version_of
from primsplit.onnx.weights import look_at
from primsplit.ops.inference import reserve
from primsplit.ops.schema import OPSET
from primsplit.tracing import close, fresh_stack, recording
from primsplit.tracing.hooks import HOOKS


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model: its block, the names of inputs and outputs, and the initializers by name.

    `arguments` and `results` are the form of each input and output of the file in a call: 0.0 for an array, a list of
    those for a sequence, None for an optional value that is not given. Those of `states` are neither. `constants` has
    the reason for each of the `params` that is not a weight. `frozen` are the choices by constants alone; none for a
    file of primsplit's own.
    """

    block: Block
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    params: Mapping[str, Const]
    arguments: tuple[Any, ...]
    results: tuple[Any, ...]
    states: tuple[StatePair, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[FrozenBranch, ...] = ()


def load_model(
    path: str, said: Said, specs: Specs | None = None, *, safe_where: bool = False, constant: Iterable[str] = ()
) -> Model:
    """Read a model of any opset that can be expressed in the one primsplit writes.

    `said` describes sequences and optionals, `specs` the types of other inputs, if they are narrower than declared.
    With `safe_where` a cotangent of 0 stays 0 on the side of a Where that is not taken. `constant` are names of nodes
    and operators that no derivative goes through.

    Raises SpecError if any of that does not fit, FileError if the file cannot be read, ParseError if it is not a valid
    model, UnsupportedFunction for an operator that is neither in the standard nor has a definition, at its node.
    """
    file = read_file(path)
    most = most_nodes(file.proto, STEPS)
    proto = inlined(_in_own_domains(in_running_order(file.proto)), path)
    most += node_count(proto)
    versions = {domain_of(o.domain): o.version for o in proto.opset_import}
    proto = lowered(proto) if versions.get("", OPSET) > OPSET else converted(proto, path)
    _tell_nearest(proto.graph)
    declare(proto.graph, specs or {}, path)
    _reserve_sizes(proto)
    return _read(file, proto, Ends(GraphReader(path, versions, most, constant), said), safe_where=safe_where)


def check_valid(proto: onnx.ModelProto, path: str) -> None:
    """Raise ParseError for a model that is not valid, as `load_model` does. The model stays as it is."""
    own = onnx.ModelProto()
    own.CopyFrom(proto)
    check_with_functions(_in_own_domains(in_running_order(own)), path)


def _read(file: ModelFile, proto: onnx.ModelProto, ends: Ends, *, safe_where: bool) -> Model:
    graph = proto.graph
    tensors = {**file.tensors, **{t.name: t for t in graph.initializer}}
    ends.reader.lines = read_lines(file.proto)
    reader, metadata = ends.reader, {p.key: p.value for p in file.proto.metadata_props}
    found = look_at(graph, tensors.values(), metadata, file.held)
    reader.roles = {name: found.role(tensor) for name, tensor in file.held.items()}
    with fresh_stack(), recording() as recorded:
        params = {n: reader.initializer(t, found.role(t)) for n, t in tensors.items()}
        inputs = [v for v in graph.input if v.name not in params]
        ends.said.check(inputs, reader.path)
        reader.choices.enter((), file.fixed)
        arguments = tuple(ends.input(v, recorded) for v in inputs)
        reader.record(graph, recorded)
        recorded.place = None
        entries = with_jumps(
            metadata, [v.name for v in graph.output], reader.results(graph.output), reader.values, reader.constants
        )
        reader.constants.check(reader.path)
        params.update((n, value) for n in file.held if isinstance(value := reader.values.get(n), Const))
        results = tuple(ends.output(v, entry) for v, entry in zip(graph.output, entries, strict=True))
    if not ends.results:
        raise UnsupportedFunction(f"{reader.path}: the outputs hold no tensor")
    block = with_masked_rows(
        HOOKS.with_straight_through(close(graph.name or "model", ends.params, recorded, ends.results))
    )
    block = with_quiet_sides(with_last_writers(block), everywhere=safe_where)
    names = kept_apart(ends.inputs)
    # An output may be an input or a weight itself, under its name; a file with a gradient names them apart.
    taken = [*names, *params]
    outputs = tuple(kept_apart([*taken, *ends.outputs])[len(taken) :])
    types = {name: param.type for name, param in zip(names, block.params, strict=True)}
    made = {name: result.type for name, result in zip(ends.outputs, block.results, strict=True)}
    states = read_states(metadata, types, made)
    taken_on, handed_on = {pair.input for pair in states}, {pair.output for pair in states}
    given = tuple(a for v, a in zip(inputs, arguments, strict=True) if v.name not in taken_on)
    returned = tuple(r for v, r in zip(graph.output, results, strict=True) if v.name not in handed_on)
    renamed = dict(zip(ends.outputs, outputs, strict=True))
    states = tuple(replace(pair, output=renamed.get(pair.output or "", pair.output)) for pair in states)
    frozen = () if file.producer == PRODUCER else reader.choices.found
    return Model(block, tuple(names), outputs, params, given, returned, states, found.constants, frozen)


def _in_own_domains(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Move operators that onnxruntime has put into the standard's domain out of it, and those of `CHANGED`."""
    for holder in (proto, *proto.functions):
        version = version_of(holder)
        nodes = [n for n in nodes_of(getattr(holder, "graph", holder)) if domain_of(n.domain) == ""]
        strangers = [
            n for n in nodes if n.op_type in STRANGERS and not onnx.defs.has(n.op_type, max_inclusive_version=version)
        ]
        earlier = [n for n in nodes if version < CHANGED.get(n.op_type, 0)]
        for domain, moved, number in ((CONTRIB, strangers, 1), (f"{EARLIER}.{version}", earlier, version)):
            for node in moved:
                node.domain = domain
            if moved:
                _import(holder, domain, number)
                _import(proto, domain, number)
    return proto


def _import(holder: onnx.ModelProto | onnx.FunctionProto, domain: str, number: int) -> None:
    if all(o.domain != domain for o in holder.opset_import):
        holder.opset_import.append(onnx.helper.make_opsetid(domain, number))


STRANGERS = frozenset({"LayerNormalization", "SimplifiedLayerNormalization"})
"""Operators that onnxruntime has in the standard's domain at any opset.

The standard from its opset 17 on, or not at all.
"""


def _tell_nearest(graph: onnx.GraphProto) -> None:
    """Rewrite TensorFlow's nearest neighbours with half pixels: the floor of s is s - 1/2 rounded, a half up.

    `tf_half_pixel_for_nn` was only in opset 11; tf2onnx writes it at every opset, and onnxruntime reads it.
    """
    for node in nodes_of(graph):
        is_resize = node.op_type == "Resize" and domain_of(node.domain) == ""
        said = {a.name: a for a in node.attribute} if is_resize else {}
        read = [said[name].s if name in said else b"" for name in ("mode", *NEAREST)]
        if read[0] in {b"", b"nearest"} and read[1:] == [b"tf_half_pixel_for_nn", b"floor"]:
            for name, value in NEAREST.items():
                said[name].s = value


NEAREST = {"coordinate_transformation_mode": b"half_pixel", "nearest_mode": b"round_prefer_ceil"}


def _reserve_sizes(proto: onnx.ModelProto) -> None:
    """Keep new sizes from taking the name of one that the model names."""
    for graph in graphs(proto.graph):
        for value in (*graph.input, *graph.output, *graph.value_info):
            for dim in value.type.tensor_type.shape.dim:
                reserve(dim.dim_param)
