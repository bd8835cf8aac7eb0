"""NumPy's exponentials, logarithms and roots, and SciPy's logistic functions."""

import math
from collections.abc import Callable

import numpy as np

from primsplit.numpy.approximations import exponential
from primsplit.numpy.quotients import root_quotient
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import UNITS, Unit, nan_where, unit
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.calls.primitive import Function, Primitive, rrule


@elementwise("exp")
def exp(x: Array) -> Array:
    """e**x."""
    return op.Exp(x)


@elementwise("log")
def log(x: Array) -> Array:
    """The natural logarithm."""
    return op.Log(x)


@elementwise("sqrt")
def sqrt(x: Array) -> Array:
    """The square root. Its derivative at 0 is infinite; see `numpy/quotients.py` for a zero cotangent."""
    return op.Sqrt(x)


log1p = elementwise("log1p")(unit("log1p", exponential.log1p, lambda dz, x, z: dz / (x + 1.0)))
expm1 = elementwise("expm1")(unit("expm1", exponential.expm1, lambda dz, x, z: dz * op.Exp(x)))
log2 = elementwise("log2")(unit("log2", exponential.log2, lambda dz, x, z: dz * math.log2(math.e) / x))
log10 = elementwise("log10")(unit("log10", exponential.log10, lambda dz, x, z: dz * math.log10(math.e) / x))


@elementwise("exp2")
def exp2(x: Array) -> Array:
    """2**x."""
    return exponential.exp2(x)


@elementwise("exp10", is_total=True)
def exp10(x: Array) -> Array:
    """10**x."""
    return op.Pow(np.asarray(10.0, x.dtype), x)


cbrt = elementwise("cbrt")(unit("cbrt", exponential.cbrt, lambda dz, x, z: root_quotient(dz * (1.0 / 3.0), z * z)))


def _expit(x: Array) -> Array:
    return op.Reciprocal(1.0 + op.Exp(-x))


expit = elementwise("expit", is_total=True)(unit("expit", _expit, lambda dz, x, z: dz * (z * _expit(-x))))
"""1 / (1 + exp(-x)), relatively accurate in both tails, as onnxruntime's Sigmoid is not: it is 0 below -18."""

log_expit = elementwise("log_expit", is_total=True)(
    unit(
        "log_expit",
        lambda x: op.Min(x, 0.0) - exponential.log1p(op.Exp(-op.Abs(x))),
        lambda dz, x, z: dz * expit(-x),
    )
)


def _logit(p: Array) -> Array:
    """Below 1/4 log(p / (1 - p)); else log1p((2 p - 1) / (1 - p)), where 2 p - 1 and 1 - p lose nothing."""
    rest = 1.0 - p
    near = exponential.log1p((2.0 * p - 1.0) / rest)
    return op.Where(p < 0.25, op.Log(p / rest), near)


logit = elementwise("logit")(unit("logit", _logit, lambda dz, p, z: dz / (p * (1.0 - p))))


def _log_sum(name: str, body: Callable[[Array, Array], Array], scale: float | None = None) -> Unit:
    """The function `body` of two logarithms as one op with a rule; equal infinities have no slope.

    d log(e**x + e**y) is the share of each: dz e**x / (e**x + e**y). `scale` is the logarithm of the base, if not 1.
    """
    made = UNITS[name] = Primitive(body, name)

    @rrule(made)
    def rule(x: Array, y: Array) -> tuple[Array, Function]:
        difference = x - y
        undefined = op.IsNaN(difference)
        finite = op.Where(undefined, 0.0, difference)
        finite = finite if scale is None else finite * scale

        def pullback(dz: Array) -> list[Array]:
            spoiled = nan_where(undefined, dz)
            shares = [op.Where(undefined, 0.0, expit(d)) for d in (finite, -finite)]
            return [sum_to(spoiled * share, v.shape) for share, v in zip(shares, (x, y), strict=True)]

        return made(x, y), pullback

    rule.__name__ = f"{name}_rule"
    return made


logaddexp = elementwise("logaddexp")(_log_sum("logaddexp", exponential.logaddexp))
"""log(e**x + e**y). Equal arguments get half of the gradient each; of equal infinities it is NaN."""

LOG_2 = math.log(2.0)


def _logaddexp2(x: Array, y: Array) -> Array:
    spread = op.Where(op.Equal(x, y), 0.0, op.Abs(x - y))
    return op.Max(x, y) + exponential.log1p(op.Exp(spread * -LOG_2)) * (1.0 / LOG_2)


logaddexp2 = elementwise("logaddexp2")(_log_sum("logaddexp2", _logaddexp2, LOG_2))

# x log(y) is 0 where x is 0. Where y is 0 too, its slope is log(0) in x, and 0 in y.


def _xlogy(x: Array, y: Array) -> Array:
    """x log(y), or 0 where x is 0 and y has no finite logarithm; the slope of this form is NaN there."""
    is_none = op.And(op.Equal(x, 0.0), op.Or(y <= 0.0, op.Equal(y, math.inf)))
    return op.Where(is_none, np.zeros((), x.dtype), x * op.Log(y))


def unless_both_zero(x: Array, y: Array) -> Array:
    """y, but 1 where both are 0: there x log(y) has the derivative 0 / 1 in y."""
    return op.Where(op.And(op.Equal(x, 0.0), op.Equal(y, 0.0)), 1.0, y)


xlogy = elementwise("xlogy")(
    unit(
        "xlogy",
        _xlogy,
        lambda dz, x, y, z: dz * op.Log(y),
        lambda dz, x, y, z: dz * x / unless_both_zero(x, y),
    )
)


def _xlog1py(x: Array, y: Array) -> Array:
    is_none = op.And(op.Equal(x, 0.0), op.Or(y <= -1.0, op.Equal(y, math.inf)))
    return op.Where(is_none, np.zeros((), x.dtype), x * exponential.log1p(y))


def _unless_at_pole(x: Array, y: Array) -> Array:
    """y, but 0 where x is 0 and y is -1."""
    return op.Where(op.And(op.Equal(x, 0.0), op.Equal(y, -1.0)), 0.0, y)


xlog1py = elementwise("xlog1py")(
    unit(
        "xlog1py",
        _xlog1py,
        lambda dz, x, y, z: dz * log1p(y),
        lambda dz, x, y, z: dz * x / (1.0 + _unless_at_pole(x, y)),
    )
)
