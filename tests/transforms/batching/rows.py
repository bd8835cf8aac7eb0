"""The rows that are tried in batches: those of the derivative rules, and some for operators that have none there."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from primsplit.transforms.batching import each
from primsplit.transforms.batching.table import BATCHING, FLOOR
from tests.rules.row import F32, F, N, Row, integers, row
from tests.rules.rows import NO_GRADIENT
from tests.rules.rows import ROWS as DIFFERENTIATED
from tests.transforms.batching.agreement import subsets

BITS = integers([1, 2, 5], [7, 0, 3])
TRUTH = np.array([[True, False], [False, True]])
IMAGES = np.arange(16, dtype=np.uint8).reshape(1, 1, 4, 4)
FLOAT8 = np.dtype(ml_dtypes.float8_e4m3fn)
KERNEL = np.array([[[[1, 2], [0, 3]]]], np.uint8)
ONE, ZERO = N(0.5, np.float32), N(1, np.uint8)
COUNTED = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0],
           "ngram_indexes": [0, 1], "pool_int64s": [2, 3]}  # fmt: skip

WITHOUT_RULE = [
    *(row(kind, TRUTH, np.array([True, False])) for kind in ("And", "Or", "Xor")),
    *(row(kind, BITS, integers(3, 1, 6)) for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    row("BitShift", BITS.astype(np.uint8), integers(1, 0, 2).astype(np.uint8), attributes={"direction": "LEFT"}),
    row("BitwiseNot", BITS),
    row("Not", TRUTH),
    row("MatMulInteger", IMAGES[0, 0], IMAGES[0, 0].T.copy(), ZERO, ZERO),
    row("MatMulInteger", IMAGES[0, 0], IMAGES[0, 0].T.copy()),
    row("QLinearMatMul", IMAGES[0, 0], ONE, ZERO, IMAGES[0, 0].T.copy(), ONE, ZERO, N(30.0, np.float32), ZERO),
    row("ConvInteger", IMAGES, KERNEL),
    row("QLinearConv", IMAGES, ONE, ZERO, KERNEL, ONE, ZERO, N(9.0, np.float32), ZERO),
    row("DynamicQuantizeLinear", F32(3, 4), outputs=3),
    row("QuantizeLinear", F32(3, 4), F32(4), domain=(0.5, 2.5), attributes={"axis": 1}),
    row("QuantizeLinear", F32(3, 4), N(0.5, np.float32), integers(7).astype(np.uint8), note="zero point with an axis"),
    row("DequantizeLinear", BITS.astype(np.uint8), N(0.5, np.float32), integers(7).astype(np.uint8),
        note="zero point with an axis"),
    row("QuantizeLinear", F32(3, 4), F32(), N(0, FLOAT8), domain=(0.5, 2.5), note="zero point of eight bits"),
    row("DequantizeLinear", np.arange(12.0).reshape(3, 4).astype(FLOAT8), F32(), N(0, FLOAT8), domain=(0.5, 2.5),
        note="zero point of eight bits"),
    row("DequantizeLinear", np.arange(12.0).reshape(3, 4).astype(FLOAT8), F32(4), np.zeros(4, FLOAT8),
        domain=(0.5, 2.5), attributes={"axis": 1}, note="zero points of eight bits"),
    row("TfIdfVectorizer", integers(2, 3, 3), attributes=COUNTED),
    row("MelWeightMatrix", N(4, np.int64), N(16, np.int64), N(8192, np.int64), F32(), N(4000.0, np.float32),
        domain=(10.0, 20.0)),
    row("MaxRoiPool", F32(2, 2, 5, 5), np.array([[0, 0, 0, 3, 3], [1, 1, 1, 4, 4]], np.float32),
        attributes={"pooled_shape": [2, 2]}),
    row("RoiAlign", F32(2, 2, 5, 5), np.array([[0, 0, 3, 3], [1, 1, 4, 4], [0, 1, 2, 4]], np.float32),
        integers(0, 1, 1), attributes={"output_height": 2, "output_width": 2}),
    row("DeformConv", F32(2, 2, 4, 4), F32(3, 2, 2, 2), F32(2, 8, 3, 3), F32(3), F32(2, 4, 3, 3),
        attributes={"kernel_shape": [2, 2]}),
    row("STFT", F32(2, 16, 1), N(4, np.int64), F32(8), N(8, np.int64), attributes={"onesided": 1}),
]  # fmt: skip

CORNERS = [
    row("Expand", F(1, 4), [2, 3, 1, 4], note="two axes more"),
    row("Slice", F(5, 4), [1, 0], [4, 3], note="no axes"),
    row("Einsum", F(3, 4), F(4, 5), attributes={"equation": "ij,jk"}),
    row("Einsum", F(2, 3), F(3, 2), attributes={"equation": "ij,ji"}),
    row("ReduceMax", F(3, 4), [1], attributes={"keepdims": 0}),
    row("ArgMax", F(3, 4), attributes={"axis": -1, "keepdims": 0}),
    row("Shape", F(3, 4, 2), attributes={"start": 1}),
    row("Shape", F(3, 4, 2), attributes={"start": -3, "end": -1}),
    row("CumSum", F(3, 4), integers(-1).reshape(()), note="axis at run time"),
    row("Trilu", F(4, 4), integers(1).reshape(()), note="diagonal at run time"),
    row("Reshape", F(3, 4), integers(4, -1), note="sizes at run time"),
    row("Concat", integers(1, 2), integers(3), attributes={"axis": 0}),
]

TABLE = (*DIFFERENTIATED, *NO_GRADIENT, *WITHOUT_RULE, *CORNERS)
ROWS: list[Row] = [r for r in TABLE if (r.kind in BATCHING or r.kind in FLOOR) and any(subsets(r))]
FIRST: list[Row] = [*{r.kind: r for r in reversed(ROWS)}.values(), *CORNERS]
OTHERS: list[Row] = [r for r in ROWS if not any(r is f for f in FIRST)]


def rows_of(module: str) -> list[Any]:
    """Return the rows of the operators that a module of `primsplit.transforms.batching` batches.

    The first row of each operator, and the corners, run in each suite; the others are slow.
    """
    return [
        pytest.param(r, id=str(r), marks=[] if any(r is f for f in FIRST) else [pytest.mark.slow])
        for r in ROWS
        if _module_of(r.kind) == f"primsplit.transforms.batching.{module}"
    ]


def _module_of(kind: str) -> str:
    """The module of an operator's rule; that of the loop over examples where it has none."""
    return BATCHING[kind].__module__ if kind in BATCHING else each.__name__
