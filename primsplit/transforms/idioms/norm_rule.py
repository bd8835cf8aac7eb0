"""The derivative rule of a written-out norm: that of the operator, at the values that the written-out ops compute."""

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

    `block` takes the call's arguments, x alone or with the scale and the bias of a row, and returns the norm, the
    standardized x, and the standard deviation, or with `is_reciprocal` its reciprocal.
    """

    block: Block
    axes: tuple[int, ...]
    is_reciprocal: bool

    def __call__(self, x: Array, *affine: Array) -> tuple[Array, Pullback]:
        y, value, spread = map(Array, tracing.inline(self.block, [a.value for a in (x, *affine)]))

        def pullback(dy: Array) -> list[Array | None]:
            standardized = Standardized(value, spread if self.is_reciprocal else op.Reciprocal(spread), self.axes)
            if not affine:
                return [standardized.pulled(dy)]
            scale, bias = (*affine, None)[:2]
            assert scale is not None
            dx, sums = pulled_norm(standardized, dy, scale, bias)
            return [dx, *sums[: len(affine)]]

        return y, pullback
