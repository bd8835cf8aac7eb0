"""scipy.interpolate's single polynomial through all sites: BarycentricInterpolator and KroghInterpolator, traced."""

from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.interpolate import placed
from primsplit.frontends.scipy.operands import double, not_empty, of_length, wide
from primsplit.ir.errors import ShapeError, TraceError
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up

__all__ = ["Newton", "Through", "barycentric_interpolate", "krogh_interpolate", "of_known", "of_newton"]


class Through:
    """The polynomial through values `y` along an axis at sites `x`, by Lagrange's products, smooth at the sites too.

    A run with sites of which two are equal fails. Raises UnsupportedFunction without values, and for further options.
    """

    repeated: Exception = ValueError("Interpolation points xi must be distinct.")

    def __init__(self, x: Any, y: Any = None, axis: int = 0, **options: Any) -> None:
        told = {name: value for name, value in options.items() if value is not None}
        if y is None or told:
            raise unsupported(f"a polynomial of scipy.interpolate without values, or with {', '.join(told)},")
        given: Any = operand(wide(y))
        self.axis = axis % given.ndim
        self.sites: Any = not_empty(array_like(double(x)))
        if self.sites.ndim != 1:
            raise ShapeError("the sites have one axis", place=tracing.user_place())
        self.sites = _distinct(self.sites, self.repeated)
        self.values = of_length(np.moveaxis(given, self.axis, 0), self.sites.shape[0], 0)

    def __call__(self, x: Any) -> Any:
        """The values at `x`, whose axes take the place of that of the sites."""
        asked: Any = array_like(double(x))
        number: Any = count_up(self.sites.shape[0])
        is_own = number[:, None] == number
        apart = np.where(is_own, 1.0, self.sites[:, None] - self.sites)
        steps = np.where(is_own, 1.0, (asked[..., None] - self.sites)[..., None, :])
        found = np.tensordot(np.prod(steps / apart, axis=-1), self.values, axes=1)
        return placed(found, asked.ndim, self.axis)


class Newton(Through):
    """KroghInterpolator: the polynomial through the sites. SciPy takes a repeated site's value for a slope: refused."""

    repeated = TraceError("KroghInterpolator of sites that the run finds equal, whose values are slopes, has no form")


def _distinct(sites: Any, error: Exception) -> Any:
    """Return the sites; a run in which two are equal fails."""
    number: Any = count_up(sites.shape[0])
    wrong = (sites[:, None] == sites) & (number[:, None] != number)
    return refusing(sites, wrong, error)


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Any:
    """The polynomial's values, but not its derivatives."""
    if np.ndim(der) or der != 0:
        raise unsupported(f"a polynomial of scipy.interpolate with der={der!r}")
    return Through(xi, yi, axis)(x)


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The polynomial's values, but not its derivatives."""
    if np.ndim(der) or der != 0:
        raise unsupported(f"a polynomial of scipy.interpolate with der={der!r}")
    return Newton(xi, yi, axis)(x)


def of_known(made: Any, x: Any) -> Any:
    """A known BarycentricInterpolator at traced points."""
    shape = made.yi.shape[:1] + made._y_extra_shape
    rows = np.asarray(made.yi).reshape(shape)
    return Through(made.xi, np.moveaxis(rows, 0, made._y_axis), made._y_axis)(x)


def of_newton(made: Any, x: Any) -> Any:
    """A known KroghInterpolator, by its divided differences, at traced points."""
    asked: Any = array_like(double(x))
    count = len(made.xi)
    differences = operand(np.asarray(made.c)[:count].reshape((count, *made._y_extra_shape)))
    apart = asked.reshape((*asked.shape, *(1,) * (differences.ndim - 1)))
    found: Any = 0.0 * apart + differences[count - 1]
    for k in range(count - 2, -1, -1):
        found = found * (apart - made.xi[k]) + differences[k]
    return placed(found, asked.ndim, made._y_axis)
