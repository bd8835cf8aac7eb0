"""Reductions over axes, sums along an axis, and the places of greatest and least elements."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node, axis_tree, dtype_tree
from primsplit.audit.trees import call, literal, tree


def reduction(function: str, template: str = "a", result: str = "r") -> Builder:
    """Return the builder of `function` over axes, of an expression of its input, followed by one of its result."""

    def build(node: Node) -> ast.expr:
        axes = node.integers("axes", 1)
        if axes == [] and node.attribute("noop_with_empty_axes", 0):
            return tree(result, r=tree(template, a=node.argument(0)))
        named = {} if axes is None or axes == [] else {"axis": _axes(axes)}
        if node.attribute("keepdims", 1):
            named["keepdims"] = literal(value=True)
        dtype = node.dtype()
        if function in {"np.sum", "np.prod"} and (dtype is None or (dtype.kind in "iu" and dtype.itemsize < 8)):
            named["dtype"] = tree("a.dtype", a=node.argument(0)) if dtype is None else dtype_tree(dtype, node)
        if function == "np.mean" and dtype is not None and dtype.kind in "iu":
            named["dtype"] = dtype_tree(dtype, node)
        return tree(result, r=call(function, tree(template, a=node.argument(0)), **named))

    return build


def _axes(axes: list[int] | ast.expr) -> ast.expr:
    return axis_tree(axes) if isinstance(axes, list) else tree("tuple(a)", a=axes)


def place_of(function: str) -> Builder:
    """Return the builder of the place of an extreme element along an axis, the first or the last of equal ones."""

    def build(node: Node) -> ast.expr:
        axis = literal(node.axis(0))
        named = {"keepdims": literal(value=True)} if node.attribute("keepdims", 1) else {}
        if node.attribute("select_last_index", 0):
            return call("_last_place", tree(function), node.argument(0), axis, **named)
        return call(function, node.argument(0), axis=axis, **named)

    return build


def cumulative_sum(node: Node) -> ast.expr:
    """Return the sums of all elements up to each one along an axis."""
    numbers = node.constant(1)
    axis = literal(int(numbers.reshape(-1)[0])) if numbers is not None else tree("int(a)", a=node.argument(1))
    flags = {name: literal(value=True) for name in ("exclusive", "reverse") if node.attribute(name, 0)}
    if flags:
        return call("_cumsum", node.argument(0), axis, **flags)
    return tree("np.cumsum(a, axis=k, dtype=a.dtype)", a=node.argument(0), k=axis)


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
    "CumSum": cumulative_sum,
}
