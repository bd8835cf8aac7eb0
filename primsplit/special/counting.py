"""Binomial coefficients and orthogonal polynomials of known degrees: SciPy's `binom`, `poch`, `rgamma`, `eval_*`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.approximations.error_function import in_float64
from primsplit.numpy.approximations.signs import cos_pi, sin_pi
from primsplit.numpy.ufuncs import elementwise
from primsplit.numpy.units import nan_where, unit
from primsplit.numpy.validity import where_valid
from primsplit.ops import op
from primsplit.special.beta import betaln, gammaln_rise
from primsplit.special.gamma import digamma, gamma_function, gammaln, gammasgn
from primsplit.tracing.array import Array, unsupported


def _of_rgamma(of_right: Callable[[Array], Array], of_left: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Chooses one function from 1/2 on, and another below, in float64."""

    def both(x: Array) -> Array:
        is_small = x < 0.5
        return op.Where(is_small, of_left(op.Where(is_small, x, 0.0)), of_right(op.Where(is_small, 1.0, x)))

    def wide(x: Array) -> Array:
        return in_float64(x, both)

    return wide


def _rgamma_slope_left(x: Array) -> Array:
    rest = 1.0 - x
    found: Array = gamma_function(rest) * (cos_pi(x) - sin_pi(x) * digamma(rest) * (1 / math.pi))
    return found


_rgamma = _of_rgamma(
    lambda x: op.Reciprocal(gamma_function(x)),
    lambda x: op.Where(op.Equal(x, -math.inf), 0.0, sin_pi(x) * gamma_function(1.0 - x) * (1 / math.pi)),
)
_rgamma_slope = _of_rgamma(lambda x: -digamma(x) / gamma_function(x), _rgamma_slope_left)
rgamma = elementwise("rgamma")(unit("rgamma", _rgamma, lambda dz, x, z: dz * _rgamma_slope(x)))
"""1 / gamma(x), which is smooth everywhere; below 1/2 by reflection. At -inf it is 0, as in SciPy."""


@elementwise("poch")
def poch(z: Array, m: Array) -> Array:
    """gamma(z + m) / gamma(z). Where both have a pole, their ratio for this m, without a derivative in m."""
    total = z + m
    above, below = _is_pole(total), _is_pole(z)
    both, none = op.And(above, below), op.Not(op.Or(above, below))
    first, second = op.Where(none, total, 1.0), op.Where(none, z, 1.0)
    sign = gammasgn(first) * gammasgn(second)
    is_right = op.And(none, op.And(total > 0.0, z > 0.0))
    rise = gammaln_rise(op.Where(is_right, z, 1.0), op.Where(is_right, m, 0.0))
    left = gammaln(op.Where(is_right, 1.0, first)) - gammaln(op.Where(is_right, 1.0, second))
    found = sign * op.Exp(op.Where(is_right, rise, left))
    low, high = op.Where(both, z, 0.0), op.Where(both, z + _step(m, both), 0.0)
    is_odd = op.Not(op.Equal(op.Floor(m * 0.5) * 2.0, m))
    between = op.Where(is_odd, -1.0, np.ones((), z.dtype)) * op.Exp(gammaln(1.0 - low) - gammaln(1.0 - high))
    is_zero, is_end = op.And(below, op.Not(above)), op.And(above, op.Not(below))
    zeros = gamma_function(op.Where(is_zero, total, 1.0)) * rgamma(op.Where(is_zero, z, 1.0))
    ends = op.Exp(gammaln(op.Where(is_end, total, 1.0)))
    return op.Where(none, found, op.Where(both, between, op.Where(is_zero, zeros, ends)))


_step = unit("step", lambda m, at: op.Identity(m), lambda dz, m, at, z: nan_where(at, dz), None)
"""A number at which a function jumps where `at` is True."""


def _is_pole(x: Array) -> Array:
    return op.And(x <= 0.0, _is_whole(x))


MOST_FACTORS = 30
"""The largest k for which the binomial coefficient is a product."""


@elementwise("binom")
def binom(n: Array, k: Array) -> Array:
    """The number of ways to choose k of n, also for real numbers; NaN for negative integers n.

    If k is a small known integer, it is a product of fractions, else 1 / ((n + 1) B(n - k + 1, k + 1)). Beyond 0 and n
    it crosses 0 at whole numbers: at a distance d, there it is sin(pi d) / pi times the beta function of n + 1 and d,
    by reflection of gamma.
    """
    is_pole = op.And(n < 0.0, _is_whole(n))
    n = op.Where(is_pole, math.nan, n)
    known = k.known()
    if known is not None and known.size == 1 and known.item() in range(MOST_FACTORS):
        found = n * 0.0 + k * 0.0 + 1.0
        for i in range(int(known.item())):
            found = found * ((n - float(i)) / (i + 1.0))
        return found
    is_above = op.And(_is_whole(n), k > n)
    is_none = op.And(_is_whole(k), op.Or(k < 0.0, is_above))
    beyond = op.Where(k < 0.0, -k, k - n)
    second = op.Where(is_none, beyond, k + 1.0)
    third = op.Where(is_none, n + beyond, n - k) + 1.0
    inner = betaln(op.Where(is_none, n + 1.0, third), second)
    logarithm = op.Where(is_none, inner, -inner - op.Log(op.Where(is_none, 1.0, op.Abs(n + 1.0))))
    sign = gammasgn(n + 1.0) * gammasgn(second) * op.Where(_is_pole(third), 1.0, gammasgn(third))
    wave = op.Where(is_none, sin_pi(op.Where(is_none, beyond, 0.0)) * (1 / math.pi), sign)
    return op.Where(is_none, sign, 1.0) * wave * op.Exp(logarithm)


def _is_whole(x: Array) -> Array:
    return op.Equal(op.Floor(x), x)


Step = Callable[..., Array]
"""The polynomial of degree k + 1 from k, the point, those of degrees k and k - 1, and the parameters."""


def _polynomials(name: str, first: Step, following: Step) -> None:
    """Register the polynomials of a recurrence, for degrees known when tracing. Raises UnsupportedFunction."""

    @elementwise(name)
    def evaluate(degree: Array, *rest: Array) -> Array:
        known = degree.known()
        if known is None or known.size == 0 or np.any(known < 0) or np.any(known % 1):
            raise unsupported(f"scipy.special.{name} of degrees that are no known whole numbers")
        *parameters, x = rest
        if name == "eval_genlaguerre":
            (x,) = where_valid(parameters[0] > -1.0, x)
        return _of_degrees(known.astype(int), x, lambda *ks: following(*ks, *parameters), first(x, *parameters))

    evaluate.__name__ = name


def _of_degrees(degrees: Any, x: Array, following: Step, first: Array) -> Array:
    """The polynomials of an array of degrees, each chosen where it is wanted."""
    last, value = x * 0.0 + 1.0, first + x * 0.0
    found = op.Where(degrees == 0, last, op.Where(degrees == 1, value, np.zeros((), x.dtype)))
    for k in range(1, int(degrees.max())):
        last, value = value, following(float(k), x, value, last)
        found = op.Where(degrees == k + 1, value, found)
    return found


RECURRENCES: dict[str, tuple[Step, Step]] = {
    "eval_legendre": (lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
    "eval_chebyt": (lambda x: x, lambda k, x, p, q: 2.0 * x * p - q),
    "eval_chebyu": (lambda x: 2.0 * x, lambda k, x, p, q: 2.0 * x * p - q),
    "eval_hermite": (lambda x: 2.0 * x, lambda k, x, p, q: 2.0 * x * p - (2 * k) * q),
    "eval_hermitenorm": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "eval_laguerre": (lambda x: 1.0 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "eval_genlaguerre": (
        lambda x, a: 1.0 + a - x,
        lambda k, x, p, q, a: ((2 * k + 1 + a - x) * p - (k + a) * q) / (k + 1),
    ),
    "eval_gegenbauer": (
        lambda x, a: 2.0 * a * x,
        lambda k, x, p, q, a: (2.0 * x * (k + a) * p - (k - 1.0 + 2.0 * a) * q) / (k + 1),
    ),
    "eval_jacobi": (
        lambda x, a, b: (a + 1.0) + (a + b + 2.0) * (x - 1.0) * 0.5,
        lambda k, x, p, q, a, b: _jacobi(k + 1, x, p, q, a, b),
    ),
}
"""The first degree and the recurrence (NIST Digital Library of Mathematical Functions, 18.9.1)."""


def _jacobi(n: float, x: Array, p: Array, q: Array, a: Array, b: Array) -> Array:
    c = a + b + 2 * n
    middle = (c - 1.0) * (c * (c - 2.0) * x + a * a - b * b) * p
    last = 2.0 * (n - 1.0 + a) * (n - 1.0 + b) * c * q
    return (middle - last) / (2 * n * (n + a + b) * (c - 2.0))


for _name, (_first, _following) in RECURRENCES.items():
    _polynomials(_name, _first, _following)
