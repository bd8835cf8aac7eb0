"""Operators that make arrays of sizes and numbers."""

import ast

import numpy as np

from primsplit.audit.expressions.nodes import Builder, Node, dtype_tree, number_tree, sizes_tree
from primsplit.audit.trees import call, literal, tree
from primsplit.ir import AnyArray, Op
from primsplit.programs.python_text import array_source


def constant_of_shape(node: Node) -> ast.expr:
    """Return an array of these sizes that is one number everywhere."""
    value = np.asarray(node.attribute("value", np.zeros(1, np.float32))).reshape(-1)[0]
    dtype = dtype_tree(value.dtype, node)
    sizes = sizes_tree(node.integers("shape", 0))
    if not value and not np.signbit(value):
        return call("np.zeros", sizes, dtype)
    return call("np.full", sizes, literal(value), dtype)


def held_by(op: Op) -> AnyArray | None:
    """Return the array that a node of the kind Constant holds; None for a sparse one and for texts."""
    (name, value) = next(iter(op.attributes.items()))
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    if name != "value" and name not in dtypes:
        return None
    array = np.asarray(value, dtypes.get(name))
    return array if array.dtype.kind in "biuf" else None


def constant(node: Node) -> ast.expr:
    """Return the array that a node holds."""
    array = held_by(node.op)
    if array is None:
        raise node.refusal("holds a sparse array or texts")
    return tree(array_source(array))


def evenly_spaced(node: Node) -> ast.expr:
    """Return the numbers from a start up to a limit, which is not among them."""
    dtype = node.dtype()
    kind = tree("a.dtype", a=node.argument(0)) if dtype is None else dtype_tree(dtype, node)
    ends = (node.argument(i) if node.rank(i) == 0 else number_tree(node, i) for i in range(3))
    return call("np.arange", *ends, dtype=kind)


BUILDERS: dict[str, Builder] = {
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Range": evenly_spaced,
}
