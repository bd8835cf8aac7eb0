"""Ranks of values that inference knows none of, where the file tells: at a node that takes one rank only, or declared.

A `Conv` with a kernel of two axes reads images of four: where its input has no rank, that input has four axes in every
run that does not fail. Such a demand goes back through nodes that keep the number of axes. What a value is declared to
have is believed too, since a run in which it has not fails (`of_rank`).
"""

from collections.abc import Iterable, Iterator, Mapping

import onnx

from primsplit.array import Array
from primsplit.dims import Shape
from primsplit.infer.elementwise import UNARY
from primsplit.ir import Type, Value
from primsplit.onnxio.versions import domain_of
from primsplit.ops import op

Attributes = Mapping[str, onnx.AttributeProto]
Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of weights and constants by name."""

KEEPING = frozenset(UNARY) | {
    *("BatchNormalization", "Cast", "CastLike", "Dropout", "GroupNormalization", "InstanceNormalization"),
    *("LayerNormalization", "Pad", "RMSNormalization", "Slice", "Tile"),
}
"""Operators whose first output has as many axes as their first input."""
FIXED = {
    **dict.fromkeys(("DepthToSpace", "MaxRoiPool", "RoiAlign", "SpaceToDepth"), 4),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), 3),
    "Gemm": 2,
}
"""Operators whose first input has so many axes; of Gemm the second too."""
WINDOWS = frozenset(
    {"AveragePool", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "LpPool", "MaxPool", "MaxUnpool"}
)
VECTORS = {"Pad": (1,), "Resize": (2, 3), "Tile": (1,), "Upsample": (1,)}
"""Inputs with a number for each axis of the first one; Pad has two."""


def demanded(graph: onnx.GraphProto) -> dict[str, int]:
    """The ranks of a graph's values by name that its nodes demand, and else those that they are declared with.

    Declarations without axes say nothing: that is also how files write a shape that they do not know.
    """
    shapes = _constants(graph)
    found: dict[str, int] = {}
    for value in (*graph.value_info, *graph.output):
        if len(value.type.tensor_type.shape.dim):
            found[value.name] = len(value.type.tensor_type.shape.dim)
    for node in reversed(graph.node):
        if domain_of(node.domain) == "":
            found.update(_of_inputs(node, found, shapes))
    return found


def of_rank(value: Value, rank: int, shape: Shape | None = None) -> Value:
    """A value of unknown rank as one with so many axes, of this shape; a run in which it has not so many fails."""
    sizes = op.Reshape(op.Shape(Array(value)), [rank])
    types = None if shape is None else [Type(value.type.dtype, shape)]
    return op.Reshape(Array(value), sizes, allowzero=1, types=types).value


def _constants(graph: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    found = {v.name: tuple(d.dim_value for d in v.type.tensor_type.shape.dim) for v in graph.input}
    found.update((t.name, tuple(t.dims)) for t in graph.initializer)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute:
            told = node.attribute[0]
            found[node.output[0]] = tuple(told.t.dims) if told.HasField("t") else (len(told.ints or told.floats),)
    return found


def _of_inputs(node: onnx.NodeProto, ranks: Mapping[str, int], shapes: Shapes) -> Iterator[tuple[str, int]]:
    """The inputs of a node whose rank it demands."""
    attributes = {a.name: a for a in node.attribute}
    given = ranks.get(node.output[0]) if node.output else None
    rank = _of_first(node, attributes, shapes) if node.input else None
    if rank is not None:
        yield from ((name, rank) for name in node.input[: 2 if node.op_type == "Gemm" else 1])
    elif node.op_type == "Einsum":
        yield from _of_equation(node.input, attributes["equation"].s.decode())
    elif given is not None and node.op_type == "Concat":
        yield from ((name, given) for name in node.input)
    elif given is not None and node.op_type in KEEPING:
        yield node.input[0], given


def _of_first(node: onnx.NodeProto, attributes: Attributes, shapes: Shapes) -> int | None:
    """The rank of the first input where the attributes tell it, or the shapes of the other inputs."""
    kind = node.op_type
    if kind == "Transpose" and "perm" in attributes:
        return len(attributes["perm"].ints)
    if kind in WINDOWS and "kernel_shape" in attributes:
        return len(attributes["kernel_shape"].ints) + 2
    if kind in WINDOWS:
        return len(shapes.get(node.input[1], ())) or None if len(node.input) > 1 else None
    if kind in VECTORS and "axes" not in attributes and (kind != "Pad" or len(node.input) < 4):
        vectors = [shapes.get(name, ()) for i, name in enumerate(node.input) if i in VECTORS[kind]]
        counts = [shape[0] for shape in vectors if len(shape) == 1 and shape[0]]
        return counts[0] // (2 if kind == "Pad" else 1) if counts else None
    return FIXED.get(kind)


def _of_equation(names: Iterable[str], equation: str) -> Iterator[tuple[str, int]]:
    """The ranks of operands whose axes an Einsum names one by one."""
    operands = equation.replace(" ", "").partition("->")[0].split(",")
    yield from ((name, len(axes)) for name, axes in zip(names, operands, strict=False) if "." not in axes)
