"""A value that is folded into its readers, and how it is written where a reader needs its whole shape."""

import ast
from dataclasses import dataclass, field

from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.statements import Assignment
from primsplit.audit.trees import call, tree, tuple_of
from primsplit.ir import Op, dims
from primsplit.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Folded:
    """An expression in the place of a variable.

    `shape` is that of the expression, which NumPy repeats to the variable's; None where it is not known. `ops` are the
    nodes that are counted at the first reader. `statement` is the one that shows it where its reader has no room.
    `size` is the size that it holds, `added` the number of elements that are added for each of its own, `before` the
    value whose axes of size 1 it moves.
    """

    value: ast.expr
    shape: Shape | None
    ops: list[Op] = field(default_factory=list)
    statement: Assignment | None = None
    size: Dim | None = None
    added: Dim | None = None
    before: "Folded | None" = None


def materialized(folded: Folded, shape: Shape | None, sizes: Sizes) -> ast.expr:
    """Return an expression of this shape."""
    if folded.shape is None or shape is None or dims.same_shape(folded.shape, shape):
        return folded.value
    if folded.size is not None and len(shape) == 1:
        return tuple_of([folded.value])
    trees = [sizes.tree(size) for size in shape]
    known = [t for t in trees if t is not None]
    if len(known) < len(shape):
        return folded.value
    whole = known[0] if len(known) == 1 else tuple_of(known)
    if not folded.shape:
        return call("full", whole, folded.value)
    more = len(shape) - len(folded.shape)
    if more > 0 and dims.same_shape(folded.shape, shape[more:]) and all(map(dims.is_one, shape[:more])):
        return tree(f"a[{', '.join(['None'] * more)}]", a=folded.value)
    count = dims.product(folded.shape)
    if more >= 0 and not dims.same(count, dims.product(shape)):
        return call("broadcast_to", folded.value, whole)
    return call("reshape", folded.value, whole)
