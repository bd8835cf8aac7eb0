"""The text of a node's expression, for tests of families of operators."""

import ast
import string
from typing import Any

import numpy as np

from primsplit.audit.expressions.nodes import Node
from primsplit.audit.expressions.table import expression
from primsplit.audit.trees import literal, name
from primsplit.ir import Const, Op, Type, Value, Var


def node_of(kind: str, *inputs: Any, outputs: int = 1, result: Any = None, opset: int = 21, **attributes: Any) -> Node:
    """A node whose inputs are variables a, b, c of these types, constants, or None; a type may be None: not told.

    A type is a text such as "float32[2,3]"; of the inputs that are arrays the expressions are literals.
    """
    letters = iter(string.ascii_lowercase)
    values: list[Value | None] = []
    types: dict[Value, Type] = {}
    trees: list[ast.expr | None] = []
    for given in inputs:
        if isinstance(given, np.ndarray | np.generic):
            values.append(Const(np.asarray(given)))
            trees.append(literal(given))
            continue
        own = next(letters)
        var = Var(typed(given) or Type("float32", None), own)
        if given not in {None, "?"}:
            types[var] = var.type
        values.append(None if given is None else var)
        trees.append(None if given is None else name(own))
    made = tuple(Var(typed(result) or Type("float32", None), f"y{i}") for i in range(outputs))
    types.update({v: v.type for v in made if result is not None})
    op = Op(kind, tuple(values), made, attributes)
    return Node(op, tuple(trees), tuple(trees), types, {}, "node", opset)


def typed(text: str | None) -> Type | None:
    """`float32[2,3]` as a type."""
    if text in {None, "?"} or text is None:
        return None
    dtype, _, sizes = text.rstrip("]").partition("[")
    return Type(dtype, [int(n) for n in sizes.split(",") if n])


def text_of(kind: str, *inputs: Any, **more: Any) -> str:
    """The expression of a node as text."""
    return ast.unparse(expression(node_of(kind, *inputs, **more)))
