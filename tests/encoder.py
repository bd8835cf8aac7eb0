"""A layer of nn.TransformerEncoder, node by node as torch.onnx.export writes it."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, HIDDEN = 8, 2, 16
WEIGHTS = {
    "in_w": (WIDTH, 3 * WIDTH), "in_b": (3 * WIDTH,), "out_w": (WIDTH, WIDTH), "out_b": (WIDTH,),
    "w1": (WIDTH, HIDDEN), "b1": (HIDDEN,), "w2": (HIDDEN, WIDTH), "b2": (WIDTH,),
    "norm1_w": (WIDTH,), "norm1_b": (WIDTH,), "norm2_w": (WIDTH,), "norm2_b": (WIDTH,),
}  # fmt: skip


class Builder:
    """Adds nodes to a graph, each with a result of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"/layer/{kind}_{len(self.nodes)}_output_0"
        self.nodes.append(helper.make_node(kind, [*inputs], [name], **attributes))
        return name

    def constant(self, value: Any, dtype: str = "int64") -> str:
        return self.node("Constant", value=numpy_helper.from_array(np.array(value, dtype)))


def encoder(opset: int = 17, *, gelu: bool = False, mask: bool = False, written_norm: bool = False) -> onnx.ModelProto:
    """The model: x [B, T, WIDTH] and the weights, with the sizes read by Shape, Gather and Concat."""
    b = Builder()
    batch, steps = (_size(b, "x", axis) for axis in (0, 1))
    made = b.node("Add", "in_b", b.node("MatMul", "x", "in_w"))
    shape = _shape(b, batch, steps, 3 * HEADS, WIDTH // HEADS)
    heads = b.node("Transpose", b.node("Reshape", made, shape, allowzero=0), perm=[0, 2, 1, 3])
    parts = b.constant([HEADS] * 3)
    names = ["q", "k", "v"]
    b.nodes.append(helper.make_node("Split", [heads, parts], names, axis=1))
    scaled = b.node("Div", "q", b.node("Sqrt", b.constant(float(WIDTH // HEADS), "float32")))
    scores = b.node("MatMul", scaled, b.node("Transpose", "k", perm=[0, 1, 3, 2]))
    if mask:
        scores = b.node("Add", scores, "mask")
    mixed = b.node("Transpose", b.node("MatMul", b.node("Softmax", scores, axis=-1), "v"), perm=[0, 2, 1, 3])
    joined = b.node("Reshape", mixed, _shape(b, batch, steps, WIDTH), allowzero=0)
    out = b.node("Add", "out_b", b.node("MatMul", joined, "out_w"))
    x = _norm(b, b.node("Add", "x", out), "norm1", written=written_norm)
    hidden = b.node("Add", "b1", b.node("MatMul", x, "w1"))
    hidden = _gelu(b, hidden) if gelu else b.node("Relu", hidden)
    moved = b.node("Add", "b2", b.node("MatMul", hidden, "w2"))
    y = _norm(b, b.node("Add", x, moved), "norm2", written=written_norm)
    b.nodes.append(helper.make_node("Identity", [y], ["y"]))
    inputs: dict[str, Any] = {"x": ["B", "T", WIDTH], **({"mask": ["T", "T"]} if mask else {}), **WEIGHTS}
    told = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [*s]) for n, s in inputs.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", "T", WIDTH])
    graph = helper.make_graph(b.nodes, "main_graph", told, [result], b.tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def arrays(batch: int, steps: int, *, mask: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs and weights of the model."""
    random = np.random.default_rng(0)
    shapes = {"x": (batch, steps, WIDTH), **({"mask": (steps, steps)} if mask else {}), **WEIGHTS}
    return {n: (random.standard_normal(s) / 2 + n.endswith("_w")).astype("f") for n, s in shapes.items()}


def _size(b: Builder, value: str, axis: int) -> str:
    return b.node("Gather", b.node("Shape", value), b.constant(axis), axis=0)


def _shape(b: Builder, *sizes: Any) -> str:
    parts = [b.constant([s]) if isinstance(s, int) else b.node("Unsqueeze", s, b.constant([0])) for s in sizes]
    return b.node("Concat", *parts, axis=0)


def _norm(b: Builder, x: str, name: str, *, written: bool) -> str:
    """LayerNormalization, or its parts as opsets below 17 have them."""
    if not written:
        return b.node("LayerNormalization", x, f"{name}_w", f"{name}_b", axis=-1, epsilon=1e-5)
    apart = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1]))
    square = b.node("ReduceMean", b.node("Pow", apart, b.constant(2.0, "float32")), axes=[-1])
    deviation = b.node("Sqrt", b.node("Add", square, b.constant(1e-5, "float32")))
    return b.node("Add", b.node("Mul", b.node("Div", apart, deviation), f"{name}_w"), f"{name}_b")


def _gelu(b: Builder, x: str) -> str:
    erf = b.node("Erf", b.node("Div", x, b.constant(2.0**0.5, "float32")))
    return b.node("Mul", b.node("Mul", x, b.node("Add", erf, b.constant(1.0, "float32"))), b.constant(0.5, "float32"))
