"""Windows of few taps as products with a band matrix, for float64, which has no Conv kernel: `y[i] = x[i + a] * k[a]`.

Numbers are cut into rows of `BLOCK`, each with the numbers that follow, so that rows overlap. Column c of the matrix
has the taps from row c on, and zeros elsewhere. This is a matrix product with a few times as many multiplications as
needed, but without a copy for each tap. The zeros multiply numbers outside of the window: where these are not finite,
the windows are built instead. The three sums are each other's derivatives.
"""

from collections.abc import Callable

from primsplit.frontends.loops.lowering.finite import where_finite
from primsplit.frontends.loops.lowering.windows import Windows, cut, folded, unfolded
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.numpy.contraction import Term, sum_of_products
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, reshape_to
from primsplit.tracing.calls.primitive import primitive, rrule

BLOCK = 32
"""Windows have up to one more tap than this."""

Pullback = Callable[[Array], tuple[Array, Array]]


@primitive
def correlated(x: Array, k: Array) -> Array:
    """The sums of x[b, i + a] * k[a] for all places i: [B, L] and [K] to [B, L - K + 1]."""
    count = _count(x, k.shape[0])

    def exact() -> Array:
        return sum_of_products([_windows(x, count, k.shape[0]), Term(k, ("a",))], ("b", "i"))

    return where_finite([x, k], lambda: _correlated(x, k, count), exact)


@rrule(correlated)
def _correlated_rule(x: Array, k: Array) -> tuple[Array, Pullback]:
    taps = _known(k.shape[0])
    return correlated(x, k), lambda dy: (cut(added_back(dy, k), 1, 0, x.shape[1]), taps_of(x, dy, taps=taps))


@primitive
def added_back(y: Array, k: Array) -> Array:
    """The sums of y[b, i] * k[a] for each i + a: [B, N] and [K] to [B, N + K - 1]."""
    taps = k.shape[0]
    length = y.shape[1] + taps - 1

    def quick() -> Array:
        turned = op.Slice(k, [-1], [-_known(taps) - 1], [0], [-1], types=[k.type])
        return _correlated(_padded(y, taps - 1, taps - 1), turned, length)

    def exact() -> Array:
        products = sum_of_products([Term(y, ("b", "i")), Term(k, ("a",))], ("b", "a", "i"))
        return folded(products, Windows(1, y.shape[1], 1, taps), length)

    return where_finite([y, k], quick, exact)


@rrule(added_back)
def _added_back_rule(y: Array, k: Array) -> tuple[Array, Pullback]:
    taps = _known(k.shape[0])
    return added_back(y, k), lambda dz: (cut(correlated(dz, k), 1, 0, y.shape[1]), taps_of(dz, y, taps=taps))


@primitive
def taps_of(x: Array, y: Array, *, taps: int) -> Array:
    """The sums of x[b, i + a] * y[b, i] for each of some taps a: [B, L] and [B, N] to [taps]."""
    count = y.shape[1]

    def exact() -> Array:
        return sum_of_products([_windows(x, count, taps), Term(y, ("b", "i"))], ("a",))

    return where_finite([x, y], lambda: _taps_of(x, y, taps), exact)


@rrule(taps_of)
def _taps_of_rule(x: Array, y: Array, *, taps: int) -> tuple[Array, Pullback]:
    def pullback(dk: Array) -> tuple[Array, Array]:
        return cut(added_back(y, dk), 1, 0, x.shape[1]), cut(correlated(x, dk), 1, 0, y.shape[1])

    return taps_of(x, y, taps=taps), pullback


def _known(taps: Dim) -> int:
    assert isinstance(taps, int)
    return taps


def _count(x: Array, taps: Dim) -> Dim:
    return dims.maximum(0, x.shape[1] - taps + 1)


def _windows(x: Array, count: Dim, taps: Dim) -> Term:
    windows = Windows(1, count, 1, taps)
    return Term(unfolded(cut(x, 1, 0, windows.length), windows), ("b", "a", "i"))


def _correlated(x: Array, k: Array, count: Dim) -> Array:
    blocks = _blocks(count)
    found = op.MatMul(_overlapping(x, blocks, k.shape[0]), op.Transpose(_band(k), perm=[1, 0]))
    return cut(reshape_to(found, (x.shape[0], blocks * BLOCK)), 1, 0, count)


def _taps_of(x: Array, y: Array, taps: int) -> Array:
    blocks = _blocks(y.shape[1])
    rows, width = x.shape[0] * blocks, BLOCK + taps - 1
    overlapping = reshape_to(_overlapping(x, blocks, taps), (rows, width))
    columns = reshape_to(_padded(y, 0, blocks * BLOCK - y.shape[1]), (rows, BLOCK))
    products = op.MatMul(op.Transpose(columns, perm=[1, 0]), overlapping)
    shifted = _padded(reshape_to(products, (1, BLOCK * width)), 0, BLOCK)
    return op.ReduceSum(cut(reshape_to(shifted, (BLOCK, width + 1)), 1, 0, taps), [0], keepdims=0)


def _blocks(count: Dim) -> Dim:
    """Return the number of rows that hold `count` numbers."""
    return dims.floor_divide(count + (BLOCK - 1), BLOCK)


def _overlapping(x: Array, blocks: Dim, taps: Dim) -> Array:
    """[B, L] to [B, blocks, BLOCK + taps - 1]: rows that begin `BLOCK` apart."""
    batch, length = x.shape
    whole = _padded(x, 0, (blocks + 1) * BLOCK - length)
    here = reshape_to(cut(whole, 1, 0, blocks * BLOCK), (batch, blocks, BLOCK))
    ahead = reshape_to(cut(whole, 1, BLOCK, blocks * BLOCK), (batch, blocks, BLOCK))
    return op.Concat(here, cut(ahead, 2, 0, taps - 1), axis=2)


def _band(k: Array) -> Array:
    """[K] to [BLOCK, BLOCK + K - 1]: row c is k from column c on."""
    row = k.shape[0] + BLOCK
    apart = _padded(op.Unsqueeze(k, [0]), 0, BLOCK)
    run = reshape_to(expand_to(apart, (BLOCK, row)), (1, BLOCK * row))
    return reshape_to(cut(run, 1, 0, BLOCK * (row - 1)), (BLOCK, row - 1))


def _padded(x: Array, before: Dim, after: Dim) -> Array:
    """The second of two axes with zeros at its ends."""
    if dims.same(before, 0) and dims.same(after, 0):
        return x
    shape = (x.shape[0], before + x.shape[1] + after)
    return op.Pad(x, [0, before, 0, after], types=[Type(x.dtype, shape)])
