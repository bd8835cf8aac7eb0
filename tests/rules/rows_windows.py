"""Rows of the rules of convolutions and poolings; see rows.py."""

from typing import Any

import numpy as np

from primsplit.ir import Const
from tests.rules.row import F32, F, integers, row, spaced


def weights(*shape: int, dtype: Any = np.float64) -> Const:
    """Constant weights, none of them 0."""
    return Const((np.arange(np.prod(shape)).reshape(shape) % 7 - 3.25).astype(dtype))


PLACED = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 2, 0, 1]}

CONVOLUTIONS = [
    row("Conv", F(2, 3, 6), F(4, 3, 3), F(4), is_symbolic=False),
    row("Conv", F(2, 3, 5, 6), F(2, 3, 2, 3), attributes=PLACED, is_symbolic=False),
    row("Conv", F(1, 4, 5, 4), F(6, 2, 3, 2), attributes={"group": 2, "strides": [2, 2]}, is_symbolic=False),
    row("Conv", F(2, 3, 5, 5), F(3, 1, 3, 3), attributes={"group": 3, "pads": [1, 1, 1, 1]}, is_symbolic=False),
    row("Conv", F32(2, 3, 5, 4), F32(3, 1, 7, 7), attributes={"group": 3, "pads": [3, 3, 3, 3]}, note="crowded",
        is_symbolic=False, dtypes=[]),
    row("Conv", F(2, 2, 5, 4), F(4, 1, 2, 2), attributes={"group": 2, "strides": [2, 1]}, is_symbolic=False),
    row("Conv", F(2, 3, 4, 4), F(2, 3, 1, 1), attributes={"strides": [2, 1]}, is_symbolic=False),
    row("Conv", F(1, 2, 3, 4, 3), F(2, 2, 2, 2, 2), attributes={"strides": [1, 2, 1]}, is_symbolic=False),
    row("Conv", F(2, 3, 7), weights(2, 3, 3), attributes={"pads": [1, 1], "strides": [3]}),
    row("Conv", F(2, 3, 6, 5), weights(2, 3, 2, 3), attributes={"auto_pad": "SAME_LOWER", "strides": [2, 1]}),
    row("Conv", F(2, 3, 6, 5), weights(2, 3, 3, 2), attributes={"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    row("Conv", F32(2, 6, 5, 5), F32(4, 3, 3, 3), attributes={"group": 2, "pads": [1, 1, 1, 1]}, note="one up",
        is_symbolic=False, dtypes=[]),
    row("ConvTranspose", F(2, 3, 4), F(3, 2, 3), F(2), attributes={"strides": [2], "output_padding": [1]},
        is_symbolic=False),
    row("ConvTranspose", F(1, 4, 3, 4), F(4, 2, 2, 3), attributes={**PLACED, "group": 2}, is_symbolic=False),
    row("ConvTranspose", F(1, 2, 3, 3), F(2, 1, 3, 3), attributes={"group": 2, "pads": [1, 1, 1, 1]},
        is_symbolic=False),
    row("ConvTranspose", F(2, 3, 5), weights(3, 2, 3), attributes={"strides": [2], "pads": [1, 1]}),
    row("ConvTranspose", F(2, 3, 5), weights(3, 2, 3), attributes={"strides": [2], "auto_pad": "SAME_LOWER"}),
    row("ConvTranspose", F(2, 3, 4), weights(3, 2, 3), attributes={"strides": [2], "output_shape": [8]},
        is_symbolic=False),
    row("Conv", F(1, 2, 6, 5), F(3, 2, 3, 2), F(3), attributes={"strides": [2, 1], "pads": [-1, 1, 0, -2]},
        is_symbolic=False),
    row("ConvTranspose", F(1, 2, 3, 4), F(2, 2, 3, 2), F(2), attributes={"strides": [2, 1], "pads": [0, 1, -1, -2]},
        is_symbolic=False),
    row("Col2Im", F(2, 8, 6), [4, 3], [2, 2], sizes=(), is_symbolic=False),
    row("Col2Im", F(1, 4, 4), [4, 3], [2, 2], attributes={"strides": [2, 2], "pads": [0, 1, 0, 0]},
        is_symbolic=False),
    row("Col2Im", F(2, 8, 6), integers(4, 3), integers(2, 2), is_symbolic=False, note="block at run time"),
    row("Col2Im", F(1, 6, 4), integers(7), integers(3), attributes={"dilations": [2], "pads": [0, 1]},
        is_symbolic=False, note="block at run time"),
]  # fmt: skip

PLAIN = {"kernel_shape": [2, 2], "strides": [2, 2]}
OVERLAPPING = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
LOWER = {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_LOWER"}
OPEN = {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}

POOLINGS = [
    *(
        row(kind, F(*shape), attributes=attributes, domain=spaced, max_step=1e-4)
        for kind in ("MaxPool", "AveragePool", "LpPool")
        for shape, attributes in [
            ((2, 3, 6), {"kernel_shape": [3], "pads": [1, 1]}),
            ((2, 3, 4, 6), PLAIN),
            ((2, 2, 5, 4), OVERLAPPING),
            ((2, 2, 6), OPEN),
            ((1, 2, 3, 4, 3), {"kernel_shape": [2, 1, 3]}),
            ((2, 2, 6), {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_UPPER"}),
        ]
    ),
    # onnx.reference finds a window less.
    *(
        row(kind, F(2, 2, 7), attributes=LOWER, domain=spaced, max_step=1e-4,
            only=["form", "closed", "differences", "linear", "sizes"])
        for kind in ("MaxPool", "AveragePool", "LpPool")
    ),
    row("MaxPool", F(2, 2, 5, 4), attributes=OVERLAPPING, outputs=2, domain=spaced, max_step=1e-4, sizes=(1,)),
    row("MaxPool", F(1, 1, 4), attributes={"kernel_shape": [2]}, domain=spaced, max_step=1e-4,
        kinks=[([np.array([[[1.0, 1.0, 1.0, 0.0]]])], [[[[1, 1, 1, 0]]]])]),
    row("MaxPool", F(1, 1, 2, 4), attributes={**PLAIN}, domain=spaced, max_step=1e-4, is_symbolic=False,
        kinks=[([np.array([[[[0.0, 1, 2, 2], [1, 1, 2, 2]]]])], [[[[[0, 1, 1, 0], [0, 0, 0, 0]]]]])]),
    row("AveragePool", F(2, 2, 5, 4), attributes={**OVERLAPPING, "count_include_pad": 1}),
    row("AveragePool", F32(2, 3, 4, 6), attributes={"kernel_shape": [2, 3], "strides": [2, 3]}, is_symbolic=False,
        dtypes=[], note="side by side"),
    row("LpPool", F(2, 2, 6), attributes={"kernel_shape": [3], "p": 3}, domain=spaced, max_step=1e-4),
    row("LpPool", F(2, 2, 6), attributes={"kernel_shape": [2], "p": 1}, domain=spaced, max_step=1e-4,
        kinks=[([np.zeros((1, 1, 3))], [np.zeros((1, 1, 3))])]),
    row("LpPool", F(1, 1, 4), attributes={"kernel_shape": [2]}, domain=spaced, max_step=1e-4,
        kinks=[([np.zeros((1, 1, 3))], [np.zeros((1, 1, 3))])]),
    row("GlobalAveragePool", F(2, 3, 4), sizes=(1,)),
    row("GlobalAveragePool", F(2, 3, 4, 5), sizes=(1,)),
    row("GlobalMaxPool", F(2, 3, 4, 5), domain=spaced, max_step=1e-4,
        kinks=[([np.array([[[[1.0, 2.0, 2.0]]]])], [[[[[0, 1, 0]]]]])]),
    row("GlobalLpPool", F(2, 3, 4, 5), domain=spaced, max_step=1e-4,
        kinks=[([np.zeros((1, 1, 3))], [np.zeros((1, 1, 3))])]),
    row("GlobalLpPool", F(2, 3, 4), attributes={"p": 3}, domain=spaced, max_step=1e-4),
    row("MaxUnpool", F(1, 1, 2, 2), integers([[[[1, 6], [9, 14]]]]).reshape(1, 1, 2, 2), attributes=PLAIN,
        is_symbolic=False),
]  # fmt: skip

ROWS = [*CONVOLUTIONS, *POOLINGS]
