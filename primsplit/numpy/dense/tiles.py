"""Triangular systems by the inverses of all blocks on the diagonal at once.

A block of rows is a product with what is solved already, and one with the inverse of its block on the diagonal:

    X_i = D_i^-1 (B_i - T_i0 X_0 - T_i1 X_1 - ...)

The first block has the rows that are left over, all others have `TILE`. The inverses are those of many small matrices
at once. A solution by an inverse is refined once, which makes the residual that of substitution (R. Skeel, Iterative
refinement implies numerical stability for Gaussian elimination, Math. Comp. 35, 1980).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.numpy.dense.loop import changing, cut, loop, scalar, size
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped

TILE = 32
"""Rows of a block: the inverse of a triangular matrix of more rows may lose the digits that refinement needs."""

HALF = 8
"""Blocks of at most so many rows are inverted by doubling, larger ones by halves."""

WRITTEN = 16
"""Up to so many blocks the steps are written out; more are a loop."""

ON_DIAGONAL = np.eye(TILE, dtype=bool)
"""The mask of the diagonal of a block: one array, which a file holds once."""
ON_DIAGONAL.flags.writeable = False

Bounds = Any
"""The first row and the row behind the last: numbers, or vectors of one element."""


def tiles(t: Array, *, lower: bool, unit: bool) -> tuple[Array, Array]:
    """The triangles [..., k, w, w] of the blocks on the diagonal of T [..., n, n], and their inverses.

    Of the first one, only the leading rows and columns count, as many as are left over.
    """
    n = t.shape[-1]
    if isinstance(n, int) and 0 < n <= WRITTEN * TILE:
        width = min(n, TILE)
        starts = [0, *range(_first(n), n, TILE)]
        stack = op.Concat(*(op.Unsqueeze(_window(t, s, s + width), [-3]) for s in starts), axis=-3)
        return inverted(stack, lower=lower, unit=unit)
    side = TILE if isinstance(n, int) and n >= TILE else fresh("tile")
    rows = size(t, -1)
    wide, (first, after) = op.Min(rows, np.array([TILE])), _counts(rows)
    kept = Type(t.dtype, (*t.shape[:-2], side, side))

    def window(i: Array) -> tuple[list[Array], list[Array]]:
        start = op.Add(op.Mul(i, TILE), first)
        return [], [op.Identity(_window(t, start, op.Add(start, TILE)), types=[kept])]

    corner = op.Identity(_window(t, 0, wide), types=[kept])
    others = loop(scalar(after), window, [])[0]
    batch = len(t.shape) - 2
    others = op.Transpose(others, perm=[*range(1, batch + 1), 0, batch + 1, batch + 2]) if batch else others
    stack = op.Concat(op.Unsqueeze(corner, [-3]), others, axis=-3)
    return inverted(stack, lower=lower, unit=unit)


def _first(n: int) -> int:
    """Return the number of rows of the first block."""
    return n - TILE * ((n - 1) // TILE)


def _counts(n: Array) -> tuple[Array, Array]:
    """Return the number of rows of the first block, and the number of blocks after it, as vectors of one element."""
    after = op.Max(op.Div(op.Sub(n, 1), TILE), np.array([0]))
    return op.Sub(n, op.Mul(after, TILE)), after


def _window(t: Array, start: Bounds, stop: Bounds) -> Array:
    return cut(cut(t, start, stop, -2), start, stop, -1)


def inverted(blocks: Array, *, lower: bool, unit: bool) -> tuple[Array, Array]:
    """The triangles of blocks [..., w, w], and their inverses; w at most `TILE`."""
    turned = blocks if lower else swapped(blocks)
    triangle = op.Trilu(turned, np.int64(-1 if unit else 0), upper=0)
    on_diagonal = _cut_square(ON_DIAGONAL, turned)
    if unit:
        triangle = op.Where(on_diagonal, np.ones((), blocks.dtype), triangle)
        inverse = _inverted(triangle)
    else:
        along = op.ReduceSum(op.Where(on_diagonal, turned, 0.0), [-1], keepdims=1)
        inverse = op.Div(_inverted(op.Div(triangle, along)), swapped(along))
    return (triangle, inverse) if lower else (swapped(triangle), swapped(inverse))


def _cut_square(known: np.ndarray, like: Array) -> Array | np.ndarray:
    """The first rows and columns of a constant matrix, as many as `like` has."""
    width = like.shape[-1]
    if isinstance(width, int):
        return known[..., :width, :width]
    end = op.Concat(size(like, -1), size(like, -1), axis=0)
    return op.Slice(known, [0, 0], end, [-2, -1], types=[Type(known.dtype, (width, width))])


def _inverted(t: Array) -> Array:
    """The inverse of T [..., w, w], ones on the diagonal and zeros above it."""
    width = t.shape[-1]
    if not isinstance(width, int) or width <= HALF:
        return _by_doubling(t)
    half = width // 2 if width % 2 == 0 else HALF
    top, low = cut(t, 0, half, -2), cut(t, half, None, -2)
    first, corner, last = cut(top, 0, half, -1), cut(low, 0, half, -1), cut(low, half, None, -1)
    if width == 2 * half:
        both = _inverted(op.Concat(op.Unsqueeze(first, [0]), op.Unsqueeze(last, [0]), axis=0))
        first, last = (op.Gather(both, np.array(i), axis=0) for i in range(2))
    else:
        first, last = _inverted(first), _inverted(last)
    corner = op.Neg(op.MatMul(op.MatMul(last, corner), first))
    above = op.Pad(first, [*(0 for _ in t.shape), *(0 for _ in t.shape[1:]), width - half])
    return op.Concat(above, op.Concat(corner, last, axis=-1), axis=-2)


def _by_doubling(t: Array) -> Array:
    """The same, from the inverses of blocks on the diagonal of 1, 2, 4, ... rows.

    With M the blocks beside them that make them twice as large, the next are X - X M X.
    """
    width = t.shape[-1]
    numbers = np.arange(TILE)
    found: Array | None = None
    rows = 1
    while rows < (width if isinstance(width, int) else TILE):
        pair, own = numbers // (2 * rows), numbers // rows
        beside = (pair[:, None] == pair) & (own[:, None] != own)
        step = op.Where(_cut_square(beside, t), t, 0.0)
        if found is None:
            found = op.Sub(_cut_square(np.eye(TILE, dtype=t.dtype), t), step)
        else:
            found = op.Sub(found, op.MatMul(op.MatMul(found, step), found))
        rows *= 2
    return op.Identity(t) if found is None else found


@dataclass(frozen=True, slots=True)
class System:
    """T X = B, or from the right X T = B, with the blocks on T's diagonal and their inverses."""

    t: Array
    b: Array
    blocks: Array
    inverses: Array
    _: KW_ONLY
    lower: bool
    right: bool

    @property
    def downward(self) -> bool:
        """Whether the first block is solved first."""
        return self.lower != self.right

    def solve(self) -> Array:
        """X, block by block."""
        n = self.t.shape[-1]
        if isinstance(n, int) and 0 < n <= WRITTEN * TILE:
            return self._written_out(n)
        return self._looped()

    def _written_out(self, n: int) -> Array:
        first = _first(n)
        starts = [0, *range(first, n, TILE)]
        stops = [*starts[1:], n]
        order = range(len(starts)) if self.downward else reversed(range(len(starts)))
        done: Array | None = None
        for i in order:
            done = self._next(done, np.array(i), starts[i], stops[i], None if i or first == min(n, TILE) else first)
        assert done is not None
        return done

    def _looped(self) -> Array:
        first, after = _counts(size(self.t, -1))

        def step(i: Array, done: Array) -> tuple[list[Array], list[Array]]:
            place = op.Add(i, 1) if self.downward else op.Sub(scalar(after), i)
            start = op.Add(op.Mul(op.Sub(place, 1), TILE), first)
            return [self._next(done, place, start, op.Add(start, TILE))], []

        none = cut(self.b, 0, 0, self.axis)
        done = self._next(None, np.array(0), 0, first, first) if self.downward else none
        done = loop(scalar(after), step, [done], [changing(self.b, [self.axis])])[0]
        return done if self.downward else self._next(done, np.array(0), 0, first, first)

    @property
    def axis(self) -> int:
        """The axis of B along which its blocks lie."""
        return -1 if self.right else -2

    def _next(self, done: Array | None, place: Any, start: Bounds, stop: Bounds, rows: Bounds | None = None) -> Array:
        """Return the solved rows with the block from `start` to `stop` beside them; `rows` of it if given."""
        rest = cut(self.b, start, stop, self.axis)
        if done is not None:
            rest = op.Sub(rest, self._known(done, start, stop))
        block, inverse = (op.Gather(x, place, axis=-3) for x in (self.blocks, self.inverses))
        if rows is not None:
            block, inverse = _window(block, 0, rows), _window(inverse, 0, rows)
        found = self._refined(block, inverse, rest)
        if done is None:
            return found
        return op.Concat(*((done, found) if self.downward else (found, done)), axis=self.axis)

    def _known(self, done: Array, start: Bounds, stop: Bounds) -> Array:
        """Return the product of the solved blocks with the part of T beside this one."""
        here, there = (-1, -2) if self.right else (-2, -1)
        part = cut(self.t, start, stop, here)
        part = cut(part, 0, start, there) if self.downward else cut(part, stop, None, there)
        return op.MatMul(done, part) if self.right else op.MatMul(part, done)

    def _refined(self, block: Array, inverse: Array, b: Array) -> Array:
        return refined_right(block, inverse, b) if self.right else refined(block, inverse, b)


def refined(block: Array, inverse: Array, b: Array) -> Array:
    """The solution of D X = B by the inverse of D, a block, refined once."""
    x = op.MatMul(inverse, b)
    return op.Add(x, op.MatMul(inverse, op.Sub(b, op.MatMul(block, x))))


def refined_right(block: Array, inverse: Array, b: Array) -> Array:
    """The solution of X D = B by the inverse of D, a block, refined once."""
    x = op.MatMul(b, inverse)
    return op.Add(x, op.MatMul(op.Sub(b, op.MatMul(x, block)), inverse))
