"""Convolutions and pools."""

import ast
from typing import Any

from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.audit.expressions.normalization import first_of
from primsplit.audit.trees import call, literal, tree

SAME = {"SAME_UPPER", "SAME_LOWER"}


def geometry(node: Node, axes: int) -> dict[str, ast.expr]:
    """Return strides, dilations and pads as arguments; the pads are a text where they follow from the sizes."""
    kind = node.attribute("auto_pad", "NOTSET")
    pads: Any = kind if kind in SAME else list(node.attribute("pads", [0] * (2 * axes)))
    if kind == "VALID":
        pads = [0] * (2 * axes)
    return {
        "strides": literal(list(node.attribute("strides", [1] * axes))),
        "dilations": literal(list(node.attribute("dilations", [1] * axes))),
        "pads": literal(pads),
    }


def _axes(node: Node) -> int:
    """Return the number of axes that windows slide over."""
    kernel = node.attribute("kernel_shape")
    if kernel is not None:
        return len(kernel)
    rank = node.rank(1) or node.rank(0)
    if rank is None:
        raise node.refusal("has inputs of a number of axes that the file does not tell")
    return rank - 2


def _group(node: Node) -> dict[str, ast.expr]:
    group = node.attribute("group", 1)
    return {} if group == 1 else {"group": literal(group)}


def _given(node: Node) -> list[ast.expr]:
    return [literal(None) if a is None else a for a in node.arguments]


def conv(node: Node) -> ast.expr:
    """Return a convolution."""
    return call("_conv", *_given(node), **geometry(node, _axes(node)), **_group(node))


def conv_transpose(node: Node) -> ast.expr:
    """Return a transposed convolution, with the pads that its size asks for."""
    axes = _axes(node)
    told = geometry(node, axes)
    extra = list(node.attribute("output_padding", [0] * axes))
    wanted, kind = node.attribute("output_shape"), node.attribute("auto_pad", "NOTSET")
    if wanted is not None or kind in SAME:
        pads, extra = _pads_of(node, axes, extra, wanted)
        told["pads"] = literal(pads)
    return call("_conv_transpose", *_given(node), **told, extra=literal(extra), **_group(node))


def _pads_of(node: Node, axes: int, extra: list[int], wanted: list[int] | None) -> tuple[list[int], list[int]]:
    """Return the pads, and what is added to the sizes, of a transposed convolution that has these sizes."""
    sizes, weights = node.shape(0), node.shape(1)
    if sizes is None or weights is None or not all(isinstance(n, int) for n in (*sizes[2:], *weights[2:])):
        raise node.refusal("has pads that follow from sizes that the file does not tell")
    strides = list(node.attribute("strides", [1] * axes))
    dilations = list(node.attribute("dilations", [1] * axes))
    low, high, more = [], [], []
    for i in range(axes):
        n, k, s = sizes[2 + i], weights[2 + i], strides[i]
        target = wanted[len(wanted) - axes + i] if wanted is not None else n * s
        total = (n - 1) * s + extra[i] + (k - 1) * dilations[i] + 1 - target
        more.append(extra[i] - min(total, 0))
        total = max(total, 0)
        is_upper = node.attribute("auto_pad", "NOTSET") == "SAME_UPPER"
        low.append(total // 2 if is_upper else total - total // 2)
        high.append(total - low[-1])
    return [*low, *high], more


def pool(function: str, **flags: str) -> Builder:
    """Return the builder of a pool; `flags` are arguments by the attributes that set them."""

    def build(node: Node) -> ast.expr:
        kernel = list(node.attribute("kernel_shape"))
        told = {"kernel": literal(kernel), **geometry(node, len(kernel))}
        for name, attribute in {"ceil": "ceil_mode", **flags}.items():
            if node.attribute(attribute, 0):
                told[name] = literal(value=True)
        return call(function, node.argument(0), **told)

    return build


def max_pool(node: Node) -> ast.expr:
    """Return the greatest elements, and their places if the node has them as a result."""
    return first_of(pool("_max_pool", columns="storage_order")(node), len(node.op.outputs), 2)


def lp_pool(node: Node) -> ast.expr:
    """Return norms of windows."""
    found = pool("_lp_pool")(node)
    assert isinstance(found, ast.Call)
    found.keywords.append(ast.keyword("p", literal(node.attribute("p", 2))))
    return found


def over_all(template: str) -> Builder:
    """Return the builder of a function of all axes behind the first two, which are `axes` in a template."""

    def build(node: Node) -> ast.expr:
        rank, a = node.rank(), node.argument(0)
        axes = tree("tuple(range(2, a.ndim))", a=a) if rank is None else literal(tuple(range(2, rank)))
        return tree(template, a=a, axes=axes, p=literal(node.attribute("p", 2)))

    return build


def max_unpool(node: Node) -> ast.expr:
    """Return an array with elements at the places that they were taken from."""
    sizes = node.shape(0)
    if sizes is None or not all(isinstance(n, int) for n in sizes):
        raise node.refusal("has inputs of sizes that the file does not tell")
    kernel = node.attribute("kernel_shape")
    strides, pads = node.attribute("strides", [1] * len(kernel)), node.attribute("pads", [0] * (2 * len(kernel)))
    behind = [
        (n - 1) * s - pads[i] - pads[len(kernel) + i] + k
        for i, (n, s, k) in enumerate(zip(sizes[2:], strides, kernel, strict=True))
    ]
    return call("_max_unpool", *_given(node)[:2], literal((*sizes[:2], *behind)), *_given(node)[2:])


BUILDERS: dict[str, Builder] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "MaxPool": max_pool,
    "AveragePool": pool("_average_pool", with_pads="count_include_pad"),
    "LpPool": lp_pool,
    "MaxUnpool": max_unpool,
    "GlobalAveragePool": over_all("np.mean(a, axis=axes, keepdims=True)"),
    "GlobalMaxPool": over_all("np.max(a, axis=axes, keepdims=True)"),
    "GlobalLpPool": over_all("np.sum(np.abs(a) ** p, axis=axes, keepdims=True) ** (1 / p)"),
}
