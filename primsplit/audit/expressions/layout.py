"""Operators that move elements as a whole: shapes, transposes, joins, splits, pads."""

import ast

import numpy as np

from primsplit.audit.expressions.nodes import Builder, Node, axis_tree, number_tree, sizes_tree
from primsplit.audit.trees import call, literal, tree, tuple_of


def reshape(node: Node) -> ast.expr:
    """Return an array in another shape; a size of 0 is that of the input's axis, unless zeros are allowed."""
    sizes = node.integers("shape", 1)
    allows_zero = bool(node.attribute("allowzero", 0))
    if isinstance(sizes, list) and (allows_zero or 0 not in sizes):
        return call_method(node.argument(0), "reshape", *(map(literal, sizes) if sizes else [literal(())]))
    if allows_zero:
        return call_method(node.argument(0), "reshape", sizes_tree(sizes))
    return call("_reshape", node.argument(0), sizes_tree(sizes))


def call_method(of: ast.expr, method: str, *arguments: ast.expr) -> ast.expr:
    """Return the call of a method."""
    return ast.Call(ast.Attribute(of, method, ast.Load()), [*arguments], [])


def flatten(node: Node) -> ast.expr:
    """Return a matrix: the axes before one and those from it on are joined."""
    return call("_flatten", node.argument(0), literal(node.axis(1)))


def expand(node: Node) -> ast.expr:
    """Return an array repeated along axes that it lacks or has with size 1."""
    sizes = sizes_tree(node.integers("shape", 1))
    if node.rank() == 0:
        return call("np.full", sizes, node.argument(0))
    return call("_expand", node.argument(0), sizes)


def transpose(node: Node) -> ast.expr:
    """Return an array with its axes in another order."""
    order = node.attribute("perm")
    if order is None or list(order) == [*range(len(order))][::-1]:
        return tree("a.T", a=node.argument(0))
    return call("np.transpose", node.argument(0), literal(tuple(order)))


def squeeze(node: Node) -> ast.expr:
    """Return an array without some axes of size 1, or without all of them."""
    axes = node.integers("axes", 1)
    if axes is None:
        return call("np.squeeze", node.argument(0))
    return call("np.squeeze", node.argument(0), axis=_axis(axes))


def unsqueeze(node: Node) -> ast.expr:
    """Return an array with new axes of size 1."""
    axes = node.integers("axes", 1)
    assert axes is not None
    return call("np.expand_dims", node.argument(0), axis=_axis(axes))


def _axis(axes: list[int] | ast.expr) -> ast.expr:
    return axis_tree(axes) if isinstance(axes, list) else tree("tuple(a)", a=axes)


def shape(node: Node) -> ast.expr:
    """Return the sizes of an array, or of some of its axes."""
    start, end = node.attribute("start", 0), node.attribute("end")
    found = tree("a.shape", a=node.argument(0))
    if start or end is not None:
        part = "a[i:j]" if start and end is not None else "a[i:]" if start else "a[:j]"
        found = tree(part, a=found, i=literal(start), j=literal(end))
    rank = node.rank()
    is_empty = rank is None or not range(rank)[start:end]
    return call("np.array", found, *([tree("np.int64")] if is_empty else []))


def concatenate(node: Node) -> ast.expr:
    """Return arrays joined along an axis."""
    parts = [node.argument(i) for i in range(len(node.arguments))]
    return call("np.concatenate", tuple_of(parts), axis=literal(node.axis(1)))


def split(node: Node) -> ast.expr:
    """Return the parts of an array along an axis."""
    sizes, axis = node.integers("split", 1), literal(node.axis(0))
    if sizes is None:
        return call("_split", node.argument(0), literal(len(node.op.outputs)), axis)
    if isinstance(sizes, list):
        where = literal([int(v) for v in np.cumsum(sizes)[:-1]])
    else:
        where = tree("np.cumsum(a)[:-1]", a=sizes)
    return call("np.split", node.argument(0), where, axis=axis)


def pad(node: Node) -> ast.expr:
    """Return an array with elements before and behind those of each axis."""
    pads, axes = node.integers("pads", 1), node.integers("axes", 3)
    mode = node.attribute("mode", "constant")
    rank = node.rank()
    value = literal(node.attribute("value", 0.0)) if not node.has(2) else node.argument(2)
    is_plain = isinstance(pads, list) and min(pads, default=0) >= 0 and axes is None and rank and len(pads) == 2 * rank
    if is_plain and mode == "constant":
        assert isinstance(pads, list)
        assert rank is not None
        widths = literal(tuple(zip(pads[:rank], pads[rank:], strict=True)))
        return call("np.pad", node.argument(0), widths, constant_values=value)
    named = {} if axes is None else {"axes": literal(axes) if isinstance(axes, list) else axes}
    if mode != "constant":
        named["mode"] = literal(mode)
    elif node.has(2) or "value" in node.op.attributes:
        named["value"] = value
    return call("_pad", node.argument(0), literal(pads) if isinstance(pads, list) else sizes_tree(pads), **named)


def triangle(node: Node) -> ast.expr:
    """Return the upper or lower triangle of matrices, zeros elsewhere."""
    numbers = node.constant(1)
    is_shifted = node.has(1) and (numbers is None or bool(numbers.any()))
    offset = [number_tree(node, 1)] if is_shifted else []
    return call("np.triu" if node.attribute("upper", 1) else "np.tril", node.argument(0), *offset)


def tile(node: Node) -> ast.expr:
    """Return an array repeated along each axis."""
    return call("np.tile", node.argument(0), sizes_tree(node.integers("repeats", 1)))


BUILDERS: dict[str, Builder] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Expand": expand,
    "Transpose": transpose,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Shape": shape,
    "Size": lambda node: tree("np.int64(a.size)", a=node.argument(0)),
    "Concat": concatenate,
    "Split": split,
    "Pad": pad,
    "Trilu": triangle,
    "Tile": tile,
}
