"""Sequences, which are lists of arrays, and optional values, which may be None."""

import ast

from primsplit.audit.expressions.nodes import Builder, Node, number_tree
from primsplit.audit.trees import call, literal, tree


def construct(node: Node) -> ast.expr:
    """Return a list of the inputs."""
    return ast.List([node.argument(i) for i in range(len(node.arguments))], ast.Load())


def at(node: Node) -> ast.expr:
    """Return one array of a sequence."""
    return tree("a[k]", a=node.argument(0), k=number_tree(node, 1))


def insert(node: Node) -> ast.expr:
    """Return a sequence with one array more, at its end or before a place."""
    a, item = node.argument(0), node.argument(1)
    if not node.has(2):
        return tree("[*a, b]", a=a, b=item)
    return tree("[*a[:k], b, *a[k:]]", a=a, b=item, k=number_tree(node, 2))


def erase(node: Node) -> ast.expr:
    """Return a sequence without its last array, or without the one at a place."""
    if not node.has(1):
        return tree("a[:-1]", a=node.argument(0))
    return call("_erased", node.argument(0), number_tree(node, 1))


def split(node: Node) -> ast.expr:
    """Return the parts of an array along an axis as a sequence."""
    named = {"axis": literal(node.axis(0)), "keepdims": literal(node.attribute("keepdims", 1))}
    return call("_sequence_of", node.argument(0), *([node.argument(1)] if node.has(1) else []), **named)


def join(node: Node) -> ast.expr:
    """Return the arrays of a sequence joined along an axis, which may be new."""
    function = "np.stack" if node.attribute("new_axis", 0) else "np.concatenate"
    return call(function, node.argument(0), axis=literal(node.axis(0)))


BUILDERS: dict[str, Builder] = {
    "SequenceConstruct": construct,
    "SequenceEmpty": lambda _: literal([]),
    "SequenceAt": at,
    "SequenceInsert": insert,
    "SequenceErase": erase,
    "SequenceLength": lambda node: tree("np.int64(len(a))", a=node.argument(0)),
    "SplitToSequence": split,
    "ConcatFromSequence": join,
    "Optional": lambda node: node.argument(0) if node.has(0) else literal(None),
    "OptionalGetElement": lambda node: node.argument(0),
    "OptionalHasElement": lambda node: (
        tree("np.bool_(a is not None)", a=node.argument(0)) if node.has(0) else tree("np.bool_(False)")
    ),
}
