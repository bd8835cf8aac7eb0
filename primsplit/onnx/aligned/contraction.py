"""Record products of values of unknown rank: of matrices and vectors, and by an equation with an ellipsis."""

from collections.abc import Sequence

import numpy as np

from primsplit.onnx.aligned.node import END, Aligned, Form, Node, closed, of_sizes
from primsplit.ops import op
from primsplit.tracing.array import Array


def _product(node: Node) -> list[Aligned]:
    """Multiply a stack of matrices by one.

    A vector on the left is a row, on the right a column, which the result lacks.
    """
    left, right = node.aligned(0), node.aligned(1)
    (made,) = node.record(_stack(left, is_row=True), _stack(right, is_row=False))
    most, many = len(made.shape), op.Max(left.rank, right.rank, np.array([2]))
    shape = op.Slice(op.Shape(made), op.Sub(np.array([most]), many), [END])
    is_matrix = [op.Greater(side.rank, 1) for side in (left, right)]
    kept = op.Concat(op.Expand(np.array([True]), op.Sub(many, np.array([2]))), *is_matrix, axis=0)
    own = op.Compress(shape, kept, axis=0)
    return [of_sizes(made, own, op.Shape(own), most)]


def _stack(side: Aligned, *, is_row: bool) -> Array:
    """Return a factor with at least two axes."""
    shape, count = op.Shape(side.wide), len(side.wide.shape)
    if count == 1:
        return op.Unsqueeze(side.wide, [0 if is_row else 1])
    if is_row:
        return side.wide
    end = op.Slice(shape, [-1], [END])
    column = op.Concat(op.Slice(shape, [0], [-2]), end, op.Slice(shape, [-2], [-1]), axis=0)
    return op.Reshape(side.wide, op.Where(op.Equal(side.rank, 1), column, shape), allowzero=1)


def _equation(node: Node) -> Sequence[Aligned | Array]:
    """Align the axes of an ellipsis along their last ones; axes of size 1 are put in front of them."""
    left, arrow, result = node.attributes["equation"].replace(" ", "").partition("->")
    terms = left.split(",")
    for position, term in enumerate(terms):
        if "." not in term:
            node.settle(position, len(term))
    if not node.open_ones():
        return node.record(*node.arrays())
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        result = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    sources = [node.aligned(i) for i in range(len(terms))]
    named = [len(term.replace("...", "")) if "." in term else None for term in terms]
    most = max(len(x.wide.shape) - n for x, n in zip(sources, named, strict=True) if n is not None)
    sides, hidden = [], []
    for term, source, count in zip(terms, sources, named, strict=True):
        sides.append(source.wide if count is None else source.opened(term.index("."), count + most))
        hidden += [] if count is None else [op.Sub(source.rank, np.array([count]))]
    made = node.record(*sides, equation=f"{left}->{result}")
    before, dots, behind = result.partition("...")
    if not dots:
        return made
    rank = op.Add(op.Max(*hidden), np.array([len(before) + len(behind)]))
    return [closed(x, len(before), rank) for x in made]


def _sum(node: Node) -> list[Array]:
    """Stretch the addend to two axes."""
    node.stretch(2, 2)
    return node.record(*node.arrays())


def _determinant(node: Node) -> list[Aligned]:
    source = node.aligned(0)
    return [Aligned(x, op.Sub(source.rank, np.array([2]))) for x in node.record(source.wide)]


def _attention(node: Node) -> list[Array] | None:
    """Stretch a mask to batch, heads, queries and keys."""
    if node.open_ones() != [3]:
        return None
    node.stretch(3, 4)
    return node.record(*node.arrays())


FORMS: dict[str, Form] = {
    "Attention": _attention,
    "Det": _determinant,
    "Einsum": _equation,
    "Gemm": _sum,
    "MatMul": _product,
}
