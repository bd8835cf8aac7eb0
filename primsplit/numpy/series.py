"""numpy.polynomial's series with a number of coefficients that only the run knows, lowest degree first.

NumPy's own Python functions serve all other series. Each family is defined by its recurrence for the basis p_0 = 1,
p_1, p_(k+1) = (u_k x + v_k) p_k - w_(k-1) p_(k-1), as in M. Abramowitz and I. Stegun, Handbook of Mathematical
Functions (1964), table 22.7.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, reaching
from primsplit.numpy.dense.loop import scan
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, implements
from primsplit.tracing.broadcasting import count_up, expand_to, of_shape

__all__ = ["FAMILIES", "added", "derived", "integrated", "multiplied", "subtracted", "valued"]

Factors = Callable[[Any], tuple[Any, Any, Any]]
Change = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Family:
    """A basis: the factors of its recurrence, its derivative and its integral.

    `slope(c, k)` has as many coefficients as `c`, the last 0; `sum_up(c, k)` one more, with any first one. `k` are the
    degrees, with the axes of `c`.
    """

    factors: Factors
    slope: Change
    sum_up: Change


def _shifted(c: Any) -> Any:
    """The next coefficient at each place, 0 at the last."""
    return np.concatenate([c[1:], np.zeros_like(c[:1])])


def _raised(c: Any) -> Any:
    """The coefficients, each a degree higher."""
    return np.concatenate([np.zeros_like(c[:1]), c])


def _lowered(c: Any) -> Any:
    """The coefficients without the first, each a degree lower, and two zeros."""
    none = np.zeros_like(c[:1])
    return np.concatenate([c[1:], none, none])


def _odd_above(c: Any) -> Any:
    """The sums of the coefficients of higher degrees, whose distance is odd."""
    apart: Any = count_up(c.shape[0]) - count_up(c.shape[0])[:, None]
    counted = cast_to(array_like((apart > 0) & (apart % 2 == 1)), c.dtype)
    return np.tensordot(counted, c, axes=1)


def _all_above(c: Any) -> Any:
    apart: Any = count_up(c.shape[0]) - count_up(c.shape[0])[:, None]
    return np.tensordot(cast_to(array_like(apart > 0), c.dtype), c, axes=1)


def _of_chebyshev(c: Any, k: Any) -> Any:
    down = np.where(k >= 2, c / np.where(k >= 2, 2 * (k - 1), 1.0), 0.0)
    return _raised(np.where(k == 0, c, c / (2 * (k + 1)))) - _lowered(down)


def _of_legendre(c: Any, k: Any) -> Any:
    up = c / (2 * k + 1)
    return _raised(up) - _lowered(np.where(k >= 2, up, 0.0))


FAMILIES: dict[str, Family] = {
    "poly": Family(lambda k: (1.0, 0.0, 0.0), lambda c, k: _shifted(c * k), lambda c, k: _raised(c / (k + 1))),
    "cheb": Family(
        lambda k: (np.where(k == 0, 1.0, 2.0), 0.0, 1.0),
        lambda c, k: (np.minimum(k, 1.0) + 1.0) * _odd_above(c * k),
        _of_chebyshev,
    ),
    "leg": Family(
        lambda k: ((2 * k + 1) / (k + 1), 0.0, (k + 1) / (k + 2)),
        lambda c, k: (2 * k + 1) * _odd_above(c),
        _of_legendre,
    ),
    "herm": Family(
        lambda k: (2.0, 0.0, 2 * (k + 1)), lambda c, k: _shifted(2 * c * k), lambda c, k: _raised(c / (2 * (k + 1)))
    ),
    "herme": Family(lambda k: (1.0, 0.0, k + 1), lambda c, k: _shifted(c * k), lambda c, k: _raised(c / (k + 1))),
    "lag": Family(
        lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), (k + 1) / (k + 2)),
        lambda c, k: -_all_above(c),
        lambda c, k: np.concatenate([c, np.zeros_like(c[:1])]) - _raised(c),
    ),
}


def _coefficients(c: Any) -> Any:
    """A float array that has a coefficient, or a run that fails."""
    given = array_like(c)
    found: Any = given if given.type.is_float else cast_to(given, np.float64)
    return reaching(found, 0, 1)


def _degrees(c: Any) -> Any:
    return cast_to(count_up(c.shape[0]), c.dtype).reshape((-1, *(1,) * (c.ndim - 1)))


def valued(family: Family, x: Any, c: Any, tensor: bool = True) -> Any:
    """The series at `x`, [*c.shape[1:], *x.shape]: C. W. Clenshaw's sums, one step of a scan for each coefficient."""
    given = _coefficients(c)
    points: Any = _points(x)
    if tensor and points.ndim:
        given = given.reshape((*given.shape, *(1,) * points.ndim))
    dtype = np.result_type(given.dtype, x if isinstance(x, int | float) else points.dtype)
    given, points = (cast_to(v, dtype) for v in (given, points))
    factors = _recurrence(family, given.shape[0], dtype)
    nothing: Any = np.zeros_like(given[0] * points)

    def step(one: Array, two: Array, coefficient: Array, u: Any, v: Any, w: Any) -> tuple[list[Array], list[Array]]:
        found = coefficient + (u * points + v) * one - w * two
        return [op.Identity(array_like(found), types=[one.type]), one], []

    return scan(step, [nothing, nothing], [given, *factors], backward=True)[0]


@implements(np.polynomial.polynomial.polyval2d)
def polyval2d(x: Any, y: Any, c: Any) -> Any:
    """The polynomial of two variables at pairs of numbers. NumPy before 2.4 has it in Python."""
    first, second = _points(x), _points(y)
    if len(first.shape) != len(second.shape) or not all(map(dims.could_be, first.shape, second.shape)):
        raise ShapeError("x, y are incompatible", place=tracing.user_place())
    second = of_shape(second, first.shape)
    return valued(FAMILIES["poly"], second, valued(FAMILIES["poly"], first, c), tensor=False)


@implements(np.polynomial.polynomial.polygrid2d)
def polygrid2d(x: Any, y: Any, c: Any) -> Any:
    """The polynomial of two variables at each number of `x` with each of `y`."""
    return valued(FAMILIES["poly"], _points(y), valued(FAMILIES["poly"], _points(x), c))


def _points(x: Any) -> Array:
    return array_like(np.asarray(x) if isinstance(x, list | tuple) else x)


def added(c1: Any, c2: Any) -> Any:
    """The sum of two series."""
    first, second = _as_long(c1, c2)
    return first + second


def subtracted(c1: Any, c2: Any) -> Any:
    """The difference of two series."""
    first, second = _as_long(c1, c2)
    return first - second


def _as_long(*series: Any) -> list[Any]:
    vectors = [_vector(c) for c in series]
    count = dims.maximum(*(c.shape[0] for c in vectors))
    return [np.pad(c, _after(count - c.shape[0])) for c in vectors]


def _after(count: Any) -> Any:
    return (0, count)


def _vector(c: Any) -> Any:
    found = _coefficients(c)
    if found.ndim != 1:
        raise ShapeError("Coefficient array is not 1-d", place=tracing.user_place())
    return found


def multiplied(name: str, c1: Any, c2: Any) -> Any:
    """The product of two series: of powers, and of Chebyshev's polynomials, a convolution."""
    first, second = _vector(c1), _vector(c2)
    if name == "poly":
        return FUNCTIONS[np.convolve](first, second)
    if name != "cheb":
        return _at_series(FAMILIES[name], first, second)
    # Of cos(k t) = (z**k + z**-k) / 2, with powers of z of both signs: as NumPy does it.
    both = [np.concatenate([0.5 * c[:0:-1], c[:1], 0.5 * c[1:]]) for c in (first, second)]
    found: Any = FUNCTIONS[np.convolve](*both)[first.shape[0] + second.shape[0] - 2 :]
    return np.concatenate([found[:1], 2.0 * found[1:]])


def _at_series(family: Family, c: Any, d: Any) -> Any:
    """The series `c` at the product with x, which is done to `d`: Clenshaw's sums, as in `valued`."""
    dtype = np.result_type(c.dtype, d.dtype)
    count, rest = c.shape[0], d.shape[0] - 1
    start: Any = np.pad(cast_to(d, dtype), _after(count - 1))
    u, v, w = _recurrence(family, count + rest, dtype)
    here = [f[:count] for f in (u, v, w)]

    def times_x(series: Any) -> Any:
        shares = series / u
        return _raised(shares)[:-1] - v * shares + w * _shifted(shares)

    def step(one: Array, two: Array, coefficient: Array, a: Any, b: Any, e: Any) -> tuple[list[Array], list[Array]]:
        found = coefficient * start + a * times_x(one) + b * one - e * two
        return [op.Identity(array_like(found), types=[one.type]), one], []

    nothing = np.zeros_like(start)
    return scan(step, [nothing, nothing], [cast_to(c, dtype), *here], backward=True)[0]


def _recurrence(family: Family, count: Any, dtype: Any) -> list[Any]:
    """The factors of the recurrence at so many degrees."""
    places = cast_to(count_up(count), dtype)
    return [expand_to(cast_to(array_like(f), dtype), places.shape) for f in family.factors(places)]


def derived(family: Family, c: Any, m: Any = 1, scl: Any = 1, axis: int = 0) -> Any:
    """The derivative of order `m`; that of a lone coefficient is a 0, of none there are none."""
    given: Any = array_like(c)
    found: Any = np.moveaxis(given, axis, 0)
    found = found if found.type.is_float else cast_to(found, np.float64)
    for _ in range(operator.index(m)):
        count = found.shape[0]
        found = (scl * family.slope(found, _degrees(found)))[: dims.maximum(count - 1, dims.minimum(count, 1))]
    return np.moveaxis(found, 0, axis)


def integrated(family: Family, c: Any, m: Any = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: int = 0) -> Any:
    """The integral of order `m`, each with a constant of `k`, which it has at `lbnd`."""
    given: Any = array_like(c)
    found = _coefficients(np.moveaxis(given, axis, 0))
    constants = list(k) if np.iterable(k) else [k]
    for i in range(operator.index(m)):
        raised = family.sum_up(scl * found, _degrees(found))
        wanted = constants[i] if i < len(constants) else 0
        lead = raised[:1] + (wanted - valued(family, lbnd, raised))
        found = np.concatenate([lead, raised[1:]])
    return np.moveaxis(found, 0, axis)
