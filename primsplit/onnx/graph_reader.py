"""Record the nodes of a graph: names become values, types are inferred anew, numbers are read when asked for.

```
<node op_type=Gemm input=[x, w, b] output=[y]>   ->   y: float32[N,10] = Gemm(x, w, b)
```
"""

import functools
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper

from primsplit import tracing
from primsplit.ir import BFLOAT16, Block, Const, Role, Type, Value, Var, dims
from primsplit.ir.dims import Dim, Kinded, SymbolKind
from primsplit.ir.errors import Line, ParseError, Place, PrimsplitError, UnsupportedFunction
from primsplit.onnx import gradient_node, shape_vectors
from primsplit.onnx.aligned import Known, Recorder, record_aligned
from primsplit.onnx.aligned.node import aligned
from primsplit.onnx.batch_scan import BATCH_SCAN
from primsplit.onnx.constants import Constants, stopped
from primsplit.onnx.declared import named_size, numpy_dtype
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.onnx.definitions.families import defined_names, definition_of, record_call
from primsplit.onnx.demands import demanded, of_rank
from primsplit.onnx.foreign import CURE, reason_of
from primsplit.onnx.frozen_choices import FrozenChoices
from primsplit.onnx.invalid_nodes import told_node
from primsplit.onnx.known import settled_integers
from primsplit.onnx.model_tensors import tensor_in
from primsplit.onnx.nested_nodes import KINDS, Reading, record_nested
from primsplit.onnx.provenance import line_of
from primsplit.onnx.ranks import Widened, settled, widened_squeeze
from primsplit.onnx.sequences.branches import record_if
from primsplit.onnx.sequences.forms import Entry, is_held, require_tensor
from primsplit.onnx.sequences.loops import record_loop
from primsplit.onnx.sequences.maps import record_map
from primsplit.onnx.sequences.nodes import is_of_sequences, record_sequence
from primsplit.onnx.tensors import Tensor
from primsplit.onnx.versions import differs, domain_of, nodes_of
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.ops.inference.choices import check_choices, check_definition, check_node
from primsplit.ops.inference.reduction import REDUCTIONS
from primsplit.ops.inference.table import Site
from primsplit.ops.schema import OPSET, exists, near_names
from primsplit.ops.traits import traits
from primsplit.tracing import Recording, close, emit, recording
from primsplit.tracing.array import Array
from primsplit.tracing.own_errors import is_foreign
from primsplit.tracing.trees import as_list

OPS = 2
"""A node that becomes many operators, as on values of unknown rank, counts as one for so many."""


class GraphReader:
    """Records the nodes of a graph. `versions` are the opsets by domain that the model had in its file.

    `most` is the number of nodes that may be recorded, `constants` are the names of nodes and operators whose values
    have no derivative.
    """

    def __init__(self, path: str, versions: Mapping[str, int], most: int, constants: Iterable[str] = ()) -> None:
        self.path = path
        self.file = os.path.abspath(path)
        self.versions = versions
        self.most = most
        self.constants = Constants(constants)
        self.choices = FrozenChoices()
        self.values: MutableMapping[str, Entry] = {}
        self.widened: Widened = {}
        self.aligned: Known = {}
        self.shapes: shape_vectors.Known = {}
        self.count = 0
        self.lines: Mapping[str, Line] = {}
        self.roles: Mapping[str, Role] = {}

    def place(self, node: onnx.NodeProto) -> Place:
        """Return the place of the node that is read: its number and name, and the line that it was written for."""
        return Place(self.file, self.count, node.name or node.op_type, written=line_of(node.name, self.lines))

    def initializer(self, tensor: onnx.TensorProto, role: Role = "") -> Const:
        """Return the constant of an initializer, under its name."""
        found = self.values[tensor.name] = Const(self.tensor(tensor), hint=tensor.name, role=role)
        return found

    def tensor(self, tensor: onnx.TensorProto) -> Tensor:
        """Return the numbers of a tensor, wherever they are."""
        return tensor_in(tensor, self.file)

    def of_rank(self, value: Var | Const, rank: int) -> Value:
        """Return a value of unknown rank as one of this rank, of the sizes that it then has."""
        wide = self.widened.get(value)
        return of_rank(value, rank, wide.value.type.shape if wide is not None and wide.rank == rank else None)

    def param(self, value: onnx.ValueInfoProto, recorded: Recording, type: Type | None = None) -> Var:
        """Return a parameter for an input, of its declared type.

        Raises UnsupportedFunction for one that is no tensor.
        """
        if not value.type.HasField("tensor_type"):
            kind = value.type.WhichOneof("value") or "value of no type"
            raise UnsupportedFunction(f"{self.path}: the input {value.name} is a {kind}, and no tensor")
        var = recorded.param(self.type(value) if type is None else type, value.name)
        self.values[value.name] = var
        return var

    def type(self, value: onnx.ValueInfoProto) -> Type:
        """Return the declared type; sizes that have no name get a fresh one."""
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            return Type(numpy_dtype(tensor.elem_type), None)
        stems = [f"{value.name}_{axis}" for axis in range(len(tensor.shape.dim))]
        stems[:1] = [Kinded(stem, SymbolKind.ROWS) for stem in stems[:1]]
        shape = list(map(self.dim, tensor.shape.dim, stems))
        return Type(numpy_dtype(tensor.elem_type), shape)

    def dim(self, dim: Any, stem: str) -> Dim:
        """Return a declared size. A negative one is how some exporters write one that they do not know."""
        if dim.HasField("dim_value"):
            return int(dim.dim_value) if dim.dim_value >= 0 else fresh(stem)
        named = named_size(dim.dim_param)
        return fresh(stem) if named is None else named

    def value(self, name: str) -> Entry | None:
        """Return the value of a name, None for no name."""
        if not name:
            return None
        if name not in self.values:
            raise ParseError(f"{self.path}: the value {name} is read before it is defined")
        return self.values[name]

    def record(self, graph: onnx.GraphProto, recorded: Recording) -> None:
        """Record the nodes of a graph. A value of unknown rank has the rank that the graph demands."""
        ranks = functools.cache(lambda: demanded(graph))
        for node in graph.node:
            self.count += 1
            recorded.place = place = self.place(node)
            before = len(recorded.ops)
            remarks = (p.value for p in node.metadata_props if p.key == "remark")
            recorded.remark = next((text for text in remarks if isinstance(text, str)), "")
            try:
                chosen = self.choices.look(node, self.values, place)
                made = self.node(node)
                self.choices.learn(node, chosen)
                if self.constants.holds(node):
                    made = stopped(made)
            except Exception as error:
                if isinstance(error, PrimsplitError):
                    error.place = error.place or place
                if not is_foreign(error):
                    raise
                reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
                raise ParseError(f"{node.op_type} cannot be read: {reason}", place=place) from error
            self.spend(1 if traits(node.op_type).bodies else max(1, (len(recorded.ops) - before) // OPS), place)
            if len(made) != len(node.output):
                told = f"has {len(node.output)} outputs, and gives {len(made)}"
                raise ParseError(f"{node.op_type} {told}", place=place)
            for name, value in zip(node.output, made, strict=True):
                if name and isinstance(value, Var | Const):
                    value.hint = value.hint or name
                    is_open = value.type.rank is None and name in ranks()
                    self.values[name] = self.of_rank(value, ranks()[name]) if is_open else value
                elif name:
                    self.values[name] = value

    def spend(self, nodes: int, place: Place) -> None:
        """Count recorded nodes: loops are unrolled, and their steps recorded again for wider types."""
        self.most -= nodes
        if self.most < 0:
            raise ParseError(
                f"{self.path} becomes too large while it is read",
                place=place,
                because=("its loops are unrolled step by step, or recorded again for each loop around them",),
                cure="Tell the shapes of inputs, specs={'x': 'f32[N,3]'}, or export it with fewer loops in each other.",
            )

    def node(self, node: onnx.NodeProto) -> Sequence[Entry]:
        """Record a node; return its outputs."""
        domain = domain_of(node.domain)
        version = self.versions.get(domain)
        domain = EARLIER if domain.startswith(EARLIER) else domain
        kind = f"{domain}::{node.op_type}" if domain else node.op_type
        is_defined = definition_of(kind, version) is not None
        if not is_defined and kind not in {gradient_node.KIND, BATCH_SCAN}:
            self.check_standard(node, domain, kind)
        if kind == "Constant":
            return (self.constant(node.attribute, self.roles.get(node.output[0] if node.output else "", "")),)
        entries = [self.value(name) for name in node.input]
        while entries and entries[-1] is None:
            entries.pop()
        if kind in {"If", "SequenceMap"} or (kind == "Loop" and any(map(is_held, entries))):
            return self.node_with_graphs(kind, entries, {a.name: a.g for a in node.attribute})
        if is_of_sequences(kind, entries):
            attributes = self.attributes(kind, node)
            return (record_sequence(kind, entries, attributes, self.aligned),)
        inputs = [None if x is None else require_tensor(x, node.op_type) for x in entries]
        if kind in KINDS:
            self.align_read_by(node)
            return record_nested(node, inputs, Reading(self.subgraph, self.tensors_of, self.aligned))
        attributes = self.attributes(kind, node)
        if kind == gradient_node.KIND:
            tensors = {n: v for n, v in self.values.items() if isinstance(v, Var | Const)}
            return gradient_node.record_gradient(inputs, attributes, tensors)
        if is_defined:
            recorder = functools.partial(_record_defined, version=version)
            return self.with_ranks(recorder, kind, inputs, attributes, len(node.output))
        if any(v is not None and v.type.dtype == BFLOAT16 for v in inputs):
            return self.with_ranks(_as_written, kind, inputs, attributes, len(node.output))
        return self.emitted(node.op_type, inputs, attributes, len(node.output))

    def attributes(self, kind: str, node: onnx.NodeProto) -> dict[str, Any]:
        """Return the attributes of a node. Raises ParseError if one is none of its operator's choices."""
        found = {a.name: self.attribute(a) for a in node.attribute}
        check_choices(kind.removeprefix(f"{EARLIER}::"), found)
        return found

    def emitted(
        self, kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        """Record an operator of the standard."""
        given = list(settled(kind, inputs, attributes, self.widened) if self.widened else inputs)
        if kind == "Split" and len(given) < 2 and "num_outputs" not in attributes:
            raise ParseError("Split has neither the sizes of its parts nor their number")
        if kind == "Split" and len(given) > 1 and given[1] is not None and given[1].sizes is None:
            given[1] = op.Reshape(Array(given[1]), [outputs]).value
        if kind == "Resize":  # until opset 12 what is not told is an empty vector, which may be an initializer
            given[1:] = [None if x is None or dims.same_shape(x.type.shape or (), (0,)) else x for x in given[1:]]
        return self.with_ranks(self.plain, kind, given, attributes, outputs)

    def with_ranks(
        self,
        recorder: Recorder,
        kind: str,
        given: Sequence[Value | None],
        attributes: Mapping[str, Any],
        outputs: int,
    ) -> Sequence[Value]:
        """Record a node; if it reads values of unknown rank, on aligned values if possible."""
        told = record_aligned(kind, given, attributes, outputs, self.aligned, recorder)
        return recorder(kind, given, attributes, outputs) if told is None else told

    def plain(
        self, kind: str, given: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        """Record an operator of the standard on inputs as they are."""
        if kind in {*REDUCTIONS, "ArgMax", "ArgMin"} and "keepdims" in attributes:
            attributes = {**attributes, "keepdims": int(attributes["keepdims"] == 1)}  # as onnxruntime reads it
        types = shape_vectors.declared(kind, given, self.shapes) if self.shapes else None
        made = emit(kind, given, attributes, outputs=outputs, types=types)
        check_node(Site(kind, given, attributes, outputs))
        if (integers := settled_integers(made)) is not None:
            return (integers,)
        if kind == "Concat" and made[0].type.dtype.kind == "i" and made[0].sizes is None:
            parts = shape_vectors.joined(given, attributes, self.shapes)
            if parts is not None:
                self.shapes[made[0]] = parts
        if kind == "Squeeze" and made[0].type.rank is None and len(given) == 1 and given[0] is not None:
            wide = widened_squeeze(given[0])
            if wide is not None:
                self.widened[made[0]] = wide
        return made

    def node_with_graphs(
        self, kind: str, inputs: Sequence[Entry | None], graphs: Mapping[str, onnx.GraphProto]
    ) -> Sequence[Entry]:
        """Record a node whose graphs may read and return sequences."""
        if kind == "If":
            sides = (graphs["else_branch"], graphs["then_branch"])
            return record_if(inputs[0] if inputs else None, sides, self.inner, self.widened)
        record = record_map if kind == "SequenceMap" else record_loop
        return record(inputs, graphs["body"], self.inner)

    def check_standard(self, node: onnx.NodeProto, domain: str, kind: str) -> None:
        """Raise UnsupportedFunction for a node that the pinned opset cannot express."""
        where = f"{self.path}: {told_node(node, self.count)} is {kind}"
        if reason := reason_of(kind):
            raise UnsupportedFunction(f"{where}, which {reason}", cure=CURE)
        if domain or not exists(kind):
            raise UnsupportedFunction(
                f"{where}, which is no operator of ONNX opset {OPSET}",
                cure=(
                    *filter(None, [near_names(kind, defined_names())]),
                    f"Define it, extend.defines({domain!r}, {node.op_type!r}), as docs/extending.md shows,",
                    "or export the model without it, or add a function of that name to it (ModelProto.functions).",
                ),
            )
        version = self.versions.get("", OPSET)
        if version > OPSET and differs(kind, version):
            raise UnsupportedFunction(f"{where} of opset {version}, which is another operator than that of {OPSET}")

    def constant(self, attributes: Sequence[onnx.AttributeProto], role: Role = "") -> Const:
        """Return the value of a Constant node, from its one attribute."""
        if not attributes:
            raise ParseError("a Constant has no value: a call of a function leaves it out")
        attribute = attributes[0]
        if attribute.name == "value":
            return Const(self.tensor(attribute.t), role=role)
        dtypes = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32, "value_floats": np.float32}
        return Const(np.asarray(self.attribute(attribute), dtypes.get(attribute.name, np.object_)), role=role)

    def attribute(self, attribute: onnx.AttributeProto) -> Any:
        """Return the value of an attribute as a Python object."""
        if attribute.type == onnx.AttributeProto.GRAPH:
            return self.subgraph(attribute.g)
        if attribute.type == onnx.AttributeProto.TENSOR:
            return self.tensor(attribute.t).numpy()
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        is_list = attribute.type in {onnx.AttributeProto.FLOATS, onnx.AttributeProto.INTS, onnx.AttributeProto.STRINGS}
        return [v.decode() if isinstance(v, bytes) else v for v in value] if is_list else value

    def subgraph(self, graph: onnx.GraphProto, types: Sequence[Type] | None = None) -> Block:
        """Return the block of a graph in a node, its inputs of these types, or as they are declared.

        Its names are local: a graph is recorded again if its types turn out to be wider.
        """
        stored = {t.name for t in graph.initializer}
        inputs = [v for v in graph.input if v.name not in stored]
        with recording() as inner:
            if types is None:
                params = [self.param(v, inner) for v in inputs]
            else:
                params = [inner.param(t, v.name) for t, v in zip(types, inputs, strict=True)]
            results = [require_tensor(x, "a graph") for x in self.inner(graph, params)]
        return close(graph.name or "body", params, inner, results)

    def align_read_by(self, node: onnx.NodeProto) -> None:
        """Align the values of unknown rank that the graphs of a node read, so that no step does."""
        graphs = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        for name in dict.fromkeys(n for graph in graphs for each in nodes_of(graph) for n in each.input):
            value = self.values.get(name)
            if isinstance(value, Var) and value.type.rank is None:
                aligned(value, self.aligned)

    def tensors_of(self, graph: onnx.GraphProto, given: Sequence[Value], known: Known) -> list[Value]:
        """Like `inner`, for a graph whose outputs are tensors."""
        return [require_tensor(x, "a graph") for x in self.inner(graph, given, known)]

    def inner(self, graph: onnx.GraphProto, given: Sequence[Entry], known: Known | None = None) -> list[Entry]:
        """Record the nodes of a graph in a node here, on given values for its inputs; return its outputs.

        Its names are local. `known` learns the aligned values in it.
        """
        outer, self.values = self.values, ChainMap({}, self.values)
        outside, self.aligned = self.aligned, ChainMap({} if known is None else known, self.aligned)
        try:
            stored = {t.name: self.initializer(t) for t in graph.initializer}
            inputs = [v for v in graph.input if v.name not in stored]
            self.choices.enter((v.name for v in inputs), stored)
            self.values.update((v.name, _as_declared(v, x)) for v, x in zip(inputs, given, strict=True))
            self.record(graph, tracing.current())
            return self.results(graph.output)
        finally:
            self.values, self.aligned = outer, outside

    def results(self, outputs: Iterable[onnx.ValueInfoProto]) -> list[Entry]:
        """Return a graph's outputs. Raises ParseError for a tensor of another dtype than declared."""
        found: list[Entry] = []
        for output in outputs:
            value = self.value(output.name)
            if value is None:
                raise ParseError(f"{self.path}: an output has no name")
            declared = output.type.tensor_type.elem_type
            if isinstance(value, Var | Const) and declared:
                self.check_dtype(output.name, value.type.dtype, numpy_dtype(declared))
            found.append(value)
        return found

    def check_dtype(self, name: str, dtype: np.dtype[Any], declared: np.dtype[Any]) -> None:
        """Raise ParseError for an output of another dtype than declared; texts have two dtypes."""
        if declared != dtype and dtype.kind not in "OUT":
            raise ParseError(f"{self.path}: the output {name} is {dtype}, and declared {declared}")


def _as_declared(declared: onnx.ValueInfoProto, given: Entry) -> Entry:
    """Return the value of a graph's input: a Loop's number and condition as vectors if they are declared so.

    The standard has them as scalars; onnxruntime passes the body what it declares.
    """
    dims_told = declared.type.tensor_type.shape.dim
    if isinstance(given, Var | Const) and given.type.rank == 0 and [d.dim_value for d in dims_told] == [1]:
        return op.Reshape(Array(given), [1]).value
    return given


def _record_defined(
    kind: str,
    inputs: Sequence[Value | None],
    attributes: Mapping[str, Any],
    outputs: int,
    *,
    version: int | None,
) -> tuple[Value, ...]:
    """Record a node by its definition, whose operators onnxruntime must accept too."""
    recorded = tracing.current()
    before = len(recorded.ops)
    made = record_call(kind, inputs, attributes, outputs, version=version)
    for step in recorded.ops[before:]:
        check_definition(step)
    return made


def _as_written(
    kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any], outputs: int
) -> tuple[Value, ...]:
    """Record an operator as a user writes it, which handles what the pinned opset does not accept."""
    made = getattr(op, kind)(*(v and Array(v) for v in inputs), outputs=outputs, **attributes)
    return tuple(x.value for x in as_list(made))
