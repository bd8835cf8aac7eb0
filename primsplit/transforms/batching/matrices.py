"""Batch dense linear algebra: what solves one matrix solves a batch of them, whose axes stand in front.

```
call::solve_with(a: [4,4], ..., b: [4,1])   ->   call::solve_with(a: [B,4,4], ..., b: [B,4,1])
call::solve_with(a: [4,4], ..., b: [4,1])   ->   call::solve_with(a: [4,4], ..., b: [4,B])        # one `a` for all
```

Through their programs the steps for one matrix would be batched instead: a loop over columns, and products of small
matrices, which take ten times as long for many matrices of a few rows.
"""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit.numpy.dense import cholesky, determinant, lu, qr, small, triangular
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to, swapped
from primsplit.tracing.calls.primitive import Primitive
from primsplit.transforms.batching.rules import batch
from primsplit.transforms.batching.table import repeated


def _alike(batched: Sequence[bool], args: Sequence[Array]) -> list[Array]:
    """The arguments, those that examples share repeated."""
    size = next(x.shape[0] for x, is_batched in zip(args, batched, strict=True) if is_batched)
    return [x if is_batched else repeated(x, size) for x, is_batched in zip(args, batched, strict=True)]


def _of_matrices(target: Primitive) -> Callable[..., Any]:
    def rule(batched: tuple[bool, ...], *args: Array, **options: Any) -> Any:
        return target(*_alike(batched, args), **options)

    return rule


for _target in (
    cholesky.cholesky,
    determinant.cofactors_with,
    determinant.determinant_with,
    determinant.log_determinant_with,
    lu.factor,
    lu.inverse_with,
    qr.complete_q,
    qr.tall_qr,
):
    batch(_target)(_of_matrices(_target))


def _beside(solve: Callable[[Array], Array], b: Array) -> Array:
    """The solutions by one matrix for a batch of right sides [B, n, k], which stand beside each other."""
    count, rows, columns = b.shape
    beside = reshape_to(op.Transpose(b, perm=[1, 0, 2]), [rows, count * columns])
    return op.Transpose(reshape_to(solve(beside), [rows, count, columns]), perm=[1, 0, 2])


@batch(lu.solve_with)
def _solve_with(batched: tuple[bool, ...], *args: Array, transposed: bool = False) -> Array:
    a, unit, worked, order, b, *tiles = args
    if not any((*batched[:4], *batched[5:])) and len(b.shape) == 3:
        return _beside(lambda x: lu.solve_with(a, unit, worked, order, x, *tiles, transposed=transposed), b)
    a, unit, worked, order, b = _alike(batched[:5], args[:5])
    found: Array = lu.solve_with(a, unit, worked, order, b, transposed=transposed)
    return found


@batch(triangular.solve_by)
def _solve_triangular(batched: tuple[bool, ...], *args: Array, **options: Any) -> Array:
    t, b, *tiles = args
    if not any((batched[0], *batched[2:])) and len(b.shape) == 3:
        return _beside(lambda x: triangular.solve_by(t, x, *tiles, **options), b)
    t, b = _alike(batched[:2], args[:2])
    found: Array = triangular.solve_by(t, b, **options)
    return found


@batch(small.parts)
def _parts(batched: tuple[bool, ...], a: Array) -> tuple[Array, Array, Array]:
    factors = lu.factor(a)
    sign = op.Identity(determinant.determinant_sign(*factors[1:]))
    return swapped(lu.inverse_with(a, *factors)), sign, determinant.log_determinant_with(a, *factors)


@batch(small.solve_by)
def _solve_by(batched: tuple[bool, ...], a: Array, inverse: Array, b: Array, *, transposed: bool = False) -> Array:
    if batched[0]:
        a, _, b = _alike(batched, (a, inverse, b))
        by_factors: Array = lu.solve_with(a, *lu.factor(a), b, transposed=transposed)
        return by_factors
    if len(b.shape) == 3:
        return _beside(lambda x: small.solve_by(a, inverse, x, transposed=transposed), b)
    a, inverse, b = _alike(batched, (a, inverse, b))
    found: Array = small.solve_by(a, inverse, b, transposed=transposed)
    return found
