"""Find the ranks of values that inference does not know: nodes that take only one rank demand it, or it is declared.

```
y = Conv(x: float32[...], w: [8,3,5,5])   ->   x has rank 4
```

A `Conv` with a kernel of two axes reads images of four: if its input has no rank, it has four axes in every run that
does not fail. Such a demand goes back through nodes that keep the number of axes. A declared rank is believed too,
since a run in which it is wrong fails (`of_rank`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from primsplit.ir import Type, Value
from primsplit.ir.dims import Shape
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.onnx.versions import domain_of
from primsplit.ops import op
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array

Attributes = Mapping[str, onnx.AttributeProto]
Shapes = Mapping[str, tuple[int, ...]]
"""The shapes of weights and constants by name."""

SPATIAL = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_padding": 1, "pads": 2}
"""Attributes of windows, and how many numbers they have for each axis of the image."""
NUMBERS = {"Pad": ("pads", "paddings"), "Upsample": ("scales",)}
"""Attributes of earlier versions that hold the same numbers."""


def demanded(graph: onnx.GraphProto) -> dict[str, int]:
    """Return the ranks of a graph's values by name that its nodes demand, and else those that they are declared with.

    Declarations without axes say nothing: that is also how files write a shape that they do not know.
    """
    shapes = _constants(graph)
    found: dict[str, int] = {}
    for value in (*graph.value_info, *graph.output):
        if len(value.type.tensor_type.shape.dim):
            found[value.name] = len(value.type.tensor_type.shape.dim)
    for node in reversed(graph.node):
        if domain_of(node.domain) in {"", "ai.onnx.preview"} or node.domain.startswith(EARLIER):
            found.update(_of_inputs(node, found, shapes))
    return found


def of_rank(value: Value, rank: int, shape: Shape | None = None) -> Value:
    """Return a value of unknown rank as one with so many axes, of this shape.

    A run in which it has another rank fails.
    """
    sizes: Any = op.Reshape(op.Shape(Array(value)), [rank]) if rank else np.zeros(0, np.int64)
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
    """Yield the inputs of a node whose rank it demands."""
    attributes = {a.name: a for a in node.attribute}
    given = ranks.get(node.output[0]) if node.output else None
    found = _by_position(node, attributes, shapes)
    yield from ((name, rank) for name, rank in zip(node.input, found, strict=False) if name and rank is not None)
    if found and found[0] is not None:
        return
    if node.op_type == "Einsum" and "equation" in attributes:
        yield from _of_equation(node.input, attributes["equation"].s.decode())
    elif given is not None and node.op_type == "Concat":
        yield from ((name, given) for name in node.input)
    elif given is not None and traits(node.op_type).keeps_rank and node.input:
        yield node.input[0], given


def _by_position(node: onnx.NodeProto, attributes: Attributes, shapes: Shapes) -> Sequence[int | None]:
    """Return the ranks of the inputs, if the operator, its attributes, or the shapes of other inputs determine them."""
    kind = node.op_type
    if kind == "Transpose" and "perm" in attributes:
        return (len(attributes["perm"].ints),)
    if kind in {"Attention", "RotaryEmbedding"}:
        return _of_heads(node, attributes)
    if traits(kind).windows and not traits(kind).ranks and kind != "QLinearConv":
        rank = _of_window(node, attributes, shapes)
        return (rank, rank, 1 if kind in {"Conv", "ConvTranspose"} else None)
    for name in NUMBERS.get(kind, ()):
        if name in attributes:
            told = attributes[name]
            return (len(told.ints or told.floats) // (2 if kind == "Pad" else 1),)
    if traits(kind).per_axis and "axes" not in attributes and (kind != "Pad" or len(node.input) < 4):
        positions = (1,) if kind == "Resize" and node.domain.startswith(EARLIER) else traits(kind).per_axis
        vectors = [shapes.get(name, ()) for i, name in enumerate(node.input) if i in positions]
        counts = [shape[0] for shape in vectors if len(shape) == 1 and shape[0]]
        rank = counts[0] // (2 if kind == "Pad" else 1) if counts else None
        return (rank, *traits(kind).ranks[1:])
    if "spatial" in attributes and not attributes["spatial"].i:
        return ()  # a BatchNormalization with statistics for each element
    return traits(kind).ranks


def _of_heads(node: onnx.NodeProto, attributes: Attributes) -> Sequence[int | None]:
    """Attention has heads in an axis of their own, or packed, with attributes that are only for three axes.

    Packed or not, RotaryEmbedding may have the attribute `num_heads`.
    """
    if node.op_type == "RotaryEmbedding":
        has_positions = len(node.input) > 3 and node.input[3] != ""
        caches = 2 if has_positions else 3
        return (None if "num_heads" in attributes else 4, caches, caches, 2)
    rank = 3 if "q_num_heads" in attributes else 4
    return (rank, rank, rank, None, 4, 4, 1)


def _of_window(node: onnx.NodeProto, attributes: Attributes, shapes: Shapes) -> int | None:
    """Return the rank of the image, and of the weights: one axis for each number of a window."""
    for name, each in SPATIAL.items():
        if name in attributes and attributes[name].ints:
            return len(attributes[name].ints) // each + 2
    return len(shapes.get(node.input[1], ())) or None if len(node.input) > 1 else None


def _of_equation(names: Iterable[str], equation: str) -> Iterator[tuple[str, int]]:
    """Yield the ranks of operands whose axes an Einsum names one by one."""
    operands = equation.replace(" ", "").partition("->")[0].split(",")
    yield from ((name, len(axes)) for name, axes in zip(names, operands, strict=False) if "." not in axes)
