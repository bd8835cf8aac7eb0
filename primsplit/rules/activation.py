"""Derivative rules of activation functions.

```
y = Relu(x)   ->   dx = Where(Greater(y, 0.0), dy, 0.0)
```

At a kink the derivative is the one on the side of the smaller argument: relu'(0) = 0, leaky relu and prelu have their
slope at 0, elu and its kin the value of their exponential branch, thresholded relu and shrink 0 at their thresholds.
HardSigmoid has slope 0 at its kinks; HardSwish 0 at -3 and 1 at 3. Clip passes the cotangent inside and on its bounds;
each bound gets the sum of the cotangents of the elements that it cut off.

Rules read the output where they can, so that onnxruntime may keep the activation fused with the op before.
"""

import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.exponential import expit
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.rules.halves import compared_wide
from primsplit.rules.table import Pullback, no_gradient, partials, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to

no_gradient("Hardmax")

partials("Sigmoid", lambda x, y: y * (1.0 - y))
partials("Softplus", lambda x, y: expit(x))


def _two_sided(kind: str, below: Callable[..., Array | float], above: Callable[..., Array] | None = None) -> None:
    """Register an activation that changes its formula at 0 and keeps the sign of its input for alpha >= 0.

    `below` and `above` compute the input's cotangent from the output's, the output and the attributes, for an input
    that is at most 0 and for a positive one; without `above` it passes unchanged.
    """
    operator = getattr(later, kind)

    def rule(x: Array, **attributes: float) -> tuple[Array, Pullback]:
        y = operator(x, **attributes)
        keeps_sign = attributes.get("alpha", 1.0) >= 0 and attributes.get("gamma", 1.0) > 0

        def pullback(dy: Array) -> Array:
            positive = op.Greater(y if keeps_sign else x, 0.0)
            raised = dy if above is None else above(dy, y, **attributes)
            found: Array = op.Where(positive, raised, below(dy, y, **attributes))
            return found

        return y, pullback

    rrule(kind)(rule)


_two_sided("Relu", lambda dy, y: 0.0)
_two_sided("LeakyRelu", lambda dy, y, alpha: dy * alpha)
_two_sided("Elu", lambda dy, y, alpha: dy * (y + alpha))
_two_sided("Celu", lambda dy, y, alpha: dy * (y * (1.0 / alpha) + 1.0))
_two_sided("Selu", lambda dy, y, alpha, gamma: dy * (y + alpha * gamma), lambda dy, y, alpha, gamma: dy * gamma)


@rrule("PRelu")
def prelu(x: Array, slope: Array) -> tuple[Array, Pullback]:
    """Like LeakyRelu, with a slope that has a gradient of its own.

    By the standard the slope broadcasts to x; onnxruntime broadcasts both, which a run of unknown sizes may meet.
    """
    y = op.PRelu(x, slope)

    def pullback(dy: Array) -> tuple[Array, Array]:
        positive = op.Greater(x, 0.0)
        scaled = op.Mul(dy, slope, types=[dy.type])
        dx = op.Where(positive, dy, scaled, types=[dy.type])
        return sum_to(dx, x.shape), sum_to(op.Where(positive, 0.0, dy * x, types=[dy.type]), slope.shape)

    return y, pullback


@rrule("ThresholdedRelu")
def thresholded_relu(x: Array, *, alpha: float) -> tuple[Array, Pullback]:
    """The cotangent passes above the threshold."""
    return op.ThresholdedRelu(x, alpha=alpha), lambda dy: op.Where(op.Greater(x, alpha), dy, 0.0)


@rrule("Shrink")
def shrink(x: Array, *, bias: float, lambd: float) -> tuple[Array, Pullback]:
    """The cotangent passes outside of the threshold."""
    passed = op.Or(op.Greater(x, lambd), op.Less(x, -lambd))
    return op.Shrink(x, bias=bias, lambd=lambd), lambda dy: op.Where(passed, dy, 0.0)


@rrule("HardSigmoid")
def hard_sigmoid(x: Array, *, alpha: float, beta: float) -> tuple[Array, Pullback]:
    """The slope alpha strictly between 0 and 1."""
    y = op.HardSigmoid(x, alpha=alpha, beta=beta)

    def pullback(dy: Array) -> Array:
        found: Array = op.Where(op.And(op.Greater(y, 0.0), op.Less(y, 1.0)), dy * alpha, 0.0)
        return found

    return y, pullback


@rrule("HardSwish")
def hard_swish(x: Array) -> tuple[Array, Pullback]:
    """0 up to -3, x / 3 + 1/2 up to 3, 1 from there."""

    def pullback(dy: Array) -> Array:
        ramp = dy * (x * (1.0 / 3.0) + 0.5)
        found: Array = op.Where(op.GreaterOrEqual(x, 3.0), dy, op.Where(op.Greater(x, -3.0), ramp, 0.0))
        return found

    return op.HardSwish(x), pullback


@rrule("Softsign")
def softsign(x: Array) -> tuple[Array, Pullback]:
    """1 / (1 + |x|)**2."""

    def pullback(dy: Array) -> Array:
        scale = 1.0 + op.Abs(x)
        return dy / scale / scale

    return op.Softsign(x), pullback


@rrule("Gelu")
def gelu(x: Array, *, approximate: bytes | str) -> tuple[Array, Pullback]:
    """x P(x): P(x) + x P'(x), for the normal distribution function P or its tanh approximation.

    In float32 the operator's kernel takes one pass, and P is computed again: to keep it beside x would double the
    memory, and with it computed last, three arrays are alive rather than four.
    """
    if approximate in {b"tanh", "tanh"}:
        return _gelu_tanh(x)
    kept = None if x.dtype == np.float32 else _share(x)

    def pullback(dy: Array) -> Array:
        share = _share(x) if kept is None else kept
        density = op.Exp(x * x * -0.5) * math.sqrt(0.5 / math.pi)
        return dy * (share + x * density)

    return op.Gelu(x) if kept is None else x * kept, pullback


def _share(x: Array) -> Array:
    """Return the normal distribution function."""
    return (op.Erf(x * math.sqrt(0.5)) + 1.0) * 0.5


def _gelu_tanh(x: Array) -> tuple[Array, Pullback]:
    scale, cubic = math.sqrt(2.0 / math.pi), 0.044715
    square = x * x
    tangent = op.Tanh(x * (square * (scale * cubic) + scale))
    share = (tangent + 1.0) * 0.5

    def pullback(dy: Array) -> Array:
        slope = (1.0 - tangent * tangent) * (square * (3.0 * scale * cubic) + scale) * 0.5
        return dy * (share + x * slope)

    return x * share, pullback


@rrule("Mish")
def mish(x: Array) -> tuple[Array, Pullback]:
    """x t with t = tanh(softplus(x)): t + x (1 - t**2) sigmoid(x)."""

    def pullback(dy: Array) -> Array:
        tangent = op.Tanh(op.Softplus(x))
        return op.Mul(dy, tangent + x * (1.0 - tangent * tangent) * expit(x))

    return op.Mish(x), pullback


@rrule("Softmax")
def softmax(x: Array, *, axis: int) -> tuple[Array, Pullback]:
    """y (dy - sum(y dy)), from the output."""
    y = op.Softmax(x, axis=axis)

    def pullback(dy: Array) -> Array:
        return y * (dy - op.ReduceSum(y * dy, [axis], keepdims=1))

    return y, pullback


@rrule("LogSoftmax")
def log_softmax(x: Array, *, axis: int) -> tuple[Array, Pullback]:
    """dy - exp(y) sum(dy), from the output."""
    y = op.LogSoftmax(x, axis=axis)

    def pullback(dy: Array) -> Array:
        return dy - op.Exp(y) * op.ReduceSum(dy, [axis], keepdims=1)

    return y, pullback


@rrule("Clip")
@compared_wide
def clip(x: Array, *bounds: Array | None) -> tuple[Array, Pullback]:
    """The input gets the cotangent where it is unchanged; crossed bounds give all that is cut off to the upper one."""
    low, high = (*bounds, None, None)[:2]
    y = op.Clip(x, low, high)

    def pullback(dy: Array) -> list[Array | None]:
        cut = [None if low is None else op.Less(x, low), None if high is None else op.Greater(x, high)]
        is_kept = op.Equal(x, y)
        if low is not None and high is not None:
            crossed = op.Less(high, low)
            is_kept = op.And(is_kept, op.Not(crossed))
            cut = [op.And(cut[0], op.Not(crossed)), op.Or(cut[1], crossed)]
        rest = [
            None if bound is None else sum_to(op.Where(where, dy, 0.0), bound.shape)
            for where, bound in zip(cut, bounds, strict=False)
        ]
        return [op.Where(is_kept, dy, 0.0), *rest]

    return y, pullback
