"""Solving with a triangular matrix."""

from collections.abc import Callable
from typing import Any

from primsplit.ir import Type
from primsplit.numpy.dense import substitution, tiles, unrolled
from primsplit.numpy.dense.loop import lower as lower_part
from primsplit.numpy.dense.loop import upper as upper_part
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import listed, rrule

Pullback = Callable[..., Any]


def solve_triangular(t: Array, b: Array, *, lower: bool, unit: bool = False, transposed: bool = False) -> Array:
    """X with T X = B, or T^T X = B, for T [..., n, n] of which one triangle is read, and B [..., n, k].

    Both have the same batch. With `unit` the diagonal counts as ones. A zero on the diagonal gives inf or NaN. n^2 k
    operations, nearly all in products of matrices; n / TILE steps of 12 small operators.
    """
    found: Array = solve_by(t, b, *tiles_of(t, lower=lower, unit=unit), lower=lower, unit=unit, transposed=transposed)
    return found


def tiles_of(t: Array, *, lower: bool, unit: bool = False) -> tuple[Array, ...]:
    """Return the tiles of T, as `solve_by` takes them for T and its transpose; nothing for a batch of matrices."""
    if len(t.shape) > 2:
        return ()
    made: tuple[Array, ...] = diagonal_tiles(t, lower=lower, unit=unit)
    return made


@listed
def diagonal_tiles(t: Array, *, lower: bool, unit: bool) -> tuple[Array, Array]:
    """The triangles on the diagonal of T, and their inverses."""
    return tiles.tiles(t, lower=lower, unit=unit)


@rrule(diagonal_tiles)
def _diagonal_tiles(t: Array, *, lower: bool, unit: bool) -> tuple[tuple[Array, Array], Pullback]:
    """No tangent: `solve_by` takes T itself for its derivative."""
    return diagonal_tiles(t, lower=lower, unit=unit), lambda _: (None,)


@listed
def solve_by(t: Array, b: Array, *given: Array, lower: bool, unit: bool, transposed: bool) -> Array:
    """The solution of `solve_triangular`, by `tiles_of` T."""
    if not given:
        by = unrolled if unrolled.are_few(t.shape[:-1]) else substitution
        turned = swapped(t) if transposed else t
        return _retyped(by.substituted(turned, b, lower=lower != transposed, unit=unit), b.type)
    if not transposed:
        return _retyped(tiles.System(t, b, *given, lower=lower, right=False).solve(), b.type)
    return _retyped(swapped(tiles.System(t, swapped(b), *given, lower=lower, right=True).solve()), b.type)


@rrule(solve_by)
def _solve_by(t: Array, b: Array, *given: Array, lower: bool, unit: bool, transposed: bool) -> tuple[Array, Pullback]:
    """dB = T^-T dX and dT = -dB X^T in the triangle (Giles, Collected matrix derivative results, 2008, 2.3.1)."""
    x = solve_by(t, b, *given, lower=lower, unit=unit, transposed=transposed)

    def pullback(dx: Array) -> tuple[Array | None, ...]:
        db = solve_by(t, dx, *given, lower=lower, unit=unit, transposed=not transposed)
        dt = op.Neg(unrolled.product(x, swapped(db)) if transposed else unrolled.product(db, swapped(x)))
        part = lower_part(dt, -int(unit)) if lower else upper_part(dt, int(unit))
        return part, db, *(None for _ in given)

    return x, pullback


def _retyped(x: Array, type: Type) -> Array:
    """`x`, which is known to have this type."""
    return op.Identity(x, types=[type])
