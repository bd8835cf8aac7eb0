"""Write nodes as calls of functions by their usual names: `softmax(x, axis=1)`, `sigmoid(x)`, `relu(x)`."""

import ast
import re
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.expressions.nodes import Node, each
from primsplit.audit.expressions.table import built
from primsplit.audit.mathematics.simplify import number_tree
from primsplit.audit.trees import call, literal
from primsplit.ir import Block, Const, Value
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.notation.literals import quoted
from primsplit.ops.traits import traits

NAMED = {
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "LayerNormalization": "layer_norm",
    "ReduceLogSumExp": "logsumexp",
}
"""Functions with a usual name and attributes. No trait: how people call them is not true of the operator."""
TEMPLATES = {
    "Sigmoid": "sigmoid(a)",
    "Relu": "relu(a)",
    "Softplus": "softplus(a)",
    "Gelu": "gelu(a)",
    "Clip": "clip(a, b, c)",
}
"""Functions with a usual name. No trait: how people call them is not true of the operator."""


def mathematical(node: Node) -> ast.expr:
    """Return a node as an expression that people read; as a call of its operator where there is no other form."""
    node = _with_numbers(node)
    if node.op.kind in TEMPLATES and None not in node.arguments:
        return each(TEMPLATES[node.op.kind])(node)
    if node.op.kind not in NAMED:
        try:
            return _pooled(node, built(node))
        except PrimsplitError:
            pass
    return called(node)


def _pooled(node: Node, value: ast.expr) -> ast.expr:
    """Return a pool that gives its greatest elements alone, without the index of these."""
    if node.op.kind != "MaxPool":
        return value
    if isinstance(value, ast.Subscript):
        return value.value
    assert isinstance(value, ast.Call)
    return call("max_pool_and_places", *value.args, **{str(k.arg): k.value for k in value.keywords})


def _with_numbers(node: Node) -> Node:
    """Return an elementwise node with a number in the place of each array that is the same everywhere."""
    if traits(node.op.kind).broadcasts != "all":
        return node
    known = [_number(None if v is None else node.known.get(v, v)) for v in node.op.inputs]
    weak, arguments = (
        tuple(a if n is None else n for n, a in zip(known, given, strict=True)) for given in (node.weak, node.arguments)
    )
    return replace(node, weak=weak, arguments=arguments)


def _number(value: Value | None) -> ast.expr | None:
    number = value.number if isinstance(value, Const) else None
    if number is None or number.dtype.kind not in "iuf":
        return None
    return number_tree(number.item(), number.dtype.type)


def called(node: Node) -> ast.expr:
    """Return a node as the call of its operator, with its attributes."""
    kind = node.op.kind.rpartition("::")[2]
    title = NAMED.get(kind) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()
    given = {n: v for n, v in node.op.attributes.items() if _is_told(v)}
    named = {quoted(n): literal(_shortest(v)) for n, v in given.items()}
    if node.op.kind == "ReduceLogSumExp":
        return built(node)
    return call(re.sub(r"\W", "_", title), *(literal(None) if a is None else a for a in node.arguments), **named)


def _shortest(value: Any) -> Any:
    """Return an attribute, whose float has 32 bits in a file, with the fewest digits: `1e-05`."""
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _is_told(value: Any) -> bool:
    """Whether a listing shows an attribute: a number or some."""
    return not isinstance(value, Block | np.ndarray)
