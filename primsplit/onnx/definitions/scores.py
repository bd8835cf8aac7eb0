"""Compute the scores and labels of the models of `ai.onnx.ml`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to


def numbers(x: Array) -> Array:
    """Return features as floats: float64 as they are, all others float32."""
    return x if x.type.is_float else op.Cast(x, to="float32")


def rounded(y: Array) -> Array:
    """Return a result in float32."""
    return cast_to(y, np.float32)


def labelled(chosen: Array, labels: Sequence[int] | Sequence[str]) -> Any:
    """Return the labels with these numbers; the numbers if there are no labels."""
    if not labels:
        return chosen
    table = tracing.constant(np.array(labels, np.object_ if isinstance(labels[0], str) else np.int64))
    return op.Gather(Array(table), chosen)


def transformed(scores: Array, name: str) -> Any:
    """Transform the scores of each row by NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT.

    SOFTMAX_ZERO leaves scores of 0 at 0. PROBIT is onnxruntime's approximation (Winitzki 2008) of the quantile of the
    normal distribution. Raises UnsupportedFunction for another name.
    """
    if name == "NONE":
        return scores
    if name == "LOGISTIC":
        return op.Sigmoid(scores)
    if name == "SOFTMAX":
        return op.Softmax(scores, axis=-1)
    if name == "SOFTMAX_ZERO":
        return _softmax_zero(scores)
    if name == "PROBIT":
        return _probit(scores)
    raise UnsupportedFunction(f"{name} is no transformation of scores")


def _softmax_zero(scores: Array) -> Any:
    greatest = op.ReduceMax(scores, [-1], keepdims=1)
    counted = op.Greater(op.Abs(scores), np.asarray(1e-7, scores.dtype))
    zero = np.zeros((), scores.dtype)
    grown = op.Where(counted, op.Exp(op.Sub(scores, greatest)), zero)
    shares = op.Where(counted, grown, op.Mul(scores, op.Exp(op.Neg(greatest))))
    return op.Div(shares, op.ReduceSum(grown, [-1], keepdims=1))


def _probit(scores: Array) -> Any:
    centred = 2.0 * scores - 1.0
    log = op.Log((1.0 - centred) * (1.0 + centred))
    middle = 2.0 / (np.pi * 0.147) + 0.5 * log
    root = op.Sqrt(op.Sqrt(middle * middle - log / 0.147) - middle)
    return float(np.sqrt(2.0)) * op.Where(op.Less(centred, np.zeros((), scores.dtype)), op.Neg(root), root)
