"""Decompose activations, mainly for float64: onnxruntime has kernels of its own for most of them in float32.

Attributes are keywords with ONNX's names and defaults. Errors are in units in the last place: the largest over a random
grid and a grid of special values of all float64 arguments; below the smallest normal float, a few of the smallest
float. Sigmoid has a kernel in onnxruntime, but one whose relative error grows without bound in the left tail, so that
its logarithm and reciprocal are wrong there.
"""

import math
from collections.abc import Callable
from typing import Any

from primsplit.ir.runtimes import fault
from primsplit.numpy.approximations.error_function import ndtr
from primsplit.numpy.approximations.exponential import expm1, log1p
from primsplit.ops import op
from primsplit.rewrites.decompositions.axes import vector
from primsplit.tracing.array import Array

SELU_ALPHA = 1.67326319217681884765625
SELU_GAMMA = 1.05070102214813232421875
ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)


@fault(
    "float64_sigmoid_in_the_left_tail",
    kind="wrong",
    operators=("Sigmoid",),
    says="Sigmoid of float64 loses digits for negative numbers: three at -30.",
)
def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), as exp(x) / (1 + exp(x)) for negative x; relatively accurate down to the smallest float.

    Error 1.8 ulp.
    """
    power = op.Exp(-op.Abs(x))
    return op.Where(x < 0.0, power, 1.0) / (power + 1.0)


@fault(
    "float64_log_softmax_of_nan",
    kind="wrong",
    operators=("LogSoftmax",),
    says="LogSoftmax of float64 gives numbers for the others in a row with a NaN.",
)
def log_softmax(x: Array, *, axis: int = -1) -> Array:
    """x less the logarithm of the sum of exp(x), after the largest x is subtracted; NaN beside a NaN or infinity."""
    axes = vector([axis % x.ndim])
    below = op.Sub(x, op.ReduceMax(x, axes, keepdims=1), types=[x.type])
    return op.Sub(below, op.Log(op.ReduceSum(op.Exp(below), axes, keepdims=1)), types=[x.type])


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)). Error 1.9 ulp, in float32 3.8."""
    return op.Max(x, 0.0) + log1p(op.Exp(-op.Abs(x)))


def softsign(x: Array) -> Array:
    """x / (1 + |x|); NaN at infinity, as in ONNX."""
    return x / (op.Abs(x) + 1.0)


def elu(x: Array, *, alpha: float = 1.0) -> Array:
    """alpha (exp(x) - 1) below 0, x above."""
    return op.Where(x < 0.0, expm1(x) * alpha, x)


def celu(x: Array, *, alpha: float = 1.0) -> Array:
    """alpha (exp(x / alpha) - 1) below 0, x above."""
    return op.Where(x < 0.0, expm1(x / alpha) * alpha, x)


def selu(x: Array, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Array:
    """gamma times elu."""
    return op.Where(x < 0.0, expm1(x) * (alpha * gamma), x * gamma)


def mish(x: Array) -> Array:
    """x tanh(softplus(x)); with e = exp(x) that is x e (e + 2) / (e (e + 2) + 2), in powers that do not overflow."""
    power = op.Exp(-op.Abs(x))
    below = power * (power + 2.0)
    above = 2.0 * power + 1.0
    rest = op.Where(x < 0.0, 2.0, 2.0 * power * power)
    part = op.Where(x < 0.0, below, above)
    return x * (part / (part + rest))


def gelu(x: Array, *, approximate: str = "none") -> Array:
    """x ndtr(x), or x sigmoid(2 z) = x (1 + tanh(z)) / 2 with z = sqrt(2 / pi) (x + 0.044715 x**3) for "tanh"."""
    if approximate == "none":
        return x * ndtr(x)
    return x * sigmoid((2.0 * ROOT_TWO_OVER_PI) * (x + 0.044715 * (x * x * x)))


def hard_sigmoid(x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """alpha x + beta, clipped to 0 and 1."""
    return op.Max(op.Min(x * alpha + beta, 1.0), 0.0)


def hard_swish(x: Array) -> Array:
    """x hard_sigmoid(x) with alpha = 1/6 and beta = 1/2."""
    return x * hard_sigmoid(x, alpha=1.0 / 6.0)


def leaky_relu(x: Array, *, alpha: float = 0.01) -> Array:
    """alpha x below 0, x above."""
    return op.Where(x < 0.0, x * alpha, x)


def prelu(x: Array, slope: Array) -> Array:
    """slope x below 0, x above."""
    return op.Where(x < 0.0, x * slope, x)


def thresholded_relu(x: Array, *, alpha: float = 1.0) -> Array:
    """x above alpha, else 0."""
    return op.Where(x > alpha, x, 0.0)


@fault(
    "float64_shrink_in_float32",
    kind="wrong",
    operators=("Shrink",),
    says="Shrink of float64 is computed in float32.",
)
def shrink(x: Array, *, bias: float = 0.0, lambd: float = 0.5) -> Array:
    """x - bias above lambd, x + bias below -lambd, else 0. onnxruntime rounds float64 to float32 in its kernel."""
    return op.Where(x > lambd, x - bias, op.Where(x < -lambd, x + bias, 0.0))


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "Softplus": softplus,
    "Softsign": softsign,
    "Elu": elu,
    "Celu": celu,
    "Selu": selu,
    "Mish": mish,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "LeakyRelu": leaky_relu,
    "PRelu": prelu,
    "ThresholdedRelu": thresholded_relu,
}
