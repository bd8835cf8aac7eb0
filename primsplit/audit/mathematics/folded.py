"""A value that is folded into its readers, and how it is written where a reader needs its whole shape."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.mathematics.terms import is_number
from primsplit.audit.statements import Assignment
from primsplit.audit.trees import call, literal, tree, tuple_of
from primsplit.ir import Op, dims
from primsplit.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Folded:
    """An expression in the place of a variable.

    `shape` is that of the expression, which NumPy repeats to the variable's; None where it is not known. `ops` are the
    nodes that are counted at the first reader. `statement` is the one that shows it where its reader has no room.
    `size` is the size that it holds, `added` the number of elements that are added for each of its own, `before` the
    value whose axes of size 1 it moves. `view` is the variable's shape where that has the same elements in other axes:
    elementwise operations leave the axes, and need not show the reshape.
    """

    value: ast.expr
    shape: Shape | None
    ops: list[Op] = field(default_factory=list)
    statement: Assignment | None = None
    size: Dim | None = None
    added: Dim | None = None
    before: "Folded | None" = None
    view: Shape | None = None


def whole(folded: Folded | None, sizes: Sizes) -> Folded | None:
    """Return a value in the axes of its variable."""
    if folded is None or folded.view is None:
        return folded
    return replace(folded, value=materialized(folded, folded.view, sizes), shape=folded.view, view=None)


def same_view(values: Sequence[Folded | None], result: Shape | None) -> tuple[Shape, Shape] | None:
    """Return the axes in which an elementwise operation is written, and those of its result's variable.

    All of its values have these; None for others.
    """
    arrays = [f for f in values if f is not None and f.shape != ()]
    if not arrays or result is None:
        return None
    known = [(f.shape, f.view) for f in arrays if f.shape is not None and f.view is not None]
    first = next(((axes, view) for axes, view in known if dims.same_shape(view, result)), None)
    if first is None or len(known) < len(arrays):
        return None
    same = all(_is_pair(axes, first[0], view, first[1]) for axes, view in known)
    return first if same else None


def _is_pair(axes: Shape, other: Shape, view: Shape, seen: Shape) -> bool:
    """Whether a value has the axes and the view of another one, or the rows of both with one element each."""
    if dims.same_shape(axes, other) and dims.same_shape(view, seen):
        return True
    is_row = dims.is_one(axes[-1]) and dims.is_one(view[-1]) and dims.same(other[-1], seen[-1])
    return is_row and dims.same_shape(axes[:-1], other[:-1]) and dims.same_shape(view[:-1], seen[:-1])


def materialized(folded: Folded, shape: Shape | None, sizes: Sizes) -> ast.expr:
    """Return an expression of this shape."""
    if folded.shape is None or shape is None or dims.same_shape(folded.shape, shape):
        return folded.value
    if folded.size is not None and len(shape) == 1 and dims.is_one(shape[0]):
        return tuple_of([folded.value])
    trees = [sizes.tree(size) for size in shape]
    known = [t for t in trees if t is not None]
    if len(known) < len(shape):
        return folded.value
    every = known[0] if len(known) == 1 else tuple_of(known)
    if not folded.shape:
        return call("zeros", every) if is_number(folded.value, 0) else call("full", every, folded.value)
    more = len(shape) - len(folded.shape)
    if more > 0 and dims.same_shape(folded.shape, shape[more:]) and all(map(dims.is_one, shape[:more])):
        return tree(f"a[{', '.join(['None'] * more)}]", a=folded.value)
    count = dims.product(folded.shape)
    if more >= 0 and not dims.same(count, dims.product(shape)):
        return call("broadcast_to", folded.value, every)
    symbolic = [i for i, size in enumerate(shape) if not isinstance(size, int)]
    if len(symbolic) == 1:
        known[symbolic[0]] = literal(-1)
    return ast.Call(ast.Attribute(folded.value, "reshape", ast.Load()), known or [tuple_of(())], [])
