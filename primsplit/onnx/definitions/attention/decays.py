"""Compute decays between the positions of a sequence, for linear attention."""

from dataclasses import dataclass

from primsplit.ir import dims
from primsplit.numpy.dense.loop import lower
from primsplit.onnx.definitions.attention import heads
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped


def for_each(x: Array, queries: Array) -> Array:
    """Return an array of the keys, shaped to broadcast with the queries that share them."""
    return op.Unsqueeze(x, [2]) if len(queries.shape) == 5 else x


@dataclass(frozen=True, slots=True)
class Decays:
    """The decays `g` [batch, key heads, length, 1 or d_k], None for none, between the positions of the keys.

    `keys` are `k_s` [batch, key heads, length, d_k]. With a decay for each feature, `pairs` are `E_ts k_s`
    [batch, key heads, length, length, d_k]; with one decay they are E [batch, key heads, length, length].
    """

    g: Array | None
    keys: Array
    pairs: Array | None

    def since_start(self, x: Array) -> Array:
        """Multiply `x` [..., length, d_k] by the decay from the state before the first step on."""
        return x if self.g is None else op.Mul(x, for_each(op.Exp(op.CumSum(self.g, 2)), x))

    def until_end(self, x: Array) -> Array:
        """Multiply `x` [..., length, d_k] by the decay from its own step on."""
        return x if self.g is None else op.Mul(x, op.Exp(op.CumSum(self.g, 2, exclusive=1, reverse=1)))

    def all_along(self, state: Array) -> Array:
        """Multiply a state [batch, key heads, d_k, d_v] by the decay of all steps."""
        if self.g is None:
            return state
        return op.Mul(state, swapped(op.Exp(op.ReduceSum(self.g, [2], keepdims=1))))

    def products(self, x: Array) -> Array:
        """Return `x_t E_ts k_s` [..., length, length] for s <= t, else 0, for `x` [..., length, d_k]."""
        if self.pairs is not None and len(self.pairs.shape) == 5:
            return lower(_by_step(self.pairs, x))
        plain = op.MatMul(x, for_each(swapped(self.keys), x))
        return lower(plain if self.pairs is None else op.Mul(plain, for_each(self.pairs, x)))


def _by_step(pairs: Array, x: Array) -> Array:
    """Return the products of `x` [..., t, d_k] with pairs [..., t, s, d_k], by t."""
    if len(x.shape) == 4:
        return op.Squeeze(op.MatMul(pairs, op.Unsqueeze(x, [4])), [4])
    found = op.MatMul(pairs, op.Transpose(x, perm=[0, 1, 3, 4, 2]))
    return op.Transpose(found, perm=[0, 1, 4, 2, 3])


def decays_between(g: Array | None, keys: Array) -> Decays:
    """Return the decays `g` between keys.

    Sums of decays are never computed as differences of longer sums, so that strong decays, also -inf, lose no digits.
    """
    if g is None:
        return Decays(None, keys, None)
    places = heads.counted(0, keys.shape[2])
    is_later = op.Unsqueeze(op.Greater(op.Unsqueeze(places, [1]), places), [2])
    between = op.Exp(op.CumSum(op.Where(is_later, op.Unsqueeze(g, [3]), 0), 2))
    if dims.is_one(g.shape[3]):
        return Decays(g, keys, op.Squeeze(between, [4]))
    return Decays(g, keys, op.Mul(between, op.Unsqueeze(keys, [2])))
