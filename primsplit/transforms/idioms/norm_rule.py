"""The derivative of a norm that is written out: that of the operator, at the values that the writing has."""

from dataclasses import dataclass

from primsplit import tracing
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.rules.normalization import Standardized, pulled_norm
from primsplit.rules.table import Pullback
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class WrittenNorm:
    """The rule of the call of a norm over some axes, in float32 or float64.

    `block` takes what the call takes, x alone or with the scale and the bias of a row, and returns the norm, the
    standardized x, and the standard deviation; of the last, where `is_reciprocal`, the reciprocal.
    """

    block: Block
    axes: tuple[int, ...]
    is_reciprocal: bool

    def __call__(self, x: Array, *affine: Array) -> tuple[Array, Pullback]:
        y, value, spread = map(Array, tracing.inline(self.block, [a.value for a in (x, *affine)]))

        def pullback(dy: Array) -> list[Array | None]:
            made = Standardized(value, spread if self.is_reciprocal else op.Reciprocal(spread), self.axes)
            if not affine:
                return [made.pulled(dy)]
            scale, bias = (*affine, None)[:2]
            assert scale is not None
            dx, sums = pulled_norm(made, dy, scale, bias)
            return [dx, *sums[: len(affine)]]

        return y, pullback
