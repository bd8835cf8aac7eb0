"""Discrete Fourier transforms."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node, number_tree
from primsplit.audit.trees import call, literal


def dft(node: Node) -> ast.expr:
    """Return a transform along an axis, which is an attribute before opset 20."""
    named = {name: literal(node.attribute(name)) for name in ("inverse", "onesided") if node.attribute(name, 0)}
    if node.has(1):
        named["length"] = node.argument(1)
    if node.opset < 20:
        named["axis"] = literal(node.axis(1))
    elif node.has(2):
        named["axis"] = number_tree(node, 2)
    return call("_dft", node.argument(0), **named)


BUILDERS: dict[str, Builder] = {"DFT": dft}
