"""The table of builders: the expression of a node by the kind of its operator."""

import ast

from primsplit.audit.expressions import (
    activations,
    creation,
    elementwise,
    indexing,
    layout,
    normalization,
    ordering,
    products,
    reductions,
    sequences,
    windows,
)  # fmt: skip
from primsplit.audit.expressions.nodes import Builder, Node

BUILDERS: dict[str, Builder] = {
    **elementwise.BUILDERS,
    **reductions.BUILDERS,
    **products.BUILDERS,
    **layout.BUILDERS,
    **creation.BUILDERS,
    **indexing.BUILDERS,
    **activations.BUILDERS,
    **normalization.BUILDERS,
    **windows.BUILDERS,
    **ordering.BUILDERS,
    **sequences.BUILDERS,
}


def expression(node: Node) -> ast.expr:
    """Return the expression of a node. Raises PrimsplitError for an operator that has none."""
    build = BUILDERS.get(node.op.kind)
    if build is None:
        raise node.refusal("has no form in NumPy")
    return build(node)
