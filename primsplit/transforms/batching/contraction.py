"""Batch matrix products and sums of products.

```
y = MatMul(a, b), a: float32[3,4], b: float32[4], b batched   ->   y = MatMul(b, Transpose(a))   # b: float32[B,4]
```
"""

from primsplit.ir.dims import is_one, product
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, swapped
from primsplit.transforms.batching.table import Outputs, Site, batching, with_rank


@batching("MatMul")
def matmul(site: Site) -> Outputs:
    """One product of stacks, or by a shared matrix, of all rows or columns at once."""
    return product_of(site.input(0), site.input(1), site)


def product_of(a: Array, b: Array, site: Site) -> Array:
    """Return `a @ b`, each batched as the site's first two inputs are, and of their ranks."""
    left, right = site.rank(0), site.rank(1)
    if not site.is_batched(1) and right <= 2:
        return _by_shared_right(a, b)
    if not site.is_batched(0) and left == 2 and right <= 2:
        return _by_shared_left(a, b, right, site)
    columns = op.Unsqueeze(b, [-1]) if right == 1 else b
    rows = op.Unsqueeze(a, [-2]) if left == 1 else a
    rank = max(left, right, 2)
    rows = with_rank(rows, rank) if site.is_batched(0) else rows
    columns = with_rank(columns, rank) if site.is_batched(1) else columns
    whole = _stacks(rows, columns)
    gone = [*([-2] if left == 1 else []), *([-1] if right == 1 else [])]
    return op.Squeeze(whole, gone) if gone else whole


def _by_shared_right(a: Array, b: Array) -> Array:
    """A batch of rows by one matrix or vector."""
    if len(b.shape) == 1:
        return op.Squeeze(op.MatMul(a, op.Unsqueeze(b, [-1])), [-1])
    return op.MatMul(a, b)


SMALL = 1024
"""Up to this many multiplications, one large product is faster than one for each example: five times for 3 x 3."""


def _by_shared_left(a: Array, b: Array, right: int, site: Site) -> Array:
    """One matrix by a batch of vectors or matrices; small ones become columns of one matrix."""
    if right == 1:
        return op.MatMul(b, swapped(a))
    inner, columns = b.shape[1:]
    rows = a.shape[0]
    if is_one(columns):
        flat = op.MatMul(reshape_to(b, [site.size, inner]), swapped(a))
        return reshape_to(flat, [site.size, rows, 1])
    work = product([rows, inner, columns])
    if not (isinstance(work, int) and work <= SMALL):
        return op.MatMul(a, b)
    side_by_side = reshape_to(op.Transpose(b, perm=[1, 0, 2]), [inner, product([site.size, columns])])
    whole = reshape_to(op.MatMul(a, side_by_side), [rows, site.size, columns])
    return op.Transpose(whole, perm=[1, 0, 2])


def _stacks(rows: Array, columns: Array) -> Array:
    """Return the product of two stacks of matrices, one of them batched; for inner size 1, an elementwise product."""
    return op.Mul(rows, columns) if is_one(rows.shape[-1]) else op.MatMul(rows, columns)


@batching("Gemm")
def gemm(site: Site) -> Outputs:
    """alpha A' B' + beta C, as a product and a sum."""
    given = site.attributes
    a = swapped(site.input(0)) if given["transA"] else site.input(0)
    b = swapped(site.input(1)) if given["transB"] else site.input(1)
    y = product_of(a, b, site) if site.is_batched(0) or site.is_batched(1) else op.MatMul(a, b)
    y = op.Mul(y, float(given["alpha"])) if given["alpha"] != 1 else y
    if not site.has(2):
        return y
    c = site.aligned(2, 2)
    return op.Add(y, op.Mul(c, float(given["beta"])) if given["beta"] != 1 else c)


@batching("Einsum")
def einsum(site: Site) -> Outputs:
    """The batch is one more letter, in front."""
    equation = str(site.attributes["equation"]).replace(" ", "")
    terms, _, result = equation.partition("->")
    result = result if "->" in equation else _implied(terms)
    letter = next(c for c in "bzyxwvutsrqponmlkjihgfedcaABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation)
    named = [letter + t if site.is_batched(i) else t for i, t in enumerate(terms.split(","))]
    return site.emit(*site.inputs, equation=f"{','.join(named)}->{letter}{result}")


def _implied(terms: str) -> str:
    """Return the result of an equation that names none: the letters that occur once, in order, after an ellipsis."""
    letters = terms.replace(".", "").replace(",", "")
    once = sorted(c for c in set(letters) if letters.count(c) == 1)
    return ("..." if "..." in terms else "") + "".join(once)
