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
    quantization,
    recurrent,
    reductions,
    resizing,
    sequences,
    spectra,
    windows,
)
from primsplit.audit.expressions.nodes import Builder, Node
from primsplit.tracing.own_errors import own_errors

FAMILIES = (
    activations,
    creation,
    elementwise,
    indexing,
    layout,
    normalization,
    ordering,
    products,
    quantization,
    recurrent,
    reductions,
    resizing,
    sequences,
    spectra,
    windows,
)
BUILDERS: dict[str, Builder] = {kind: build for family in FAMILIES for kind, build in family.BUILDERS.items()}


def expression(node: Node) -> ast.expr:
    """Return the expression of a node. Raises PrimsplitError for an operator or a dtype that NumPy does not have."""
    node.check_dtypes()
    return built(node)


def built(node: Node) -> ast.expr:
    """Return the expression of a node of any dtype. Raises PrimsplitError for an operator that has none."""
    build = BUILDERS.get(node.op.kind)
    if build is None:
        raise node.refusal("has no form in NumPy")
    with own_errors(f"{node.op.kind} has no form in NumPy"):
        return build(node)
