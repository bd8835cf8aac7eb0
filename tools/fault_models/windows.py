"""Models of pools, convolutions and resizing."""

import numpy as np

from tools.fault_models.model import FaultModel, floats

F = np.float32


def _pool(kind: str, attributes: str) -> str:
    return f"(float[1,1,N] x) => (float[1,1,M] y) {{y = {kind}<{attributes}>(x)}}"


def _row(*numbers: float) -> tuple[np.ndarray]:
    return (np.array([[numbers]], F),)


RESIZE = "(float[1,1,N,L] x) => (float[A,B,C,D] y) "
X4 = {"x": floats(1, 1, 4)}
PADDED = np.pad(floats(5, 4), [(1, 1), (0, 1)])
AVERAGES = np.lib.stride_tricks.sliding_window_view(PADDED, (3, 2))[::2].mean((-2, -1))[None, None]

MODELS: dict[str, FaultModel] = {
    "window_over_too_short_axis": FaultModel(
        _pool("MaxPool", "kernel_shape=[2], strides=[2]"), {"x": floats(1, 1, 1)}, (np.zeros((1, 1, 0), F),),
    ),
    "window_in_the_padding_of_ceil_mode": FaultModel(
        _pool("MaxPool", "kernel_shape=[1], strides=[3], ceil_mode=1"), {"x": floats(1, 1, 3)}, _row(1),
    ),
    "average_counts_beyond_ceil_mode": FaultModel(
        _pool("AveragePool", "kernel_shape=[2], strides=[2], ceil_mode=1, count_include_pad=1"),
        {"x": floats(1, 1, 3)}, _row(1.5, 3),
    ),
    "average_counts_padding_wrongly": FaultModel(
        """(float[1,1,N,L] x) => (float[1,1,A,B] y) {
            y = AveragePool<kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1], count_include_pad=1>(x)
        }""",
        {"x": floats(1, 1, 5, 4)}, (AVERAGES,),
    ),
    "same_padding_skips_the_start": FaultModel(
        _pool("AveragePool", 'kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER"'),
        {"x": floats(1, 1, 6)}, _row(1, 4),
    ),
    "dilated_pool_with_same_padding": FaultModel(
        _pool("MaxPool", 'kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER"'), X4, _row(2, 3, 4, 3),
    ),
    "dilated_convolution_with_same_padding": FaultModel(
        """(float[1,1,N] x) => (float[1,1,M] y) <float[1,1,2] w = {1.0, 1.0}> {
            y = Conv<dilations=[2], auto_pad="SAME_UPPER">(x, w)
        }""",
        X4, _row(2, 4, 6, 3),
    ),
    "negative_pads_of_convolution": FaultModel(
        "(float[1,1,N] x) => (float[1,1,M] y) <float[1,1,1] w = {2.0}> {y = Conv<pads=[-1,0]>(x, w)}",
        X4, _row(4, 6, 8),
    ),
    "stretched_transposed_convolution": FaultModel(
        """(float[1,1,N] x) => (float[1,1,M] y) <float[1,1,1] w = {2.0}> {
            y = ConvTranspose<strides=[1], output_shape=[6]>(x, w)
        }""",
        X4, lambda outputs: bool(np.sum(outputs[0]) == 20 and outputs[0].shape == (1, 1, 6)),
    ),
    "dilated_col2im_mixes_channels": FaultModel(
        """(float[1,4,2] x) => (float[1,2,4] y) <int64[1] size = {4}, int64[1] block = {2}> {
            y = Col2Im<dilations=[2]>(x, size, block)
        }""",
        {"x": floats(1, 4, 2)}, (np.array([[[1, 2, 3, 4], [5, 6, 7, 8]]], F),),
    ),
    "max_unpool_counts_over_output_shape": FaultModel(
        """(float[1,1,1,2] x, int64[1,1,1,2] i) => (float[1,1,A,B] y) <int64[4] s = {1, 1, 2, 5}> {
            y = MaxUnpool<kernel_shape=[2,2], strides=[2,2]>(x, i, s)
        }""",
        {"x": floats(1, 1, 1, 2), "i": np.array([[[[1, 6]]]])},
        (np.array([[[[0, 1, 0, 0, 0], [0, 0, 2, 0, 0]]]], F),),
    ),
    "resize_does_not_crop_kept_axis": FaultModel(
        RESIZE + """<float[8] roi = {0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 1.0, 1.0}, int64[4] s = {1, 1, 2, 3}> {
            y = Resize<mode="linear", coordinate_transformation_mode="tf_crop_and_resize">(x, roi, , s)
        }""",
        {"x": floats(1, 1, 2, 3)}, (np.array([[[[2, 2.5, 3], [5, 5.5, 6]]]], F),),
    ),
    "resize_divides_by_rounded_length": FaultModel(
        RESIZE + """<float[4] s = {1.0, 1.0, 1.0, 2.5}> {
            y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, , s)
        }""",
        {"x": floats(1, 1, 1, 3)}, ((1 + np.arange(7, dtype=F) * 2 / 6.5).reshape(1, 1, 1, 7),),
    ),
    "resize_length_by_float32_scale": FaultModel(
        RESIZE + """<float[4] s = {1.0, 1.0, 1.0, 0.7}> {y = Resize<mode="nearest">(x, , s)}""",
        {"x": floats(1, 1, 1, 100)}, lambda outputs: outputs[0].shape == (1, 1, 1, 69),
    ),
    "resize_policy_with_axes_from_the_end": FaultModel(
        RESIZE + """<int64[2] s = {4, 4}> {
            y = Resize<mode="nearest", axes=[-2,-1], keep_aspect_ratio_policy="not_larger">(x, , , s)
        }""",
        {"x": floats(1, 1, 2, 1)}, lambda outputs: outputs[0].shape == (1, 1, 4, 2),
    ),
}  # fmt: skip
