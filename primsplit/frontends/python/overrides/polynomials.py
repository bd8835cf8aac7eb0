"""Runs NumPy's polynomial modules, which are written in Python, as converted copies with a few substitutes.

Sizes never depend on coefficients: traced leading coefficients that are 0 stay, where NumPy drops them.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primsplit.frontends.python.converter.copies import calculated, converted
from primsplit.frontends.python.overrides.arrays import listing
from primsplit.frontends.python.overrides.table import Substitute, register, when_traced
from primsplit.ir import dims
from primsplit.ir.dims import Size
from primsplit.numpy import series
from primsplit.numpy.creation import asarray
from primsplit.numpy.polynomials import with_zeros
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.broadcasting import of_size

MODULES = (
    *(
        f"numpy.polynomial.{name}"
        for name in (
            "_polybase", "chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils"
        )
    ),
    "numpy.lib._polynomial_impl",
)  # fmt: skip
TRIMMING = {"trimseq", "trimcoef", "trim_zeros"}
"""Functions that drop coefficients."""
SHIFTING = {"polymulx", "chebmulx", "legmulx", "hermmulx", "hermemulx", "lagmulx"}
"""Products with x."""


COUNTED: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {}
"""Functions of series by name: the arguments that are coefficients, and the form for a symbolic number of these."""
for _name, _family in series.FAMILIES.items():
    COUNTED |= {
        f"{_name}val": (("c",), functools.partial(series.valued, _family)),
        f"{_name}add": (("c1", "c2"), series.added),
        f"{_name}sub": (("c1", "c2"), series.subtracted),
        f"{_name}mul": (("c1", "c2"), functools.partial(series.multiplied, _name)),
        f"{_name}der": (("c",), functools.partial(series.derived, _family)),
        f"{_name}int": (("c",), functools.partial(series.integrated, _family)),
    }


def _counted(original: Callable[..., Any], names: tuple[str, ...], form: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, or its form if the number of an argument's coefficients is known only at run time."""
    signature = inspect.signature(original)

    def call(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        if any(_is_symbolic(bound.arguments[name]) for name in names):
            return form(*bound.args, **bound.kwargs)
        return original(*args, **options)

    return call


def _is_symbolic(c: Any) -> bool:
    return isinstance(c, Array) and bool(c.shape) and isinstance(c.shape[0], Size) and Size.told(c.shape[0]) is None


def namespaces() -> Iterator[dict[str, Any]]:
    """Yield the dictionaries of the modules that are loaded."""
    for name in MODULES:
        if name in sys.modules:
            yield vars(sys.modules[name])


def of_coefficients(function: Any, copy: Callable[..., Any]) -> Any:
    """Return the function to call in place of one of these modules: its copy, or a form that keeps all coefficients."""
    if function.__globals__.get("__name__") not in MODULES:
        return copy
    name = function.__name__
    if name in STANDING:
        return STANDING[name](copy)
    if name in COUNTED and function.__globals__["__name__"].startswith("numpy.polynomial"):
        return when_traced(copy, _counted(copy, *COUNTED[name]))
    return copy


def _whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that drops coefficients only if all of them are known."""

    def call(coefficients: Any, *args: Any, **options: Any) -> Any:
        known = coefficients.known() if isinstance(coefficients, Array) else None
        if known is None and original is np.trim_zeros and _is_symbolic(coefficients):
            return with_zeros(coefficients, dims.maximum(coefficients.shape[0], 1))  # an empty series is a 0
        return coefficients if known is None else original(known, *args, **options)

    return call


def _with_coefficients(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return `as_series`, which tests whether there are coefficients: a run without any fails."""

    def call(alist: Any, trim: bool = True) -> Any:
        checked = [_not_empty(a) if _is_symbolic(a) else a for a in alist]
        return original(checked, trim)

    return call


def _through_points(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the fit of a series, without tests for points and warnings by rank: a run without points fails."""

    def call(vander_f: Any, x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
        if not any(map(holds_traced, (x, y, w))):
            return original(vander_f, x, y, deg, rcond, full, w)
        points, values = (asarray(_not_empty(v) if _is_symbolic(v) else v) for v in (x, y))
        _check_points(points, values, deg)
        return _fitted(vander_f, points, values, deg, rcond, full, w)

    return call


def _check_points(x: Array, y: Array, deg: Any) -> None:
    """Raise NumPy's errors for these arguments."""
    degrees = np.asarray(deg)
    if degrees.ndim > 1 or degrees.dtype.kind not in "iu" or degrees.size == 0:
        raise TypeError("deg must be an int or non-empty 1-D array of int")
    if degrees.min() < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if dims.same(x.size, 0):
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in {1, 2}:
        raise TypeError("expected 1D or 2D array for y")
    if not dims.could_be(x.shape[0], y.shape[0]):
        raise TypeError("expected x and y to have same length")


def _fitted(vander_f: Any, x: Any, y: Any, deg: Any, rcond: Any, full: bool, w: Any) -> Any:
    """Return the coefficients as NumPy's `_fit`: of least norm for columns scaled to length 1."""
    x, y, powers = x + 0.0, y + 0.0, np.arange(int(deg) + 1) if np.ndim(deg) == 0 else np.sort(deg)
    matrix, right = vander_f(x, int(powers[-1]))[:, powers], y
    if w is not None:
        weights = asarray(w) + 0.0
        matrix = matrix * weights[:, None]
        right = right * (weights[:, None] if y.ndim == 2 else weights)
    count = x.shape[0]
    cutoff = rcond if rcond is not None or not isinstance(count, int) else count * np.finfo(x.dtype).eps
    length = np.sqrt(np.square(matrix).sum(0))
    length = np.where(length == 0, 1.0, length)
    solution, residuals, rank, s = np.linalg.lstsq(matrix / length, right, cutoff)
    solution = solution / (length[:, None] if y.ndim == 2 else length)
    if np.ndim(deg):
        solution, some = asarray(np.zeros((int(powers[-1]) + 1, *solution.shape[1:]), solution.dtype)), solution
        solution[powers] = some
    return (solution, [residuals, rank, s, cutoff]) if full else solution


def _not_empty(c: Array) -> Array:
    return of_size(c, 0, dims.maximum(c.shape[0], 1))


def _of_series(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the map of one interval to another, also for a polynomial, which NumPy would put into an object array."""

    def call(x: Any, old: Any, new: Any) -> Any:
        if not hasattr(x, "convert"):
            return original(x, old, new)
        offset, scale = np.polynomial.polyutils.mapparms(old, new)
        return calculated("add", offset, calculated("mult", scale, x))

    return call


def _shifted(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a product with x, which tests whether a single coefficient is 0; a second one, 0, avoids that test."""

    def call(c: Any) -> Any:
        return original(np.append(c, 0.0))[:-1] if np.size(c) == 1 else original(c)

    return call


def _of_polynomials(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of coefficients that accepts np.poly1d's of traced ones, of which NumPy would create arrays."""
    known = listing(original)

    def call(*args: Any, **options: Any) -> Any:
        if not any(isinstance(a, np.poly1d) and isinstance(a.coeffs, Array) for a in args):
            return known(*args, **options)
        result = known(*(a.coeffs if isinstance(a, np.poly1d) else a for a in args), **options)
        if original is np.polyval:
            return result
        make = converted(np.poly1d)
        return tuple(map(make, result)) if isinstance(result, tuple) else make(result)

    return call


STANDING: dict[str, Callable[[Callable[..., Any]], Any]] = {
    **dict.fromkeys(TRIMMING, lambda f: when_traced(f, _whole(f))),
    **dict.fromkeys(SHIFTING, lambda f: when_traced(f, _shifted(f))),
    "as_series": lambda f: Substitute(f, _with_coefficients(f)),
    "_fit": lambda f: Substitute(f, _through_points(f)),
    "mapdomain": lambda f: Substitute(f, _of_series(f)),
}
"""Functions that create the substitutes for functions of these modules, by their names there."""

TRIM_ZEROS = STANDING["trim_zeros"](np.trim_zeros)
"""The substitute for np.trim_zeros in these modules."""


for _name, _given in COUNTED.items():
    for _namespace in namespaces():
        if _namespace["__name__"].startswith("numpy.polynomial") and _name in _namespace:
            _original = _namespace[_name]
            register(_original, when_traced(_original, _counted(_original, *_given)))

for _function in (np.polyadd, np.polyder, np.polydiv, np.polyint, np.polymul, np.polysub, np.polyval):
    register(_function, Substitute(_function, _of_polynomials(_function)))


def _asked_directly(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls its traced form directly: NumPy would iterate over the vector to dispatch."""

    def call(coefficients: Any) -> Any:
        return FUNCTIONS[original](coefficients) if holds_traced(coefficients) else original(coefficients)

    return call


register(np.poly, Substitute(np.poly, _asked_directly(np.poly)))
register(np.roots, Substitute(np.roots, _asked_directly(np.roots)))
