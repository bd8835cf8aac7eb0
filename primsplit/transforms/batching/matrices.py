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

from primsplit.numpy.dense import cholesky, determinant, lu, small, triangular
from primsplit.numpy.dense.loop import swapped
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.calls.primitive import Primitive
from primsplit.transforms.batching.rules import batch
from primsplit.transforms.batching.table import repeated


def _alike(batched: Sequence[bool], args: Sequence[Array]) -> list[Array]:
    """The arguments, those that examples share repeated."""
    size = next(x.shape[0] for x, is_batched in zip(args, batched, strict=True) if is_batched)
    return [x if is_batched else repeated(x, size) for x, is_batched in zip(args, batched, strict=True)]


def _of_matrices(target: Primitive) -> Callable[..., Any]:
    def rule(batched: tuple[bool, ...], *args: Array) -> Any:
        return target(*_alike(batched, args))

    return rule


for _target in (
    cholesky.cholesky,
    determinant.cofactors_with,
    determinant.determinant_with,
    determinant.log_determinant_with,
    lu.factor,
    lu.inverse_with,
):
    batch(_target)(_of_matrices(_target))


def _of_right_sides(target: Primitive) -> Callable[..., Any]:
    """The rule of a primitive whose last argument has right sides, which stand beside each other for one matrix."""

    def rule(batched: tuple[bool, ...], *args: Array, **options: Any) -> Any:
        *matrices, b = args
        if any(batched[:-1]) or len(b.shape) > 3:
            return target(*_alike(batched, args), **options)
        count, rows, columns = b.shape
        beside = reshape_to(op.Transpose(b, perm=[1, 0, 2]), [rows, count * columns])
        found = target(*matrices, beside, **options)
        return op.Transpose(reshape_to(found, [rows, count, columns]), perm=[1, 0, 2])

    return rule


for _target in (lu.solve_with, triangular.solve_triangular):
    batch(_target)(_of_right_sides(_target))


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
    found: Array = _of_right_sides(small.solve_by)(batched, a, inverse, b, transposed=transposed)
    return found
