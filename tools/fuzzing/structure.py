"""Changes of a model that keep it a graph: nodes, edges, attributes, constants, types, graphs and functions."""

import functools
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import onnx
import onnx.defs
from onnx import helper, numpy_helper

from tests.onnx.seeds import ODD_FLOATS, ODD_NUMBERS, ODD_TEXTS
from tools.fuzzing.corpus import some_model

Change = Callable[[onnx.ModelProto, Random], None]
SMALL_NUMBERS = (-3, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 5)
DTYPES = ("float32", "float32", "float64", "float16", "int64", "int64", "int32", "int8", "uint8", "bool", "object")


@functools.cache
def operators() -> list[Any]:
    """The newest schema of every operator of the standard."""
    return [s for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated]


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and those in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def _names(graph: onnx.GraphProto) -> list[str]:
    values = [v.name for v in (*graph.input, *graph.initializer)]
    return [*values, *(o for n in graph.node for o in n.output), ""]


def _a_graph(model: onnx.ModelProto, random: Random) -> onnx.GraphProto:
    return random.choice(list(graphs_of(model.graph)))


def _a_node(model: onnx.ModelProto, random: Random) -> onnx.NodeProto:
    graph = _a_graph(model, random)
    nodes = list(graph.node) or list(model.graph.node)
    found: onnx.NodeProto = random.choice(nodes) if nodes else model.graph.node.add(op_type="Neg")
    return found


def number(random: Random) -> int:
    """A whole number, most often one that may be meant."""
    return random.choice(SMALL_NUMBERS if random.random() < 0.7 else ODD_NUMBERS)


def odd_value(kind: Any, random: Random) -> Any:
    """A value for an attribute of this type."""
    kinds = onnx.defs.OpSchema.AttrType
    texts = (*ODD_TEXTS, "linear", "nearest", "reflect", "SAME_UPPER", "VALID", "sum", "mean", "none")
    one: dict[Any, Callable[[], Any]] = {
        kinds.INT: lambda: number(random),
        kinds.FLOAT: lambda: random.choice(ODD_FLOATS),
        kinds.STRING: lambda: random.choice(texts),
        kinds.TENSOR: lambda: tensor("", random),
        kinds.GRAPH: lambda: some_model(random).graph,
    }
    many = {kinds.INTS: kinds.INT, kinds.FLOATS: kinds.FLOAT, kinds.STRINGS: kinds.STRING}
    if kind in many:
        return [one[many[kind]]() for _ in range(random.choice((1, 1, 2, 2, 3, 4, 9)))]
    return one[kind]() if kind in one else number(random)


def tensor(name: str, random: Random) -> onnx.TensorProto:
    """A small tensor of any dtype; numbers of it may be odd."""
    shape = tuple(random.choice((0, 1, 1, 2, 3)) for _ in range(random.choice((0, 1, 1, 1, 2, 3))))
    dtype = random.choice(DTYPES)
    if dtype == "object":
        text = random.choice(ODD_TEXTS).encode()
        return onnx.TensorProto(name=name, data_type=onnx.TensorProto.STRING, dims=[1], string_data=[text])
    found = np.full(shape, random.choice(ODD_FLOATS), np.float64).astype(dtype) if dtype[0] == "f" else None
    if found is None:
        span = np.iinfo("int8" if dtype == "bool" else dtype)
        count = math.prod(shape)
        found = np.array([min(max(number(random), span.min), span.max) for _ in range(count)], dtype).reshape(shape)
    return numpy_helper.from_array(found, name)


def rewire(model: onnx.ModelProto, random: Random) -> None:
    """Let a node read another value."""
    graph = _a_graph(model, random)
    nodes = [n for n in graph.node if n.input]
    if nodes:
        node = random.choice(nodes)
        node.input[random.randrange(len(node.input))] = random.choice(_names(graph) + _names(model.graph))


def more_inputs(model: onnx.ModelProto, random: Random) -> None:
    """Give a node an input more, or one less."""
    node = _a_node(model, random)
    if node.input and random.random() < 0.4:
        del node.input[random.randrange(len(node.input))]
    else:
        node.input.append(random.choice(_names(model.graph)))


def other_operator(model: onnx.ModelProto, random: Random) -> None:
    """Let a node be another operator."""
    _a_node(model, random).op_type = random.choice(operators()).name


def insert(model: onnx.ModelProto, random: Random) -> None:
    """Put a node of any operator between a value and one of its readers."""
    graph, schema = model.graph, random.choice(operators())
    count = max(schema.min_input, min(len(schema.inputs), random.choice((1, 1, 2, 3))))
    node = helper.make_node(schema.name, [random.choice(_names(graph)) for _ in range(count)], [])
    node.output.extend(f"new_{len(graph.node)}_{i}" for i in range(max(1, schema.min_output)))
    for name, attribute in schema.attributes.items():
        if attribute.required or random.random() < 0.3:
            _set(node, name, attribute.type, random)
    place = random.randrange(len(graph.node) + 1)
    graph.node.insert(place, node)
    readers = [n for n in list(graph.node)[place + 1 :] if n.input]
    if readers:
        reader = random.choice(readers)
        reader.input[random.randrange(len(reader.input))] = node.output[0]


def _set(node: onnx.NodeProto, name: str, kind: Any, random: Random) -> None:
    for place in [i for i, a in enumerate(node.attribute) if a.name == name][::-1]:
        del node.attribute[place]
    value = odd_value(kind, random)
    try:
        node.attribute.append(helper.make_attribute(name, value))
    except (ValueError, TypeError, OverflowError):
        node.attribute.add(name=name, type=onnx.AttributeProto.INT, i=1)


def attribute(model: onnx.ModelProto, random: Random) -> None:
    """Give an attribute another value, or a node an attribute that its operator may have."""
    node = _a_node(model, random)
    known = {s.name: s for s in operators()}.get(node.op_type)
    if known is not None and known.attributes:
        name = random.choice(sorted(known.attributes))
        _set(node, name, known.attributes[name].type, random)


def drop(model: onnx.ModelProto, random: Random) -> None:
    """Take a node, or an attribute, away."""
    graph = _a_graph(model, random)
    if graph.node:
        place = random.randrange(len(graph.node))
        node = graph.node[place]
        if node.attribute and random.random() < 0.5:
            del node.attribute[random.randrange(len(node.attribute))]
        else:
            del graph.node[place]


def constant(model: onnx.ModelProto, random: Random) -> None:
    """Give an initializer, or a Constant, other numbers or sizes; or make an input a constant."""
    held = [t for graph in graphs_of(model.graph) for t in graph.initializer]
    held += [a.t for graph in graphs_of(model.graph) for n in graph.node for a in n.attribute if a.HasField("t")]
    if held and random.random() < 0.7:
        found = random.choice(held)
        _other_numbers(found, random)
    elif model.graph.input:
        value = model.graph.input[random.randrange(len(model.graph.input))]
        model.graph.initializer.append(tensor(value.name, random))


def _other_numbers(found: onnx.TensorProto, random: Random) -> None:
    try:
        array = numpy_helper.to_array(found)
    except (ValueError, TypeError):
        array = np.zeros(0)
    if not (array.dtype.kind in "iu" and array.size) or random.random() < 0.3:
        found.CopyFrom(tensor(found.name, random))
        return
    changed, span = array.copy(), np.iinfo(array.dtype)
    changed.reshape(-1)[random.randrange(changed.size)] = min(max(number(random), span.min), span.max)
    found.CopyFrom(numpy_helper.from_array(changed, found.name))


def size(model: onnx.ModelProto, random: Random) -> None:
    """Declare an input or output of another shape or dtype."""
    graph = _a_graph(model, random)
    values = [*graph.input, *graph.output]
    if not values:
        return
    declared = random.choice(values).type.tensor_type
    what = random.random()
    if what < 0.1:
        declared.ClearField("shape")
    elif what < 0.2:
        declared.elem_type = random.choice((1, 1, 6, 7, 9, 10, 11, 16, 8, 14))
    elif what < 0.35 or not declared.shape.dim:
        declared.shape.dim.add().dim_value = max(0, number(random))
    elif what < 0.5:
        del declared.shape.dim[random.randrange(len(declared.shape.dim))]
    else:
        dim = random.choice(declared.shape.dim)
        if random.random() < 0.6:
            dim.dim_value = number(random)
        else:
            dim.dim_param = random.choice(ODD_TEXTS)


def into_branch(model: onnx.ModelProto, random: Random) -> None:
    """Put the last node into both sides of an If."""
    graph = model.graph
    if not graph.node:
        return
    last = graph.node.pop()
    ends = [onnx.ValueInfoProto(name=o) for o in last.output if o]
    sides = {}
    for side in ("then_branch", "else_branch"):
        node = onnx.NodeProto()
        node.CopyFrom(last)
        for place, name in enumerate(node.output):
            node.output[place] = f"{side}_{name}" if name else ""
        sides[side] = helper.make_graph([node], side, [], [onnx.ValueInfoProto(name=f"{side}_{v.name}") for v in ends])
    condition = numpy_helper.from_array(np.array(random.random() < 0.5), f"if_{len(graph.node)}")
    graph.initializer.append(condition)
    graph.node.append(helper.make_node("If", [condition.name], [v.name for v in ends], **sides))


def into_function(model: onnx.ModelProto, random: Random) -> None:
    """Make a node the call of a function that holds it."""
    nodes = [n for n in model.graph.node if not n.domain and n.input]
    if not nodes:
        return
    node = random.choice(nodes)
    name = f"held_{len(model.functions)}"
    inside = onnx.NodeProto()
    inside.CopyFrom(node)
    takes, gives = sorted({i for i in node.input if i}), [o for o in node.output if o]
    function = helper.make_function("held", name, takes, gives, [inside], list(model.opset_import))
    model.functions.append(function)
    node.CopyFrom(helper.make_node(name, takes, gives, domain="held"))
    if all(o.domain != "held" for o in model.opset_import):
        model.opset_import.append(helper.make_opsetid("held", 1))
    model.ir_version = max(model.ir_version, 8)


def opset(model: onnx.ModelProto, random: Random) -> None:
    """Say that the model is of another opset."""
    if model.opset_import:
        random.choice(model.opset_import).version = random.choice((*range(1, 27), *ODD_NUMBERS))


def graft(model: onnx.ModelProto, random: Random) -> None:
    """Add the nodes of another model behind this one's, which read its values."""
    other, known = some_model(random).graph, _names(model.graph)
    renamed = {v.name: random.choice(known) for v in other.input if random.random() < 0.7}
    for node in other.node:
        added = model.graph.node.add()
        added.CopyFrom(node)
        for place, name in enumerate(node.input):
            added.input[place] = renamed.get(name, name)
    for field in ("initializer", "output"):
        getattr(model.graph, field).extend(getattr(other, field))
    model.graph.input.extend(v for v in other.input if v.name not in renamed)


def output(model: onnx.ModelProto, random: Random) -> None:
    """Make another value an output, with or without those that there are."""
    if random.random() < 0.4 and model.graph.output:
        del model.graph.output[random.randrange(len(model.graph.output))]
    model.graph.output.append(onnx.ValueInfoProto(name=random.choice(_names(model.graph))))


CHANGES: tuple[Change, ...] = (
    rewire, rewire, more_inputs, other_operator, insert, insert, attribute, attribute, drop, constant, constant,
    size, size, into_branch, into_function, opset, graft, output,
)  # fmt: skip


def changed_structure(model: onnx.ModelProto, random: Random) -> None:
    """Change a model in one to five places."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        random.choice(CHANGES)(model, random)
