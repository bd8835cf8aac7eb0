"""scipy.integrate.quad for functions of traced values: the Gauss-Kronrod rule on intervals that are halved.

The intervals are found in a Loop without a gradient: the one with the largest error is halved until the sum of the
errors is small. The integral is then the rule's sum over the intervals, and its derivatives, also in the ends, are
those of the sum. R. Piessens, E. de Doncker-Kapenga, C. W. Ueberhuber, D. K. Kahaner, QUADPACK (1983).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import with_args
from primsplit.frontends.scipy.optimize.implicit import Recorded, recorded
from primsplit.ir import Type
from primsplit.numpy.dense.loop import until
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn
from primsplit.transforms.batching.transform import batch_block

__all__ = ["dblquad", "fixed_quad", "nquad", "quad", "quad_vec", "tplquad"]

Function = Callable[[Any], Any]
NUMBER = StandIn(Type(np.float64, ()), weak=True, scalar=True)

_POSITIVE = [
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
]  # fmt: skip
_WEIGHTS = [
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109831074, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
]  # fmt: skip
NODES = 0.5 + 0.5 * np.array([*(-x for x in _POSITIVE), 0.0, *_POSITIVE[::-1]])
"""Kronrod's 21 points in [0, 1]; every other one is one of Gauss's 10."""
KRONROD = 0.5 * np.array([*_WEIGHTS, 0.149445554002916905664936468389821, *_WEIGHTS[::-1]])
GAUSS = np.zeros(21)
GAUSS[1::2] = 0.5 * np.polynomial.legendre.leggauss(10)[1]


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    **options: Any,
) -> Any:
    """The integral of func(x, *args) from a to b, and an estimate of its error, with a hundredth of the tolerances.

    An infinite end is a number of Python's. Raises UnsupportedFunction for `points`, `weight` and `full_output`.
    """
    told = {"points": points, "weight": weight, "full_output": full_output or None, **options}
    refused = next((name for name, value in told.items() if value is not None), None)
    if refused is not None:
        raise unsupported(f"scipy.integrate.quad with {refused}")
    integrand = _at_points(with_args(func, args))
    f, low, high = _finite(integrand, a, b)
    starts, widths, error = map(stop_gradient, _intervals(f, low, high, epsabs / 100, epsrel / 100, limit))
    value = _over_intervals(f, low, high, starts, widths)
    return Array(value.value, weak=True, scalar=True), Array(error.value, weak=True, scalar=True)


MOST = 500
"""The most intervals of an integral of arrays, of which SciPy takes ten thousand."""
NORMS: dict[str, Function] = {
    "2": lambda v: np.sqrt(np.sum(v * v, axis=-1)),
    "max": lambda v: np.max(np.abs(v), axis=-1, initial=0.0),
}


def quad_vec(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: Any = 100e6,
    limit: int = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> tuple[Any, Any]:
    """The integral of an array f(x, *args) from a to b, and its error in this norm, as `quad` has them.

    Raises UnsupportedFunction for `points`, `full_output`, and norms and rules other than the usual.
    """
    if points is not None or full_output or quadrature not in {None, "gk21"} or norm not in NORMS:
        raise unsupported("scipy.integrate.quad_vec with points, full_output or another rule or norm")
    at, shape = _arrays_at_points(with_args(f, args))
    a, b = (refusing(end, np.isnan(end), ValueError("invalid integration bounds")) for end in (a, b))
    integrand, low, high = _finite(at, a, b)
    size = NORMS[norm]
    scale = size(np.abs(_values(integrand, low, high, NODES[None])[0]).T @ KRONROD)
    least = stop_gradient(np.maximum(epsabs / 100, 1e-15 * scale))
    found = _intervals(integrand, low, high, least, epsrel / 100, min(limit, MOST), size)
    starts, widths, error = map(stop_gradient, found)
    return np.reshape(_over_intervals(integrand, low, high, starts, widths), shape), error


def fixed_quad(func: Callable[..., Any], a: Any, b: Any, args: Any = (), n: int = 5) -> tuple[Any, None]:
    """The integral of func(x, *args) from a to b by Gauss and Legendre's rule: `func` takes all points at once."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    ends = (cast_to(array_like(x), np.float64) for x in (a, b))
    told = ValueError("Gaussian quadrature is only available for finite limits.")
    low, high = (refusing(end, np.isinf(end), told) for end in ends)
    y = (high - low) * (nodes + 1) / 2 + low
    return (high - low) / 2 * np.sum(weights * func(y, *args), axis=-1), None


def dblquad(func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), **tolerances: Any) -> Any:
    """The integral of func(y, x, *args) over y from gfun(x) to hfun(x), and over x from a to b, and the outer error."""
    f = with_args(func, args)

    def inner(x: Any) -> Any:
        low, high = (g(x) if callable(g) else g for g in (gfun, hfun))
        return quad(lambda y: f(y, x), low, high, **tolerances)[0]

    return quad(inner, a, b, **tolerances)


def tplquad(
    func: Callable[..., Any], a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (), **options: Any
) -> Any:
    """The integral of func(z, y, x, *args) over z from qfun(x, y) to rfun(x, y), and over y and x as `dblquad` has it.

    Beside it the error of the outermost integral.
    """

    def depth(y: Any, x: Any, *_: Any) -> Any:
        return [e(x, y) if callable(e) else e for e in (qfun, rfun)]

    def sides(x: Any, *_: Any) -> Any:
        return [e(x) if callable(e) else e for e in (gfun, hfun)]

    return nquad(func, [depth, sides, (a, b)], args, options)


def nquad(func: Callable[..., Any], ranges: Any, args: Any = (), opts: Any = None, full_output: bool = False) -> Any:
    """The integral of func(x0, x1, ..., *args) over ranges, the first the innermost, and the outermost one's error.

    A range is a pair, or a function of the variables further out, and of `args`, that gives one; `opts` are options of
    `quad`, for all of them or one for each. Raises UnsupportedFunction for `full_output` and for options that are
    functions.
    """
    rest = args if isinstance(args, tuple) else (args,)
    several = opts if isinstance(opts, list | tuple) else [opts or {}] * len(ranges)
    if full_output or any(map(callable, several)):
        raise unsupported("scipy.integrate.nquad with full_output, or options that are functions")

    def integral(depth: int, outer: tuple[Any, ...]) -> Any:
        given = ranges[depth]
        low, high = given(*outer, *rest) if callable(given) else given

        def along(x: Any) -> Any:
            return integral(depth - 1, (x, *outer))[0] if depth else func(x, *outer, *rest)

        return quad(along, low, high, **several[depth])

    return integral(len(ranges) - 1, ())


def _at_points(function: Function) -> Function:
    """The function of a number, recorded once, of many."""
    return _many(recorded(function, NUMBER))


def _many(made: Recorded) -> Function:
    def at(points: Array) -> Array:
        size = points.shape[0]
        flags = [True, *[False] * len(made.captures)]
        block, _ = batch_block(made.block, flags, size, wanted=[True])
        return Array(tracing.inline(block, [points.value, *made.captures])[0])

    return at


def _arrays_at_points(function: Function) -> tuple[Function, Any]:
    """The function of a number, recorded once, as one of many that gives a row for each; and the shape of a row."""
    made = recorded(function, NUMBER, reshapes=False)
    shape = made.block.results[0].type.shape
    assert shape is not None
    at = _many(made)
    return lambda points: np.reshape(at(points), (points.shape[0], math.prod(shape))), shape


def _finite(f: Function, a: Any, b: Any) -> tuple[Function, Any, Any]:
    """An integrand between finite ends: an infinite end is where t is 0 in x = end + (1 - t) / t."""
    low, high = _end(a), _end(b)
    is_open = [isinstance(x, float) and math.isinf(x) for x in (low, high)]
    if not any(is_open):
        return f, cast_to(array_like(low), np.float64), cast_to(array_like(high), np.float64)
    if not isinstance(low, Array) and not isinstance(high, Array) and low > high:
        return lambda t: -_finite(f, high, low)[0](t), *_unit()
    if all(is_open):
        return lambda t: _each(f((1 - t) / t) + f((t - 1) / t), 1 / (t * t)), *_unit()
    if is_open[1]:
        return lambda t: _each(f(low + (1 - t) / t), 1 / (t * t)), *_unit()
    return lambda t: _each(f(high - (1 - t) / t), 1 / (t * t)), *_unit()


def _each(values: Any, factors: Any) -> Any:
    """Numbers, or rows, times a factor each."""
    return values * (factors if values.ndim == 1 else factors[:, None])


def _end(x: Any) -> Any:
    return x if isinstance(x, Array) else float(x)


def _unit() -> tuple[Array, Array]:
    return array_like(np.asarray(0.0)), array_like(np.asarray(1.0))


def _values(f: Function, low: Array, high: Array, places: Any) -> Any:
    """The integrand times the length, at places [k, 21] in [0, 1]; of arrays [k, 21, elements]."""
    count = places.shape[0]
    found = f(low + (high - low) * np.reshape(places, (count * 21,)))
    return (high - low) * np.reshape(found, (count, 21, *found.shape[1:]))


def _weighted(values: Any, weights: Any) -> Any:
    """The sums over an interval's points."""
    return values @ weights if values.ndim == 2 else np.matmul(weights, values)


def _over_intervals(f: Function, low: Array, high: Array, starts: Any, widths: Any) -> Any:
    """The rule's sum over all intervals."""
    found = _values(f, low, high, starts[:, None] + widths[:, None] * NODES)
    return np.sum(_each(_weighted(found, KRONROD), widths), axis=0)


def _intervals(
    f: Function, low: Array, high: Array, epsabs: Any, epsrel: float, limit: int, size: Function = np.abs
) -> tuple[Array, Array, Array]:
    """The starts and widths of the intervals in [0, 1], and the sum of their errors, each measured by `size`."""
    slots = np.arange(limit)

    def estimates(starts: Any, widths: Any) -> tuple[Any, Any]:
        found = _values(f, low, high, starts[:, None] + widths[:, None] * NODES)
        mean = _weighted(found, KRONROD)
        spread = widths * size(_weighted(np.abs(found - mean[:, None]), KRONROD))
        error = widths * size(_weighted(found, KRONROD - GAUSS))
        ratio = np.minimum(1.0, (200 * error / np.where(spread == 0, 1.0, spread)) ** 1.5)
        return _each(mean, widths), np.where(spread == 0, error, spread * ratio)

    def step(count: Any, starts: Any, widths: Any, values: Any, errors: Any) -> list[Any]:
        worst, new = slots == np.argmax(errors), slots == count
        half = np.sum(np.where(worst, widths, 0.0)) * 0.5
        left = np.sum(np.where(worst, starts, 0.0))
        value, error = estimates(np.stack([left, left + half]), np.stack([half, half]))

        def put(old: Any, first: Any, second: Any) -> Any:
            here, there = (m if old.ndim == 1 else m[:, None] for m in (worst, new))
            return np.where(here, first, np.where(there, second, old))

        both = [put(starts, left, left + half), put(widths, half, half)]
        return [count + 1, *both, put(values, value[0], value[1]), put(errors, error[0], error[1])]

    def settled(count: Any, starts: Any, widths: Any, values: Any, errors: Any) -> Any:
        wanted = np.maximum(epsabs, epsrel * size(np.sum(values, axis=0)))
        total = np.sum(errors)
        return (total <= wanted) | (count >= limit) | np.isnan(total)

    value, error = estimates(array_like(np.zeros(1)), array_like(np.ones(1)))
    first = slots == 0
    carries: list[Any] = [op.Identity(np.asarray(1)), op.Identity(np.zeros(limit)), op.Identity(first.astype(float))]
    carries += [np.where(first if value.ndim == 1 else first[:, None], value, 0.0), np.where(first, error, 0.0)]
    count, starts, widths, _, errors = until(settled, step, carries, limit)
    end = op.Unsqueeze(count, [0])
    kept = fresh("intervals")
    cut = [op.Slice(x, [0], end, [0], types=[Type(x.dtype, (kept,))]) for x in (starts, widths)]
    return cut[0], cut[1], op.ReduceSum(errors, keepdims=0)
