"""The derivative rule of cropping and padding around the middle (CenterCropPad)."""

from primsplit import tracing
from primsplit.ops import op
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array


@rrule("CenterCropPad")
def center_crop_pad(x: Array, shape: Array, *, axes: list[int] | None = None) -> tuple[Array, Pullback]:
    """The cotangent is cropped and padded around its middle to the old sizes: both round the start down."""
    z = op.CenterCropPad(x, shape, axes=axes)
    rank = len(x.shape)

    def pullback(dz: Array) -> tuple[Array, None]:
        sizes = [x.shape[axis % rank] for axis in (range(rank) if axes is None else axes)]
        return op.CenterCropPad(dz, tracing.size_vector(sizes), axes=axes), None

    return z, pullback
