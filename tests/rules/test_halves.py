"""Numbers of 16 bits: what is largest among them, which onnxruntime rounds for some readers, and long sums of them."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.ops import op

PADDED: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
TILES: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
LARGEST: dict[str, Callable[[Any], Any]] = {
    "a pooling whose windows overlap": lambda x: op.MaxPool(op.Tanh(x), **PADDED),
    "a pooling whose windows do not": lambda x: op.MaxPool(op.Sin(x), **TILES),
    "of every picture": lambda x: op.GlobalMaxPool(op.Sin(x)),
    "along axes": lambda x: op.ReduceMax(op.Sin(x), [2, 3], keepdims=0),
    "the least along axes": lambda x: op.ReduceMin(op.Tanh(x), [1], keepdims=1),
    "of two": lambda x: op.Max(op.Sin(x), op.Cos(x)),
    "of three": lambda x: op.Max(op.Sin(x), op.Cos(x), op.Tanh(x)),
    "the least of three": lambda x: op.Min(op.Sin(x), op.Cos(x), op.Tanh(x)),
    "up to a bound": lambda x: op.Clip(op.Sin(x), np.zeros((), x.dtype), np.full((), 0.75, x.dtype)),
    "into an array": lambda x: op.ScatterElements(
        op.Sin(x), np.zeros((2, 4, 1, 8), np.int64), op.Slice(x, [0], [1], [2]), axis=2, reduction="max"
    ),
}


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("function", LARGEST.values(), ids=list(LARGEST))
def test_the_largest_of_rounded_numbers_gets_the_gradient(function: Callable[[Any], Any], dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype(dtype)
    found, expected = (
        ps.split(function, ps.spec(kind, ["N", 4, 8, 8]), seed="ones").joint()(x.astype(kind))[-1].astype(np.float64)
        for kind in (dtype, np.dtype(np.float32))
    )
    same = np.vdot(found, expected) / np.linalg.norm(found) / np.linalg.norm(expected)
    assert same > 0.98


MANY = 70_000
"""More than the largest float16."""
CLASSES = np.random.default_rng(1).integers(0, 3, MANY)
SCORES = np.random.default_rng(2).uniform(-2, 2, (MANY, 3))
FAR = np.random.default_rng(3).uniform(200, 400, (4, 20))
LONG: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a mean": (lambda x: op.ReduceMean(x, [0], keepdims=0), SCORES[:, 0]),
    "the loss of picked logarithms": (lambda x: op.NegativeLogLikelihoodLoss(x, CLASSES), SCORES),
    "the cross entropy": (lambda x: op.SoftmaxCrossEntropyLoss(x, CLASSES), SCORES),
    "the cross entropy with weights": (
        lambda x: op.SoftmaxCrossEntropyLoss(x, CLASSES, np.array([0.5, 1, 2], x.dtype)), SCORES,
    ),
    "log sum exp of large numbers": (lambda x: op.ReduceLogSumExp(x, [1], keepdims=0), FAR),
    "SciPy's log sum exp": (lambda x: scipy.special.logsumexp(x, axis=1), FAR),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("name", LONG)
def test_sums_that_16_bits_do_not_hold_have_the_value_and_gradient_of_float64(name: str, dtype: Any) -> None:
    function, numbers = LONG[name]
    x = numbers.astype(dtype)
    value, slope = ps.split(function, x, seed="ones").joint()(x)[:2]
    right, right_slope = ps.split(function, x.astype(float), seed="ones").joint()(x.astype(float))[:2]
    digits = float(ml_dtypes.finfo(dtype).eps)
    np.testing.assert_allclose(value.astype(float), right, rtol=2 * digits)
    np.testing.assert_allclose(slope.astype(float), right_slope, rtol=8 * digits, atol=8 * digits * np.max(right_slope))


def test_a_quantile_of_more_elements_than_float16_counts_is_found() -> None:
    x = np.linspace(0, 1, 100_000).astype(np.float16)
    assert abs(float(ps.trace(lambda v: np.percentile(v, 25), x)(x)) - 0.25) < 1e-3
