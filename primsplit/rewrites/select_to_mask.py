"""Turn a long Where between numbers and zeros into a product with a mask, and a Where between two arrays into two.

```
Where(mask, x, 0)   ->   p = Mul(x, Cast(mask));  If(IsNaN(ReduceSum(p)), Where(mask, x, 0), p)
```

onnxruntime's Where decides element by element; in 1.20 and 1.32 it does so by a jump that no processor predicts if the
mask has no order, ten times as long as a product. A product is the same choice unless a dropped element is infinite or
NaN, or ties are shared: it is NaN there, and so is its sum, and then an If takes the Where as it was written. Two
products may lose the sign of a zero, so they are only for arrays that are summed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from primsplit.ir import Block, BodyRole, Const, Op, Renaming, Type, Value, Var, rename, same_types
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.cse import merge_common
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.rewrites.uses import LookingUp
from primsplit.tracing.array import Array

SUMS = kinds_where(lambda t: not t.windows and t.terms and (t.contracts or t.reduces)) - {"Einsum"}
"""Operators that sum their operand, so that the sign of a zero in it is lost anyway. Some Einsums sum nothing."""
LONG = 2**14
"""Elements from which on the product, with its check, is faster."""
LONG_TILE = 2**10
"""Elements from which on it is faster in a loop over tiles, which has less to read."""
LONG_ROW = 2**10
"""The product of the literal sizes and factors from which on it is faster if not all sizes are literal."""


@dataclass(frozen=True)
class Choice:
    """An array of which a choice keeps some elements, and the ops of the choice.

    It keeps the elements where `mask` is true, or false if `turned`; or the elements that max(x, 0) keeps of x if
    `mask` is x. Others are 0, or those of `other`.
    """

    array: Value
    mask: Value
    ops: tuple[Op, ...]
    turned: bool = False
    other: Value | None = None

    def product(self) -> Array:
        """Return the choice as a product, equal to it unless it contains NaN."""
        kept = op.Mul(Array(self.array), self.factor(turned=self.turned))
        return kept if self.other is None else kept + op.Mul(Array(self.other), self.factor(turned=not self.turned))

    def factor(self, *, turned: bool) -> Array:
        """Return ones for kept elements, zeros for others; NaN where half is kept."""
        mask, dtype = Array(self.mask), self.array.type.dtype
        if mask.dtype == np.bool_:
            return op.Cast(op.Not(mask) if turned else mask, to=dtype)
        return op.Div(op.Relu(mask), mask)


def choose_by_masks(block: Block) -> Block:
    """Return the block with products in place of its long choices; loops and branches in it stay, except tiles."""
    return _Masking().run_and_drop(block)


class _Masking(LookingUp):
    """The walk."""

    kinds = frozenset({"Where"})

    def inside(self, op: Op) -> Mapping[str, object]:
        """Rewrite the tiles of a loop.

        Other arrays in sub-blocks are short, so that the check costs as much as it saves.
        """
        if all(block.name is not BodyRole.TILE for block in op.blocks()):
            return op.attributes
        found = super().inside(op)
        return {
            k: merge_common(v) if isinstance(v, Block) and v is not op.attributes[k] else v for k, v in found.items()
        }

    def visit(self, op: Op) -> Op | None:
        """Return a choice, or the product and the If after it."""
        found = None
        is_long = op.kind == "Where" and _is_long(op.outputs[0].type, is_tile=len(self.around) > 1)
        if is_long and not self.is_foreseen(op.inputs[0]):
            found = self.positive_part(op) or _kept(op) or self.of_two(op)
        if found is None:
            return op
        *made, choice = _unless_nan(found)
        self.kept.extend(made)
        return choice

    def is_foreseen(self, mask: Value | None) -> bool:
        """Whether a mask is nearly always the same."""
        turned = self.ops.maker(mask, "Not")
        asked = mask if turned is None else turned.inputs[0]
        return any(self.ops.maker(asked, kind) is not None for kind in ("IsNaN", "IsInf"))

    def positive_part(self, outer: Op) -> Choice | None:
        """Return the choice of a cotangent or tangent that goes through max(x, 0), half of it at ties."""
        found = positive_part(outer, self.ops.maker)
        return found if found is not None and _are_alike(found.array, found.mask, outer.outputs[0]) else None

    def of_two(self, choice: Op) -> Choice | None:
        """Return a choice between two arrays that is summed."""
        mask, x, y = choice.inputs
        made = choice.outputs[0]
        if mask is None or x is None or y is None or not (_are_alike(x, mask, made) and _are_alike(y, mask, made)):
            return None
        is_summed = all(reader is not None and reader.kind in SUMS for reader in self.ops.readers[made])
        return Choice(x, mask, (choice,), other=y) if is_summed else None


def positive_part(outer: Op, maker: Callable[[Value | None, str], Op | None]) -> Choice | None:
    """Return the choice Where(x > 0, array, Where(0 > x, 0, array / 2)) that an op ends.

    `maker` returns the op of a kind that defines a value.
    """
    if outer.kind != "Where":
        return None
    first, array, rest = outer.inputs
    above, inner = maker(first, "Greater"), maker(rest, "Where")
    if array is None or above is None or inner is None or not _is_zero(inner.inputs[1]):
        return None
    below, half = maker(inner.inputs[0], "Greater"), maker(inner.inputs[2], "Mul")
    if below is None or half is None:
        return None
    x, zero = above.inputs
    is_of_zero = _is_zero(zero) and _is_zero(below.inputs[0]) and below.inputs[1] is x
    if x is None or not is_of_zero or array not in half.inputs or not any(map(_is_half, half.inputs)):
        return None
    return Choice(array, x, (above, below, half, inner, outer))


def _kept(choice: Op) -> Choice | None:
    """Return a choice between an array and zeros."""
    mask, x, y = choice.inputs
    array = x if _is_zero(y) else y if _is_zero(x) else None
    if mask is None or array is None or not _are_alike(array, mask, choice.outputs[0]):
        return None
    return Choice(array, mask, (choice,), turned=array is y)


def _unless_nan(choice: Choice) -> list[Op]:
    """Return the product, its sum, and the If: the product, or if the sum is NaN the choice as it was written."""
    last = choice.ops[-1]
    with recorded_beside(last) as around:
        multiple = choice.product()
        product, is_nan = multiple.value, op.IsNaN(op.ReduceSum(multiple, keepdims=0)).value
    copy = Var(product.type)
    copied = Block("product", (), (last.beside("Identity", (product,), (copy,)),), (copy,))
    inner: Renaming = {}
    written = tuple(rename(step, inner) for step in choice.ops)
    chosen = Block("choice", (), written, written[-1].outputs)
    return [*around.ops, last.beside("If", (is_nan,), last.outputs, {"then_branch": chosen, "else_branch": copied})]


def _is_long(type: Type, *, is_tile: bool) -> bool:
    """Whether it is an array of many numbers in a dtype that has kernels for all of this."""
    if type.shape is None or type.dtype not in {np.dtype(np.float32), np.dtype(np.float64)}:
        return False
    literal = math.prod(map(_literal_factor, type.shape))
    if not all(isinstance(d, int) for d in type.shape):
        return literal >= LONG_ROW
    return literal >= (LONG_TILE if is_tile else LONG)


def _literal_factor(size: Dim) -> int:
    """Return the number by which the size is divisible for all values of its symbols: 4096 of 4096*N."""
    return size if isinstance(size, int) else math.gcd(*(coefficient for _, coefficient in size.terms))


def _are_alike(array: Value, mask: Value, result: Var) -> bool:
    """Whether nothing broadcasts, not even the mask: the same answer for a whole row is predicted."""
    return same_types(array.type, result.type) and same_types(Type(result.type.dtype, mask.type.shape), result.type)


def _is_zero(value: Value | None) -> bool:
    return isinstance(value, Const) and value.is_small and value.type.shape == () and not value.numpy().any()


def _is_half(value: Value | None) -> bool:
    return isinstance(value, Const) and value.is_small and value.type.shape == () and value.numpy().item() == 0.5
