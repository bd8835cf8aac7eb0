"""Rows of the operators that resample images and spectra."""

from typing import Any

import numpy as np

from primsplit.ir import Const
from tests.rules.row import F, Row, integers, row, spaced


def fractions(*values: float) -> Const:
    """Scales or a region of interest: float32 constants."""
    return Const(np.array(values, np.float32))


def resized(x: Any, *inputs: Any, mode: str, **options: Any) -> Row:
    """A row of Resize; onnx.reference computes cubic coefficients in float32."""
    attributes = {"mode": mode, **options.pop("attributes", {})}
    rounded: dict[str, Any] = {"value_tolerance": 1e-5, "rtol": {"float64": 1e-5}} if mode == "cubic" else {}
    if x.dtype == np.float32:
        rounded["dtypes"] = ()  # onnxruntime has these modes in float32 alone
    return row("Resize", x, *inputs, attributes=attributes, **{"sizes": (1,), **rounded, **options})


def positions(kind: str) -> dict[str, str]:
    return {"coordinate_transformation_mode": kind}


def around(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Grid coordinates inside and outside of the image."""
    return random.uniform(-1.6, 1.6, shape)


def sampled(x: Any, grid: Any, mode: str, padding: str = "zeros", align: int = 0, **options: Any) -> Row:
    """A row of GridSample; onnx.reference computes in float32, and differently from PyTorch in one case."""
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
    exact = {"value_tolerance": 1e-5, "max_step": 1e-5, "domain": [(-2.0, 2.0), around]}
    if (mode, padding) == ("cubic", "border"):
        exact["only"] = ["form", "closed", "differences", "linear", "sizes"]
    return row("GridSample", x, grid, attributes=attributes, **{**exact, **options})


NO_REFERENCE = ["form", "closed", "differences", "linear"]
"""The checks of AffineGrid, which onnx.reference gives in float32."""

IMAGES = [
    *(
        resized(F(2, 3, 4, 5), None, fractions(1, 1, 1.5, 2), mode=mode, attributes=positions(kind))
        for mode in ("nearest", "linear", "cubic")
        for kind in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
    ),
    *(
        resized(F(2, 3, 4, 5), None, None, [6, 2], mode=mode, attributes={"axes": [2, 3], "exclude_outside": outside})
        for mode, outside in (("nearest", 0), ("linear", 0), ("cubic", 1))
    ),
    resized(F(2, 4, 5), None, None, [12, 10], mode="nearest", attributes={"axes": [1, 2]}, is_symbolic=False),
    resized(F(2, 4, 5), None, fractions(2, 3), mode="nearest", sizes=(1, 0),
            attributes={"axes": [1, 2], "nearest_mode": "floor", **positions("asymmetric")}),
    resized(F(4, 5), None, fractions(0.5, 0.7), mode="nearest", attributes={"nearest_mode": "ceil"}),
    resized(F(4, 5), None, None, integers(6, 7), mode="linear", is_symbolic=False, note="sizes at run time"),
    resized(F(7, 3), None, fractions(1.7, 1), mode="linear"),
    resized(F(2, 1, 3, 4, 2), None, fractions(1, 1, 2, 1, 1.5), mode="linear"),
    *(
        resized(F(1, 2, 4, 5), None, fractions(0.5, 0.7), mode=mode,
                attributes={"axes": [2, 3], "antialias": 1, "exclude_outside": outside})
        for mode, outside in (("linear", 0), ("cubic", 0), ("cubic", 1))
    ),
    *(
        resized(F(1, 2, 4, 5), None, None, [7, 8], mode=mode,
                attributes={"axes": [2, 3], "keep_aspect_ratio_policy": policy})
        for mode, policy in (("nearest", "not_larger"), ("linear", "not_larger"), ("cubic", "not_smaller"))
    ),
    *(
        # onnx.reference reads other positions than onnxruntime when cropping: see test_resize.py.
        resized(F(1, 2, 4, 5), fractions(0.2, 0.1, 0.9, 1.4), fractions(1.5, 0.7), mode=mode,
                attributes={"axes": [2, 3], "extrapolation_value": 9.0, **positions("tf_crop_and_resize")},
                only=["form", "closed", "linear"])
        for mode in ("nearest", "linear", "cubic")
    ),
    *(
        sampled(F(2, 3, 4, 5), F(2, 3, 2, 2), mode, padding, align)
        for mode in ("linear", "cubic")
        for padding in ("zeros", "border", "reflection")
        for align in (0, 1)
    ),
    *(
        sampled(F(2, 3, 4, 5), F(2, 3, 2, 2), "nearest", padding, wrt=[0], no_tangent=[1])
        for padding in ("zeros", "border", "reflection")
    ),
    sampled(F(2, 2, 3, 4, 5), F(2, 2, 3, 2, 3), "linear"),
    *(
        row("AffineGrid", F(2, len(size) - 2, len(size) - 1), size, attributes={"align_corners": align},
            is_symbolic=False, only=NO_REFERENCE)
        for size in ([2, 3, 4, 5], [2, 3, 4, 5, 2])
        for align in (0, 1)
    ),
    row("AffineGrid", F(2, 2, 3), integers(2, 3, 4, 5), is_symbolic=False, only=NO_REFERENCE, note="size at run time"),
]  # fmt: skip

INVERSE = {"value_tolerance": 1e-6, "rtol": {"float64": 1e-6}}
"""onnxruntime rounds 1 / length to float32 in inverse transforms."""


def whole(number: int) -> Const:
    return Const(np.array(number, np.int64))


SPECTRA = [
    *(
        row("DFT", F(2, 6, 3, parts), length, whole(1), attributes={"inverse": inverse}, sizes=(1,),
            **(INVERSE if inverse else {}))
        for parts in (1, 2)
        for length in (None, whole(5), whole(8))
        for inverse in (0, 1)
    ),
    *(
        row("DFT", F(2, 6, 3, 1), length, whole(-3), attributes={"onesided": 1}, sizes=(1,))
        for length in (None, whole(5), whole(8))
    ),
    *(
        row("DFT", F(2, count, 2), attributes={"onesided": 1, "inverse": 1}, is_symbolic=False, **INVERSE)
        for count in (2, 5)
    ),
    *(
        row("DFT", F(2, count, 3, 2), whole(length), whole(1), attributes={"onesided": 1, "inverse": 1},
            is_symbolic=False, **INVERSE)
        for count, length in ((4, 6), (4, 7), (5, 4), (5, 7), (3, 8), (3, 9), (2, 1))
    ),
    row("DFT", F(2, 4, 2), integers(5).reshape(()), attributes={"onesided": 1, "inverse": 1}, is_symbolic=False,
        note="half a spectrum to a length at run time", **INVERSE),
    row("DFT", F(2, 5, 1), integers(7).reshape(()), is_symbolic=False, note="length at run time"),
    *(
        row("DFT", F(2, 5, 3, 1 + inverse), length, integers(axis).reshape(()), attributes={"inverse": inverse},
            is_symbolic=False, note=f"length {length}, axis {axis} at run time", **(INVERSE if inverse else {}))
        for length, axis in ((None, 1), (whole(4), -2), (whole(7), 1))
        for inverse in (0, 1)
    ),
    row("DFT", F(2, 5, 3, 2), None, integers(1).reshape(()), attributes={"onesided": 1, "inverse": 1},
        is_symbolic=False, note="axis at run time", **INVERSE),
    *(
        row("STFT", F(2, 10, parts), whole(3), F(4), length, attributes={"onesided": 2 - parts}, sizes=())
        for parts, length in ((1, None), (1, whole(4)), (2, None))
    ),
    row("STFT", F(2, 10, 1), whole(2), None, whole(5), sizes=()),
    row("STFT", F(2, 10, 1), integers(2).reshape(()), None, integers(5).reshape(()), is_symbolic=False,
        note="step and length at run time"),
]  # fmt: skip

REGIONS = [[0.31, 0.43, 3.27, 2.76], [-0.74, 0.29, 2.13, 4.91], [1.23, 1.34, 1.97, 1.68], [2.29, 1.17, 7.39, 6.41]]
NUMBERED = [[n, *corners] for n, corners in zip((0, 1, 1, 0), REGIONS, strict=True)]


def aligned(mode: str, positions: str, ratio: int) -> Row:
    """A row of RoiAlign: regions inside, across the border and smaller than a pixel."""
    attributes = {"coordinate_transformation_mode": positions, "mode": mode, "output_height": 2, "output_width": 3}
    return row(
        "RoiAlign", F(2, 2, 4, 5), np.array(REGIONS), integers(0, 1, 1, 0), max_step=1e-5, is_symbolic=False,
        attributes={**attributes, "sampling_ratio": ratio, "spatial_scale": 0.75},
    )  # fmt: skip


POOLED = [
    *(
        aligned(mode, positions, ratio)
        for mode in ("avg", "max")
        for positions in ("half_pixel", "output_half_pixel")
        for ratio in (0, 2)
    ),
    row("MaxRoiPool", F(2, 2, 4, 5), np.array([*NUMBERED, [0, 8, 8, 9, 9]]), domain=spaced, max_step=1e-4, wrt=[0],
        no_tangent=[1], attributes={"pooled_shape": [2, 3], "spatial_scale": 0.8}, is_symbolic=False),
    row("MaxRoiPool", F(1, 1, 1, 4), np.array([[0, 0.0, 0, 2, 0]]), wrt=[0], no_tangent=[1], is_symbolic=False,
        attributes={"pooled_shape": [1, 1]}, domain=spaced, max_step=1e-4, only=["form", "differences", "kinks"],
        kinks=[([np.array([[[[1.0, 2, 2, 3]]]]), np.array([[0, 0.0, 0, 2, 0]])], [[[[[0, 1, 0, 0]]]]])]),
]  # fmt: skip


def offsets(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Up to one and a half pixels to any side."""
    return random.uniform(-1.4, 1.4, shape)


def deformed(*inputs: Any, **attributes: Any) -> Row:
    """A row of DeformConv; onnx.reference reads positions in float32."""
    domains = [(-1.0, 1.0), (-1.0, 1.0), offsets, (-1.0, 1.0), (0.0, 1.0)][: len(inputs)]
    return row("DeformConv", *inputs, domain=domains, attributes=attributes, is_symbolic=False, max_step=1e-5,
               value_tolerance=1e-5)  # fmt: skip


DEFORMED = [
    deformed(F(1, 1, 3, 3), F(1, 1, 2, 2), F(1, 8, 2, 2), kernel_shape=[2, 2]),
    deformed(F(2, 4, 5, 4), F(6, 2, 3, 2), F(2, 24, 3, 2), group=2, offset_group=2, pads=[1, 0, 1, 1], strides=[2, 2]),
    deformed(F(2, 4, 5, 4), F(4, 4, 2, 2), F(2, 8, 3, 4), F(4), F(2, 4, 3, 4), pads=[0, 1, 0, 1], dilations=[2, 2]),
    deformed(F(1, 4, 4, 3), F(4, 1, 2, 2), F(1, 32, 3, 2), None, F(1, 16, 3, 2), group=4, offset_group=4),
]

CENTRED = [
    *(
        row("CenterCropPad", F(*old), new, is_symbolic=False)
        for old, new in (((5, 4), [3, 3]), ((5, 4), [2, 1]), ((3, 4), [6, 7]), ((5, 2), [2, 5]), ((4, 3), [7, 3]))
    ),
    row("CenterCropPad", F(5, 4, 3), [6, 2], attributes={"axes": [2, 0]}, sizes=(1,)),
]

SPATIAL = [*IMAGES, *SPECTRA, *POOLED, *DEFORMED, *CENTRED]
