"""Substitutes for SciPy's interpolants: of plain tables at traced points, and splines of traced values."""

import functools
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from primsplit.frontends.python.converter.copies import converted
from primsplit.frontends.python.overrides.table import Substitute, register, register_method, when_traced
from primsplit.frontends.scipy.assembled import Assembled
from primsplit.frontends.scipy.cubic import cubic_spline
from primsplit.frontends.scipy.hermite import akima, hermite, pchip
from primsplit.frontends.scipy.interpolate import (
    Piecewise,
    ascending_grid,
    in_order,
    integral,
    lines,
    on_grid,
    piecewise,
    placed,
    spline_of_values,
    within,
)
from primsplit.frontends.scipy.knots import of_knots, through
from primsplit.frontends.scipy.known_splines import coefficients_through, of_spline, pieces_of, powers_of
from primsplit.frontends.scipy.one_polynomial import (
    Newton,
    Through,
    barycentric_interpolate,
    krogh_interpolate,
    of_known,
    of_newton,
)
from primsplit.frontends.scipy.operands import ascending, double, finite, not_empty, of_at_least, of_length, wide
from primsplit.frontends.scipy.radial import RadialBasis
from primsplit.frontends.scipy.radial import of_known as radial_of_known
from primsplit.frontends.scipy.smoothing import is_long
from primsplit.frontends.scipy.tables import LINES, Stepped, filled
from primsplit.frontends.scipy.tensor_splines import DEGREES, coefficients_of, on_knots
from primsplit.numpy import failing
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.refusing import refusing
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced, plain_or_traced

ORDERS = {0: "zero", 1: "slinear", 2: "quadratic", 3: "cubic"}
KINDS = {"slinear": 1, "linear": 1, "quadratic": 2, "cubic": 3}
ENDS = (None, "not-a-knot", "natural", "clamped")
"""The conditions at the ends that leave a spline linear in its values."""


EXT = {"extrapolate": 0, "zeros": 1, "const": 3}
"""The behaviour of FITPACK's splines beyond their ends; 2 and "raise" have no form: only the run knows the points."""


def read_ext(ext: Any) -> int:
    """The number of what a spline is beyond its ends. Raises UnsupportedFunction for one that raises there."""
    if EXT.get(ext, ext) not in {0, 1, 3}:
        raise unsupported(f"a spline of scipy.interpolate with ext={ext!r}, which raises outside of its sites,")
    return int(EXT.get(ext, ext))


def extended(at: Callable[[Any], Any], x: Any, breaks: Any, *, ext: int, order: int) -> Any:
    """A spline of FITPACK's at `x`: beyond its ends 0 with ext=1, and with ext=3 the ends' values but for slopes."""
    place = array_like(x)
    found = at(np.clip(place, breaks[0], breaks[-1]) if ext == 3 and not order else place)
    return np.where((place < breaks[0]) | (place > breaks[-1]), 0.0, found) if ext == 1 else found


class _Interpolants:
    """The substitutes for the classes of one `scipy.interpolate`."""

    integral = staticmethod(integral)
    hermite = staticmethod(hermite)
    pchip = staticmethod(pchip)
    akima = staticmethod(akima)
    radial_of_values = staticmethod(RadialBasis)
    through_all = staticmethod(Through)
    newton = staticmethod(Newton)
    barycentric = staticmethod(of_known)
    barycentric_interpolate = staticmethod(barycentric_interpolate)
    krogh_interpolate = staticmethod(krogh_interpolate)

    def __init__(self, module: ModuleType) -> None:
        self.module: Any = module

    def radial(self, made: Any, x: Any) -> Any:
        """RBFInterpolator."""
        return radial_of_known(made)(x)

    def polynomial(self, made: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """A piecewise polynomial: CubicSpline, PchipInterpolator, Akima1DInterpolator and their like."""
        if not isinstance(made, self.module.PPoly):
            raise unsupported(f"scipy.interpolate.{type(made).__name__}")
        asked = made.extrapolate if extrapolate is None else extrapolate
        return placed(piecewise(made.c, made.x, x, order=nu, extrapolate=asked), np.ndim(x), made.axis)

    def spline(self, made: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """A BSpline, by the polynomials between its knots."""
        asked = made.extrapolate if extrapolate is None else extrapolate
        breaks = np.unique(made.t[made.k : len(made.t) - made.k])

        def at(m: int) -> Any:
            return np.moveaxis(made(breaks[:-1], nu=m, extrapolate=True), made.axis, 0)

        return placed(piecewise(powers_of(at, made.k), breaks, x, order=nu, extrapolate=asked), np.ndim(x), made.axis)

    def fitted(self, made: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """A UnivariateSpline."""
        beyond, breaks = read_ext(made.ext if ext is None else ext), made.get_knots()
        pieces = powers_of(lambda m: made(breaks[:-1], nu=m, ext=0), made._eval_args[2])
        return extended(lambda at: piecewise(pieces, breaks, at, order=nu), x, breaks, ext=beyond, order=nu)

    def spline_integral(self, made: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """A BSpline's; where it does not go on, it is 0 outside. Raises UnsupportedFunction for one that repeats."""
        asked = made.extrapolate if extrapolate is None else extrapolate
        if asked == "periodic":
            raise unsupported("the integral of a periodic scipy.interpolate.BSpline")
        low, high = made.t[made.k], made.t[-made.k - 1]
        whole, ends = (
            converted(made.antiderivative()),
            (a, b) if asked else (np.clip(a, low, high), np.clip(b, low, high)),
        )
        return whole(ends[1], extrapolate=True) - whole(ends[0], extrapolate=True)

    def fitted_integral(self, made: Any, a: Any, b: Any) -> Any:
        """A UnivariateSpline's, which is 0 outside."""
        low, *_, high = made.get_knots()
        whole = converted(made.antiderivative())
        return whole(np.clip(b, low, high)) - whole(np.clip(a, low, high))

    def table(self, made: Any, x: Any) -> Any:
        """interp1d; a point outside gives the fill value, or a run with one fails."""
        if isinstance(made, self.module.KroghInterpolator):
            return of_newton(made, x)
        if not isinstance(made, self.module.interp1d):
            raise unsupported(f"scipy.interpolate.{type(made).__name__}")
        sites, y = made.x, np.moveaxis(made.y, made.axis, 0)
        x = within(sites, array_like(x)) if made.bounds_error else array_like(x)
        found = self._inside(made, sites, y, x)
        if not made._extrapolate:
            place = x.reshape((*x.shape, *(1,) * (y.ndim - 1)))
            fills = made._fill_value_below, made._fill_value_above
            below, above = (np.reshape(v, ()) if np.size(v) == 1 else v for v in fills)  # SciPy gives a number an axis
            found = np.where(place < sites[0], below, np.where(place > sites[-1], above, found))
        return placed(found, x.ndim, made.axis)

    def _inside(self, made: Any, sites: Any, y: Any, x: Any) -> Any:
        kind = made._kind
        if kind == "linear":
            slopes = np.diff(y, axis=0) / np.diff(sites).reshape((-1, *(1,) * (y.ndim - 1)))
            return piecewise(np.stack([slopes, y[:-1]]), sites, x)
        if kind in {"nearest", "nearest-up"}:
            return np.take(operand(y), np.searchsorted(made.x_bds, x, side=made._side), axis=0)
        if kind in {"previous", "next"}:
            first = kind == "previous"
            place = np.searchsorted(sites, x, side="right" if first else "left") - first
            return np.take(operand(y), np.clip(place, 0, len(sites) - 1), axis=0)
        found = self.spline(made._spline, x)
        return found.reshape((*x.shape, *y.shape[1:]))

    def grid(self, made: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
        """RegularGridInterpolator; a point outside gives the fill value, or a run with one fails."""
        method = made.method if method is None else method
        if method not in {"linear", "nearest", *DEGREES} or nu is not None:
            raise unsupported(f"scipy.interpolate.RegularGridInterpolator with method={method!r}, or nu,")
        fill = np.nan if made.bounds_error else made.fill_value
        xi = on_the_grid(made.grid, xi) if made.bounds_error else xi
        spline = getattr(made, "_spline", None) if method == made.method else None
        known = None if spline is None else (spline.t, spline.c)
        return of_grid(self.module, made.grid, made.values, xi, method, fill, known)

    def cubic(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Piecewise:
        """CubicSpline of traced sites or values, or with traced slopes at its ends."""
        if holds_traced(x) or not _is_linear(bc_type):
            return cubic_spline(x, y, axis, bc_type, extrapolate)
        if is_long(x) and bc_type != "periodic":
            self.module.CubicSpline(x, np.zeros(len(x)), bc_type=bc_type)  # which refuses other sites and conditions
            return cubic_spline(x, of_length(array_like(y), len(x), axis), axis, bc_type, extrapolate)

        def make(values: Any) -> tuple[Any, Any]:
            found = self.module.CubicSpline(x, values, bc_type=bc_type)
            return found.c, found.x

        return spline_of_values(make, x, y, True if extrapolate is None else extrapolate, axis, check_finite=True)

    def interpolating(
        self, x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
    ) -> Any:
        """make_interp_spline of traced values, and of traced sites."""
        if holds_traced(x) and t is None and bc_type is None:
            sites = ascending(of_at_least(array_like(x), max(k + 1, 2) if k else 1))
            if k == 3:
                return cubic_spline(sites, y, axis)
            return lines(sites, y, axis, extrapolate=True) if k == 1 else through(sites, y, k, axis)
        if not _is_linear(bc_type):
            raise unsupported(f"a spline of traced values with bc_type={bc_type!r}")
        if not holds_traced(x) and is_long(x):
            knots = self.module.make_interp_spline(x, np.zeros(len(x)), k=k, t=t, bc_type=bc_type).t
            given: Any = operand(wide(y))
            given = of_length(np.moveaxis(given, axis, 0), len(x), 0)
            given = finite(given) if check_finite else given
            through_all = coefficients_through(x, knots, k, given, _ends_of(bc_type))
            if through_all is not None:
                return Piecewise(*pieces_of(knots, through_all, k), True, axis)

        def make(values: Any) -> tuple[Any, Any]:
            return of_spline(self.module.make_interp_spline(x, values, k=k, t=t, bc_type=bc_type))

        return spline_of_values(make, x, y, True, axis, check_finite=check_finite)

    def of_coefficients(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """BSpline of traced coefficients or knots, whose order is known."""
        if holds_traced(t):
            return of_knots(t, c, k, extrapolate, axis)
        if extrapolate != "periodic" and not extrapolate:
            raise unsupported("scipy.interpolate.BSpline of traced coefficients with extrapolate=False")
        count = len(t) - k - 1
        given: Any = operand(wide(c))
        used = of_length(np.moveaxis(given, axis, 0)[:count], count, 0)
        return Piecewise(*pieces_of(np.asarray(t, np.float64), used, k), extrapolate, axis)

    def of_powers(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Piecewise:
        """PPoly of traced coefficients between known breaks."""
        if axis != 0 or not may_ascend(x):
            raise unsupported("scipy.interpolate.PPoly of traced coefficients along another axis, or of other breaks")
        breaks = ascending(of_at_least(plain_or_traced(x), 2), least="non-decreasing")
        given = not_empty(of_length(operand(c), breaks.shape[0] - 1, 1), [0])
        return Piecewise(given, breaks, True if extrapolate is None else extrapolate)

    def grid_of_values(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> Callable[..., Any]:
        """RegularGridInterpolator of traced values, or on a traced grid; splines to rounding."""
        points, values = ascending_grid(points, values)
        made = SimpleNamespace(
            grid=points, values=values, method=method, bounds_error=bounds_error, fill_value=fill_value
        )
        return functools.partial(self.grid, made)

    def traced_table(
        self,
        x: Any,
        y: Any,
        kind: Any = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: Any = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> Any:
        """interp1d of traced values or sites, which are sorted unless `assume_sorted`."""
        x = of_length(plain_or_traced(x), np.shape(y)[axis])
        if not assume_sorted:
            x, y = in_order(x, y, axis)
        is_open = isinstance(fill_value, str)
        is_nan = not is_open and not isinstance(fill_value, tuple) and not holds_traced(fill_value)
        if not may_ascend(x):
            raise unsupported("scipy.interpolate.interp1d of traced values at sites that do not ascend")
        kind = ORDERS.get(kind, kind)
        is_bound = not is_open if bounds_error is None else bool(bounds_error)
        if kind in {"zero", "slinear"}:
            x, y = _rising(x, y)
        if kind not in KINDS or kind in LINES:
            return _bound(is_bound, x, Stepped(x, y, kind, axis, fill_value))
        made = self.interpolating(x, y, KINDS[kind], axis=axis % np.ndim(y), check_finite=False)
        made.extrapolate = is_open
        if is_open or (is_nan and np.all(np.isnan(fill_value))):
            return _bound(is_bound, x, made)
        return _bound(is_bound, x, functools.partial(filled, made, x, axis % np.ndim(y), fill_value))


def _rising(sites: Any, y: Any) -> tuple[Any, Any]:
    """Sites [n] and their values, NaN if a site is NaN or infinite; a run with other sites that do not rise fails."""
    if not holds_traced(sites):
        return sites, y
    sites = array_like(double(sites))
    is_finite = failing.are_finite([sites])
    wrong = np.any(np.diff(sites) <= 0) & is_finite
    error = ValueError("Expect x to be a 1D strictly increasing sequence.")
    return refusing(sites, wrong, error), operand(wide(y)) + np.where(is_finite, 0.0, np.nan)


def _bound(is_bound: bool, sites: Any, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An interpolant; if it `is_bound`, a run that asks for a point outside of its ascending sites fails."""
    return (lambda x: made(within(sites, array_like(x)))) if is_bound else made


def of_grid(
    module: Any, grid: Any, values: Any, xi: Any, method: str, fill: Any, spline: tuple[Any, Any] | None = None
) -> Any:
    """Values on a grid at points [..., axes], of which a vector is one row; of a spline that is known if there is one.

    Points outside get `fill`; the outer cells go on where that is None.
    """
    asked = points_of(grid, xi)
    if method not in DEGREES:
        return on_grid(grid, values, asked, method=method, fill=fill)
    if spline is None:
        values = failing.finite(values, ValueError("RHS must contain only finite numbers"))
    knots, coefficients = spline or coefficients_of(module.make_interp_spline, grid, values, method)
    return on_knots(knots, coefficients, asked, DEGREES[method], fill=fill)


def points_of(grid: Any, xi: Any) -> Any:
    """The points [..., axes] that an argument means: a tuple has an array for each axis, a vector is one row."""
    found: Any = np.stack(np.broadcast_arrays(*map(array_like, xi)), axis=-1) if isinstance(xi, tuple) else xi
    asked: Any = array_like(found)
    return asked.reshape((-1, len(grid))) if asked.ndim == 1 else asked


def on_the_grid(grid: Any, xi: Any) -> Any:
    """The points; a run in which one is outside of the grid fails."""
    asked = points_of(grid, xi)
    for axis, sites in enumerate(grid):
        place, error = asked[..., axis], ValueError(f"One of the requested xi is out of bounds in dimension {axis}")
        asked = refusing(asked, np.logical_not((place >= sites[0]) & (place <= sites[-1])), error)
    return asked


def may_ascend(x: Any) -> bool:
    """Whether places ascend, or are traced."""
    return holds_traced(x) or bool(np.all(np.diff(x) > 0))


def _is_linear(bc_type: Any) -> bool:
    """Whether the conditions at the ends are known to leave a spline linear in its values."""
    ends = bc_type if isinstance(bc_type, tuple) else (bc_type,)
    return all(e is None or (isinstance(e, str) and e in ENDS) for e in ends)


def _ends_of(bc_type: Any) -> list[tuple[int, ...]]:
    """The orders of the derivatives that are 0 at the first site and at the last one."""
    ends = bc_type if isinstance(bc_type, tuple) else (bc_type, bc_type)
    return [{"natural": (2,), "clamped": (1,)}.get(end, ()) for end in ends]


METHODS = (
    ("PPoly", "__call__", "polynomial"),
    ("PPoly", "integrate", "integral"),
    ("BSpline", "__call__", "spline"),
    ("BSpline", "integrate", "spline_integral"),
    ("UnivariateSpline", "__call__", "fitted"),
    ("UnivariateSpline", "integral", "fitted_integral"),
    ("interp1d", "__call__", "table"),
    ("BarycentricInterpolator", "__call__", "barycentric"),
    ("RegularGridInterpolator", "__call__", "grid"),
    ("RBFInterpolator", "__call__", "radial"),
)
"""The methods of SciPy's interpolants that may be given traced arrays, and which of `_Interpolants` each becomes."""
MAKERS = {
    "CubicSpline": "cubic",
    "make_interp_spline": "interpolating",
    "interp1d": "traced_table",
    "BSpline": "of_coefficients",
    "PPoly": "of_powers",
    "RegularGridInterpolator": "grid_of_values",
    "CubicHermiteSpline": "hermite",
    "PchipInterpolator": "pchip",
    "Akima1DInterpolator": "akima",
    "RBFInterpolator": "radial_of_values",
    "BarycentricInterpolator": "through_all",
    "KroghInterpolator": "newton",
    "barycentric_interpolate": "barycentric_interpolate",
    "krogh_interpolate": "krogh_interpolate",
}
"""The functions that create an interpolant of traced values, by SciPy's names."""


class _SplineSubstitute(Substitute):
    """The class BSpline, whose matrices of basis functions are also of traced points."""

    @functools.cached_property
    def design_matrix(self) -> Substitute:
        """The values of all basis functions at points, a row a point, as a sparse matrix."""
        return when_traced(self.original.design_matrix, self._design)

    def _design(self, x: Any, t: Any, k: int, extrapolate: Any = False) -> Assembled:
        if holds_traced(t):
            raise unsupported("scipy.interpolate.BSpline.design_matrix of traced knots")
        if np.ndim(x) != 1:
            raise unsupported("scipy.interpolate.BSpline.design_matrix of points that are no one-dimensional array")
        basis = converted(self.original(t, np.eye(len(t) - k - 1), k))
        return Assembled(basis(x, extrapolate=extrapolate), is_matrix=False)


def _naming_its_solver(original: Any) -> Callable[..., Any]:
    """RegularGridInterpolator, which asks whether its solver is `spsolve` itself."""

    def make(*args: Any, solver: Any = None, **options: Any) -> Any:
        return original(*args, solver=solver.original if isinstance(solver, Substitute) else solver, **options)

    return make


def register_interpolation(module: ModuleType) -> None:
    """Let traced arrays be given to the interpolants of `scipy.interpolate`."""
    ours = _Interpolants(module)
    for owner, method, name in METHODS:
        register_method(getattr(module, owner), method, getattr(ours, name))
    for maker, name in MAKERS.items():
        original: Any = getattr(module, maker)
        traced = when_traced(original, getattr(ours, name))
        if maker == "RegularGridInterpolator":
            traced.traced = when_traced(_naming_its_solver(original), ours.grid_of_values).traced
        register(original, _SplineSubstitute(original, traced.traced) if maker == "BSpline" else traced)
