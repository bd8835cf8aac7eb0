"""Reductions over axes, sums along an axis, and the places of greatest and least elements."""

import ast
import math
from typing import Any

import numpy as np

from primsplit.audit.expressions.nodes import Builder, Node, axis_tree, dtype_tree, is_float, number_tree
from primsplit.audit.trees import call, literal, tree


def reduction(function: str, template: str = "a", result: str = "r") -> Builder:
    """Return the builder of `function` over axes, of an expression of its input, followed by one of its result."""

    def build(node: Node) -> ast.expr:
        axes = node.integers("axes", 1)
        is_empty_none = bool(node.attribute("noop_with_empty_axes", 0))
        if is_empty_none and axes in (None, []):
            return tree(result, r=tree(template, a=node.argument(0)))
        named = {} if axes is None or axes == [] else {"axis": _axes(axes, is_empty_none=is_empty_none)}
        if node.attribute("keepdims", 1):
            named["keepdims"] = literal(value=True)
        dtype = node.dtype()
        if function in {"np.sum", "np.prod"} and (dtype is None or (dtype.kind in "iu" and dtype.itemsize < 8)):
            named["dtype"] = tree("a.dtype", a=node.argument(0)) if dtype is None else dtype_tree(dtype, node)
        if function == "np.mean" and dtype is not None and dtype.kind in "iu":
            named["dtype"] = dtype_tree(dtype, node)
        if function in LEAST and any(d == 0 for d in node.shape() or () if isinstance(d, int)):
            named["initial"] = _bound(LEAST[function], dtype)
        return tree(result, r=call(function, tree(template, a=node.argument(0)), **named))

    return build


def _axes(axes: list[int] | ast.expr, *, is_empty_none: bool) -> ast.expr:
    if isinstance(axes, list):
        return axis_tree(axes)
    return tree("tuple(a)" if is_empty_none else "tuple(a) or None", a=axes)


LEAST = {"np.max": -1, "np.min": 1}
"""The sign of what these functions return for no elements."""


def _bound(sign: int, dtype: np.dtype[Any] | None) -> ast.expr:
    """Return the greatest number of a dtype, or the least."""
    if dtype is None or dtype.kind == "f":
        return literal(sign * math.inf)
    if dtype.kind == "b":
        return literal(value=sign > 0)
    return literal(int(np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min))


def place_of(function: str) -> Builder:
    """Return the builder of the place of an extreme element along an axis, the first or the last of equal ones."""

    def build(node: Node) -> ast.expr:
        axis = literal(node.axis(0))
        named = {"keepdims": literal(value=True)} if node.attribute("keepdims", 1) else {}
        if node.attribute("select_last_index", 0):
            return call("_last_place", tree(function), node.argument(0), axis, **named)
        return call(function, node.argument(0), axis=axis, **named)

    return build


def cumulated(function: str) -> Builder:
    """Return the builder of sums or products of all elements up to each one along an axis."""

    def build(node: Node) -> ast.expr:
        axis, a = number_tree(node, 1), node.argument(0)
        flags = {name: literal(value=True) for name in ("exclusive", "reverse") if node.attribute(name, 0)}
        if flags:
            return call("_cumulated", tree(function), a, axis, **flags)
        if is_float(node.dtype()):
            return call(function, a, axis=axis)
        return call(function, a, axis=axis, dtype=tree("a.dtype", a=a))

    return build


BUILDERS: dict[str, Builder] = {
    "ReduceSum": reduction("np.sum"),
    "ReduceMean": reduction("np.mean"),
    "ReduceProd": reduction("np.prod"),
    "ReduceMax": reduction("np.max"),
    "ReduceMin": reduction("np.min"),
    "ReduceL1": reduction("np.sum", "np.abs(a)"),
    "ReduceL2": reduction("np.sum", "np.square(a)", "np.sqrt(r)"),
    "ReduceSumSquare": reduction("np.sum", "np.square(a)"),
    "ReduceLogSum": reduction("np.sum", "a", "np.log(r)"),
    "ReduceLogSumExp": reduction("_logsumexp"),
    "ArgMax": place_of("np.argmax"),
    "ArgMin": place_of("np.argmin"),
    "CumSum": cumulated("np.cumsum"),
    "CumProd": cumulated("np.cumprod"),
}
