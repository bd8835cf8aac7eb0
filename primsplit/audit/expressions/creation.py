"""Operators that make arrays of sizes and numbers."""

import ast

import numpy as np

from primsplit.audit.expressions.nodes import Builder, Node, dtype_tree, sizes_tree
from primsplit.audit.trees import call, literal, tree
from primsplit.programs.python_text import array_source


def constant_of_shape(node: Node) -> ast.expr:
    """Return an array of these sizes that is one number everywhere."""
    value = np.asarray(node.attribute("value", np.zeros(1, np.float32))).reshape(-1)[0]
    dtype = dtype_tree(value.dtype, node)
    sizes = sizes_tree(node.integers("shape", 0))
    if not value and not np.signbit(value):
        return call("np.zeros", sizes, dtype)
    return call("np.full", sizes, literal(value), dtype)


def constant(node: Node) -> ast.expr:
    """Return the array that a node holds."""
    given = {name: value for name, value in node.op.attributes.items() if not name.startswith("sparse")}
    if len(given) != 1:
        raise node.refusal("holds a sparse array")
    (name,) = given
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    array = np.asarray(given[name], dtypes.get(name))
    dtype_tree(array.dtype, node)
    return tree(array_source(array))


def evenly_spaced(node: Node) -> ast.expr:
    """Return the numbers from a start up to a limit, which is not among them."""
    dtype = node.dtype()
    kind = tree("a.dtype", a=node.argument(0)) if dtype is None else dtype_tree(dtype, node)
    return call("np.arange", *(node.argument(i) for i in range(3)), dtype=kind)


BUILDERS: dict[str, Builder] = {
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Range": evenly_spaced,
}
