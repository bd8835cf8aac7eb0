"""Define CropAndResize of `com.microsoft`: parts of images, read at points between pixels, as in TensorFlow."""

import numpy as np

from primsplit.ir.dims import Dim
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.attention.heads import counted
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to


@defines("com.microsoft::CropAndResize")
def crop_and_resize(
    x: Array,
    boxes: Array,
    images: Array,
    crop_size: Array,
    *,
    outputs: int = 1,
    extrapolation_value: float = 0.0,
    mode: str = "bilinear",
) -> Array:
    """Return [boxes, channels, height, width] of images [batch, channels, height, width].

    A box is (y1, x1, y2, x2) in fractions of the image's last row and column; points outside the image have the
    `extrapolation_value`. Between pixels the value is linear along both axes, or, `nearest`, that of the nearest pixel.
    """
    lengths = crop_size.known()
    if lengths is None or mode not in {"bilinear", "nearest"}:
        raise UnsupportedFunction(f"CropAndResize of mode {mode} to a size {lengths or 'that only the run knows'}")
    corners = op.Split(boxes, [1, 1, 1, 1], axis=1, outputs=4)
    rows, inside_rows = _weights(corners[0], corners[2], int(lengths[0]), x.shape[2], mode)
    columns, inside_columns = _weights(corners[1], corners[3], int(lengths[1]), x.shape[3], mode)
    found = op.MatMul(op.MatMul(rows, op.Gather(x, images, axis=0)), op.Transpose(columns, perm=[0, 1, 3, 2]))
    inside = op.And(op.Unsqueeze(inside_rows, [1, 3]), op.Unsqueeze(inside_columns, [1, 2]))
    return op.Where(inside, found, extrapolation_value)


def _weights(first: Array, last: Array, count: int, size: Dim, mode: str) -> tuple[Array, Array]:
    """Return each pixel's weight for each point, [boxes, 1, points, pixels]; and which points are between pixels.

    The points, [boxes, points], go from `first` to `last`, both [boxes, 1]; a single one is in the middle.
    """
    dtype = first.dtype
    end = size_as(size - 1, dtype)
    if count > 1:
        step = op.Div(op.Mul(op.Sub(last, first), end), count - 1)
        points = op.Add(op.Mul(first, end), op.Mul(step, np.arange(count, dtype=dtype)[None]))
    else:
        points = op.Mul(op.Mul(op.Add(first, last), 0.5), end)
    inside = op.And(op.GreaterOrEqual(points, 0), op.LessOrEqual(points, end))
    pixels = cast_to(counted(0, size), dtype)
    if mode == "nearest":
        taken = cast_to(op.Equal(op.Unsqueeze(op.Floor(points + 0.5), [2]), pixels), dtype)
    else:
        taken = op.Max(op.Sub(1, op.Abs(op.Sub(op.Unsqueeze(points, [2]), pixels))), 0)
    return op.Unsqueeze(taken, [1]), inside
