"""Quantized numbers: integers that stand for floats."""

import ast

import numpy as np
import onnx.helper

from primsplit.audit.expressions.nodes import Builder, Node, dtype_tree, helper
from primsplit.audit.trees import call, literal, tree


def quantize(node: Node) -> ast.expr:
    """Return numbers as integers of the zero point's dtype, or of the one that the node names."""
    code = node.attribute("output_dtype", 0)
    if node.has(2):
        told = node.dtype(2)
        dtype = tree("a.dtype", a=node.argument(2)) if told is None else dtype_tree(told, node)
        zero = node.argument(2)
    else:
        named = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code)) if code else np.dtype(np.uint8)
        dtype, zero = dtype_tree(named, node), literal(None)
    return call("_quantize", node.argument(0), node.argument(1), zero, dtype, **_places(node))


def dequantize(node: Node) -> ast.expr:
    """Return the floats that integers stand for."""
    zero = [node.argument(2)] if node.has(2) else []
    return call("_dequantize", node.argument(0), node.argument(1), *zero, **_places(node))


def _places(node: Node) -> dict[str, ast.expr]:
    told = {"axis": (node.axis(1), 1), "block": (node.attribute("block_size", 0), 0)}
    return {name: literal(value) for name, (value, default) in told.items() if value != default}


BUILDERS: dict[str, Builder] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "MatMulInteger": helper("_integer_matmul"),
}
