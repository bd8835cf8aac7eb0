"""Contracts arrays over named axes: einsum, tensordot, inner and dot are all recorded by this module.

    np.einsum("ij,jk,k->i", a, b, v)      # a [N,M], b [M,M], v [M]
    becomes
    b v:        MatMul(b, Unsqueeze(v, [1])), Squeeze
    a (b v):    MatMul(a, Unsqueeze(b v, [1])), Squeeze

A `Term` is an array whose axes carry labels. Terms are contracted two at a time. Each pair becomes one MatMul (labels
kept in both are batch axes), or Mul and ReduceSum if no axis is left free, or only Mul if nothing is summed.
"""

import string
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size, product
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.broadcasting import expand_to, of_size, reshape_to, transpose

Label = str | int | tuple[str, int]
Labels = tuple[Label, ...]

NOMINAL = 64
"""The size that a symbol is taken to have where an order of contractions is chosen."""


@dataclass(frozen=True, slots=True)
class Term:
    """A factor of a sum of products: one label an axis."""

    array: Array
    labels: Labels

    def size(self, label: Label) -> Dim:
        """The size of the axis with this label."""
        return self.array.shape[self.labels.index(label)]

    def ordered(self, order: Sequence[Label]) -> "Term":
        """The axes in the order that their labels have in `order`."""
        labels = tuple(label for label in order if label in self.labels)
        return Term(transpose(self.array, [self.labels.index(label) for label in labels]), labels)

    def summed(self, gone: Iterable[Label]) -> "Term":
        """The sum over the axes with these labels."""
        axes = [self.labels.index(label) for label in gone]
        if not axes:
            return self
        kept = tuple(label for i, label in enumerate(self.labels) if i not in axes)
        return Term(op.ReduceSum(self.array, sorted(axes), keepdims=0), kept)


def sum_of_products(terms: Sequence[Term], output: Sequence[Label]) -> Array:
    """The product of the terms, summed over every label that is not in `output`.

    The axes of the result are in the order of `output`. An axis of size 1 broadcasts. Raises ShapeError at the
    user's line where a label has sizes that can never be equal.
    """
    left = _unified([_diagonal(term) for term in terms])
    for pair in _contraction_order(left, output):
        chosen = [left[i] for i in pair]
        left = [term for i, term in enumerate(left) if i not in pair]
        wanted = {*output, *(label for term in left for label in term.labels)}
        left.append(_contract_all(chosen, wanted, output))
    return left[0].ordered(output).array


def _diagonal(term: Term) -> Term:
    """The term with each repeated label's axes replaced by their diagonal."""
    array, labels = term.array, list(term.labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if not dims.could_be(array.shape[first], array.shape[second]):
                raise _mismatch(label, array.shape[first], array.shape[second])
            array = of_size(array, second, array.shape[first])
            array = FUNCTIONS[np.diagonal](array, axis1=first, axis2=second)
            labels = [*(x for i, x in enumerate(labels) if i not in {first, second}), label]
    return Term(array, tuple(labels))


def _mismatch(label: Label, one: Dim, other: Dim) -> ShapeError:
    return ShapeError(f"the axes {label!r} have sizes {one} and {other}", place=tracing.user_place())


def _unified(terms: Sequence[Term]) -> list[Term]:
    """The terms with every label of one size: axes of size 1 that broadcast are dropped, undecided ones expanded."""
    sizes: dict[Label, Dim] = {}
    for term in terms:
        for label, size in zip(term.labels, term.array.shape, strict=True):
            met = dims.meet(sizes.get(label, 1), size)
            if met is None:
                raise _mismatch(label, sizes[label], size)
            sizes[label] = met
    return [_with_sizes(term, sizes) for term in terms]


def _with_sizes(term: Term, sizes: dict[Label, Dim]) -> Term:
    shape = term.array.shape
    narrow = [i for i, label in enumerate(term.labels) if dims.is_one(shape[i]) and not dims.is_one(sizes[label])]
    array = op.Squeeze(term.array, narrow) if narrow else term.array
    labels = tuple(label for i, label in enumerate(term.labels) if i not in narrow)
    return Term(expand_to(array, tuple(sizes[label] for label in labels)), labels)


def _contraction_order(terms: Sequence[Term], output: Sequence[Label]) -> list[tuple[int, ...]]:
    """Which one or two terms to contract at each step, whose product goes to the end: NumPy's greedy order.

    Symbols count as NOMINAL.
    """
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    labels = dict.fromkeys(label for term in terms for label in term.labels)
    letters = dict(zip(labels, string.ascii_letters, strict=False))
    names = ["".join(letters[label] for label in term.labels) for term in terms]
    shapes = [tuple(NOMINAL if isinstance(d, Size) else d for d in term.array.shape) for term in terms]
    equation = ",".join(names) + "->" + "".join(letters[label] for label in output)
    path, _ = np.einsum_path(equation, *(np.broadcast_to(0.0, s) for s in shapes), optimize="greedy")
    return _in_pairs(path[1:], len(terms))


def _in_pairs(path: Sequence[Sequence[int]], count: int) -> list[tuple[int, ...]]:
    """The steps of a path, those that contract more than two terms at once taken apart."""
    present, steps = list(range(count)), []
    for step in path:
        group = [present[i] for i in step]
        while len(group) > 1:
            steps.append(tuple(sorted(present.index(term) for term in group[:2])))
            made = count + len(steps)
            present = [*(term for term in present if term not in group[:2]), made]
            group = [*group[2:], made]
    return steps


def _contract_all(terms: Sequence[Term], wanted: set[Label], order: Sequence[Label]) -> Term:
    if len(terms) == 1:
        return terms[0].summed([label for label in terms[0].labels if label not in wanted])
    left, right = (without_own(term, other, wanted) for term, other in ((terms[0], terms[1]), (terms[1], terms[0])))
    return contract(left, right, wanted, order)


def without_own(term: Term, other: Term, wanted: Collection[Label]) -> Term:
    """The term summed over labels that only it has and nobody wants."""
    return term.summed([label for label in term.labels if label not in wanted and label not in other.labels])


def contract(left: Term, right: Term, wanted: set[Label], order: Sequence[Label]) -> Term:
    """The product of two terms, summed over the labels that both have and nobody wants.

    `order` is the order in which the caller would like the labels; the result may have another.
    """
    shared = [label for label in left.labels if label in right.labels]
    summed = [label for label in shared if label not in wanted]
    if not summed:
        return _multiply(left, right, order)
    batch = [label for label in order if label in shared and label in wanted]
    batch += [label for label in shared if label in wanted and label not in batch]
    rows = [label for label in left.labels if label not in shared]
    columns = [label for label in right.labels if label not in shared]
    if not rows and not columns:
        return _multiply(left, right, [*batch, *summed]).summed(summed)
    if _comes_first(columns, rows, order):
        left, right, rows, columns = right, left, columns, rows
    return _matrix_product(left, right, (batch, rows, summed, columns))


def _comes_first(columns: Sequence[Label], rows: Sequence[Label], order: Sequence[Label]) -> bool:
    """Return whether the caller wants the right term's free axes before the left term's."""
    places = {label: i for i, label in enumerate(order)}
    wanted = [[places[label] for label in labels if label in places] for labels in (columns, rows)]
    return bool(wanted[0] and wanted[1] and max(wanted[0]) < min(wanted[1]))


def _multiply(left: Term, right: Term, order: Sequence[Label]) -> Term:
    """The product without a sum, by broadcasting; the outer product of two vectors by MatMul, which is faster."""
    labels = [label for label in order if label in left.labels or label in right.labels]
    labels += [label for label in (*left.labels, *right.labels) if label not in labels]
    labels = list(dict.fromkeys(labels))
    if len(left.labels) == len(right.labels) == 1 and left.labels != right.labels:
        column, row = (left, right) if labels[0] == left.labels[0] else (right, left)
        return Term(op.MatMul(op.Unsqueeze(column.array, [1]), op.Unsqueeze(row.array, [0])), tuple(labels))
    wide = [widened(term.ordered(labels), labels) for term in (left, right)]
    return Term(op.Mul(*wide), tuple(labels))


def widened(term: Term, labels: Sequence[Label]) -> Array:
    """The array with an axis of size 1 for each label it lacks; leading ones are left out."""
    missing = [i for i, label in enumerate(labels) if label not in term.labels]
    lead = next((i for i, label in enumerate(labels) if label in term.labels), len(labels))
    new = [i - lead for i in missing if i >= lead]
    return op.Unsqueeze(term.array, new) if new else term.array


Groups = tuple[Sequence[Label], Sequence[Label], Sequence[Label], Sequence[Label]]


def _matrix_product(left: Term, right: Term, groups: Groups) -> Term:
    """[batch, rows, summed] times [batch, summed, columns], each group but the batch merged into one axis."""
    batch, rows, summed, columns = groups
    summed = [label for label in left.labels if label in summed]
    free = [*batch, *rows, *columns]
    shape = [left.size(label) if label in left.labels else right.size(label) for label in free]
    flat = not batch and len(summed) == 1 and len(columns) == 1 and len(rows) > 0
    a = left.ordered([*batch, *rows, *summed]).array
    a = a if flat else _merged(a, len(batch), len(rows))
    b = _merged(right.ordered([*batch, *summed, *columns]).array, len(batch), len(summed))
    product_axes = op.MatMul(a, b)
    if not rows or not columns:
        product_axes = op.Squeeze(product_axes, [len(batch)] if not rows else [len(product_axes.shape) - 1])
    return Term(reshape_to(product_axes, shape), tuple(free))


def _merged(x: Array, batch: int, first: int) -> Array:
    """`x` with the `first` axes after the batch axes as one axis, and the rest as another."""
    lead, middle, last = x.shape[:batch], x.shape[batch : batch + first], x.shape[batch + first :]
    if len(middle) == len(last) == 1:
        return x
    if len(middle) + len(last) == 1:
        return op.Unsqueeze(x, [batch if not middle else batch + 1])
    return reshape_to(x, [*lead, product(middle), product(last)])
