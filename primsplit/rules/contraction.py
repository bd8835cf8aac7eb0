"""Derivative rules of products that sum over an axis: MatMul, Gemm, Einsum, and Det.

```
y = MatMul(a, b)   ->   da = MatMul(dy, Transpose(b)), db = MatMul(Transpose(a), dy)
```
"""

from collections.abc import Sequence

from primsplit.ir.dims import is_one, product, same
from primsplit.numpy.contraction import Labels, Term, sum_of_products
from primsplit.numpy.dense.determinant import cofactors_with
from primsplit.numpy.dense.loop import counting
from primsplit.numpy.dense.lu import factor
from primsplit.numpy.einstein import equation_labels
from primsplit.ops import op
from primsplit.rules.table import Pullback, no_gradient, rrule
from primsplit.tracing import size_vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to, sum_to
from primsplit.tracing.broadcasting import swapped as swap_last

no_gradient("MatMulInteger", "QLinearMatMul")


@rrule("MatMul")
def matmul(a: Array, b: Array) -> tuple[Array, Pullback]:
    """dA = dy B^T, dB = A^T dy. A 1-D operand is a row or a column, for which there are faster forms."""
    if len(a.shape) == 1 and len(b.shape) == 1:
        return _inner(a, b)
    if len(b.shape) == 1:
        return _matrix_vector(a, b)
    y = op.MatMul(a, b)

    def pullback(dy: Array) -> tuple[Array, Array]:
        if len(a.shape) > 1:
            return sum_to(_times_transposed(dy, b), a.shape), _right_cotangent(a, b, dy)
        column = op.Unsqueeze(dy, [-1])
        da = sum_to(op.Squeeze(op.MatMul(b, column), [-1]), a.shape)
        return da, sum_to(op.MatMul(op.Unsqueeze(a, [1]), op.Unsqueeze(dy, [-2])), b.shape)

    return y, pullback


def _inner(a: Array, b: Array) -> tuple[Array, Pullback]:
    """The sum of the products. Where the lengths may differ, MatMul refuses to repeat a vector of one element."""
    if same(a.shape[0], b.shape[0]):
        y = op.ReduceSum(op.Mul(a, b), [0], keepdims=0)
    else:
        y = op.Squeeze(op.MatMul(op.Unsqueeze(a, [0]), op.Unsqueeze(b, [1])), [0, 1])
    return y, lambda dy: (op.Mul(dy, b, types=[a.type]), op.Mul(dy, a, types=[b.type]))


def _matrix_vector(a: Array, v: Array) -> tuple[Array, Pullback]:
    """dA = dy v^T; dv is a row times a matrix, so that nothing is transposed. MatMul is slow on a 1-D right operand."""
    y = op.Squeeze(op.MatMul(a, op.Unsqueeze(v, [1])), [-1])

    def pullback(dy: Array) -> tuple[Array, Array]:
        da = op.MatMul(op.Unsqueeze(dy, [-1]), op.Unsqueeze(v, [0]))
        rows = product(a.shape[:-1])
        dv = op.MatMul(reshape_to(dy, [rows]), reshape_to(a, [rows, a.shape[-1]]))
        return sum_to(da, a.shape), sum_to(dv, v.shape)

    return y, pullback


def _times_transposed(dy: Array, b: Array) -> Array:
    """Return dy B^T; for a single row, (B dy^T)^T, so that B is read as it lies in memory.

    The row becomes a column by Reshape: onnxruntime would fuse a Transpose into a product that runs at half the speed.
    """
    if is_one(dy.shape[-2]):
        return _turned(op.MatMul(b, _turned(dy)))
    return op.MatMul(dy, swap_last(b))


def _transposed_times(a: Array, dy: Array) -> Array:
    """A^T dy; for a single column, (dy^T A)^T."""
    if is_one(dy.shape[-1]):
        return _turned(op.MatMul(_turned(dy), a))
    return op.MatMul(swap_last(a), dy)


def _turned(x: Array) -> Array:
    """Return a row as a column, or a column as a row."""
    *lead, rows, columns = x.shape
    return reshape_to(x, [*lead, columns, rows])


def _right_cotangent(a: Array, b: Array, dy: Array) -> Array:
    """Return A^T dy.

    For one matrix B that multiplies a batch, as one product over all rows, a third faster than a sum.
    """
    if len(b.shape) > 2 or len(a.shape) == 2:
        return sum_to(_transposed_times(a, dy), b.shape)
    rows = product(a.shape[:-1])
    flat_a, flat_dy = reshape_to(a, [rows, a.shape[-1]]), reshape_to(dy, [rows, dy.shape[-1]])
    return sum_to(_transposed_times(flat_a, flat_dy), b.shape)


@rrule("Gemm")
def gemm(
    a: Array, b: Array, c: Array | None = None, *, alpha: float, beta: float, transA: int, transB: int
) -> tuple[Array, Pullback]:
    """With Y = alpha A' B' + beta C, A' and B' perhaps transposed: dA' = alpha dY B'^T, dB' = alpha A'^T dY."""
    y = op.Gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)

    def pullback(dy: Array) -> list[Array | None]:
        if transA:
            da = op.Gemm(b, dy, alpha=alpha, transA=transB, transB=1)
        else:
            da = op.Gemm(dy, b, alpha=alpha, transB=1 - transB)
        if transB:
            db = op.Gemm(dy, a, alpha=alpha, transA=1, transB=transA)
        else:
            db = op.Gemm(a, dy, alpha=alpha, transA=1 - transA)
        cotangents: list[Array | None] = [sum_to(da, a.shape), sum_to(db, b.shape)]
        if c is not None:
            cotangents.append(sum_to(dy if beta == 1 else op.Mul(dy, beta), c.shape))
        return cotangents

    return y, pullback


@rrule("Einsum")
def einsum(*inputs: Array, equation: str | bytes) -> tuple[Array, Pullback]:
    """The cotangent of an operand is the sum of products of the cotangent and the other operands.

    Labels that only this operand has are spread out again; a label that it has twice makes a diagonal.
    """
    labels, output = equation_labels(equation, [len(x.shape) for x in inputs])
    terms = [Term(x, names) for x, names in zip(inputs, labels, strict=True)]
    y = sum_of_products(terms, output)

    def pullback(dy: Array) -> list[Array]:
        given = Term(dy, output)
        return [_operand_cotangent(k, terms, given) for k in range(len(terms))]

    return y, pullback


def _operand_cotangent(position: int, terms: Sequence[Term], given: Term) -> Array:
    mine = terms[position]
    distinct: Labels = tuple(dict.fromkeys(mine.labels))
    others = [given, *(t for k, t in enumerate(terms) if k != position)]
    available = {label for term in others for label in term.labels}
    # An axis of size 1 of this operand was stretched to what the others have: those sums are taken at the end.
    order = [label for label in distinct if label in available]
    summed = sum_of_products(others, order)
    missing = [i for i, label in enumerate(distinct) if label not in available]
    wide = op.Unsqueeze(summed, missing) if missing else summed
    shape = tuple(mine.size(label) for label in distinct)
    if any(i not in missing and not is_one(d) and not same(wide.shape[i], d) for i, d in enumerate(shape)):
        # An axis of size 1 of all others may have been stretched to what this operand has.
        return _on_diagonals(sum_to(op.Expand(wide, size_vector(shape)), shape), distinct, mine)
    narrow = tuple(1 if i in missing else d for i, d in enumerate(shape))
    return _on_diagonals(expand_to(sum_to(wide, narrow), shape), distinct, mine)


def _on_diagonals(x: Array, labels: Labels, target: Term) -> Array:
    """Return `x`, one axis a label, on the diagonal of the axes of `target` that share a label; zero elsewhere."""
    if len(labels) == len(target.labels):
        return x
    places = [target.labels.index(label) for label in labels]
    ordered = op.Transpose(x, perm=sorted(range(len(places)), key=lambda i: places[i]))
    repeated = [i for i in range(len(target.labels)) if i not in places]
    wide = op.Unsqueeze(ordered, repeated)
    for axis in repeated:
        first = target.labels.index(target.labels[axis])
        rank = len(target.labels)
        here = op.Unsqueeze(counting(target.array, axis), [i for i in range(rank) if i != axis])
        there = op.Unsqueeze(counting(target.array, first), [i for i in range(rank) if i != first])
        wide = op.Where(op.Equal(here, there), wide, 0)
    return expand_to(wide, target.array.shape)


@rrule("Det")
def det(x: Array) -> tuple[Array, Pullback]:
    """dX = dy C, C the matrix of cofactors: right at singular matrices too."""
    y = op.Det(x)

    def pullback(dy: Array) -> tuple[Array]:
        cofactors = cofactors_with(x, *factor(x))
        return (op.Mul(op.Unsqueeze(dy, [-2, -1]), cofactors),)

    return y, pullback
