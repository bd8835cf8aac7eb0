"""Substitutes for scipy.interpolate's older splines, FITPACK's, and for those that fit: linear in traced values."""

from types import ModuleType
from typing import Any

import numpy as np

from primsplit.frontends.python.overrides.table import register, register_method, when_traced
from primsplit.frontends.scipy.interpolate import Piecewise, piecewise, spline_of_values
from primsplit.frontends.scipy.knots import Knotted, through
from primsplit.frontends.scipy.known_splines import coefficients_through, of_spline, pieces_of
from primsplit.frontends.scipy.operands import double, not_empty, of_at_least, of_length
from primsplit.frontends.scipy.overrides.interpolation import extended, read_ext
from primsplit.frontends.scipy.smoothing import is_long, smoothing_spline
from primsplit.numpy.complex.operands import holds_complex
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, holds_traced


class Fitted(Piecewise):
    """The result of UnivariateSpline and its variants, for traced values; `ext` defines it beyond its ends."""

    def __init__(self, coefficients: Any, breaks: Any, ext: int = 0) -> None:
        super().__init__(coefficients, breaks, extrapolate=True)
        self.ext = ext

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The values at `x`, or derivatives of order `nu`."""
        beyond = self.ext if ext is None else read_ext(ext)
        return extended(lambda at: super(Fitted, self).__call__(at, nu), x, self.x, ext=beyond, order=nu)

    def derivative(self, n: int = 1) -> "Fitted":
        """The derivative of order `n`, which is 0 where the spline keeps its end's value."""
        return Fitted(super().derivative(n).c, self.x, 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n: int = 1) -> "Fitted":
        """The antiderivative of order `n`."""
        return Fitted(super().antiderivative(n).c, self.x, self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral between two places, of what is 0 outside of the sites."""
        return self.integrate(np.clip(a, self.x[0], self.x[-1]), np.clip(b, self.x[0], self.x[-1]))

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral of the polynomials, beyond the sites too."""
        whole = super().antiderivative()
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


class Surface:
    """The result of RectBivariateSpline, for traced values."""

    def __init__(self, splines: "_Splines", tck: tuple[Any, Any, Any], degrees: tuple[int, int]) -> None:
        self.splines = splines
        self.tck = tck
        self.degrees = degrees

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The values, or derivatives, on a grid of places, or at pairs."""
        return self.splines.surface(self, x, y, dx, dy, grid)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The values, or derivatives, at pairs."""
        return self.splines.surface(self, xi, yi, dx, dy, grid=False)

    def get_knots(self) -> tuple[Any, Any]:
        """The knots along each axis."""
        return self.tck[:2]

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return self.tck[2]


class _Splines:
    """The substitutes for the functions of one `scipy.interpolate`."""

    def __init__(self, module: ModuleType) -> None:
        self.module: Any = module

    def splrep(
        self, x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None,
        t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
    ) -> tuple[Any, Any, int]:  # fmt: skip
        """The knots, coefficients and order of the spline through traced values; smoothing is not known."""
        if any(v is not None for v in (w, xb, xe, t)) or s or task or per or full_output:
            raise unsupported("scipy.interpolate.splrep of traced values, but for splrep(x, y, k=k, s=0),")
        if holds_traced(x):
            made = through(x, y, k)
            return made.t, np.concatenate([made.c, np.zeros(k + 1)]), k
        count = len(x)
        if is_long(x):
            knots = self.module.splrep(x, np.zeros(count), k=k, s=0)[0]
            found = coefficients_through(x, knots, k, of_length(array_like(double(y)), count))
            if found is not None:
                return knots, np.concatenate([found, np.zeros(k + 1)]), k
        columns = [self.module.splrep(x, column, k=k, s=0) for column in np.eye(count)]
        matrix = np.stack([c for _, c, _ in columns], axis=1)
        return columns[0][0], matrix @ array_like(y), k

    def splev(self, x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
        """A spline, or its derivative, at `x`; 0 outside with ext=1, with ext=3 the ends' values but for slopes."""
        beyond = read_ext(ext)
        knots, coefficients, order = tck
        if isinstance(coefficients, list | tuple):
            return [self.splev(x, (knots, c, order), der, ext) for c in coefficients]
        made = self._between(knots, coefficients, order)
        breaks = made.t[order : made.t.shape[0] - order] if isinstance(made, Knotted) else made.x
        return extended(lambda at: made(at, der), not_empty(array_like(x)), breaks, ext=beyond, order=der)

    def splint(self, a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
        """The integral of a spline, which is 0 outside of its knots."""
        if full_output or isinstance(tck[1], list | tuple):
            raise unsupported("scipy.interpolate.splint of curves, or with full_output,")
        return self._between(*tck).integral(a, b)

    def _between(self, knots: Any, coefficients: Any, order: int) -> Any:
        """The spline with these knots and as many coefficients as they have splines, or more."""
        if holds_traced(knots):
            return Knotted(knots, coefficients, order)
        count = len(knots) - order - 1
        used = of_length(of_at_least(array_like(coefficients), count)[:count], count)
        return Fitted(*pieces_of(knots, used, order))

    def univariate(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None, ext: Any = 0,
        check_finite: bool = False,
    ) -> Any:  # fmt: skip
        """UnivariateSpline of traced values, which goes through them (s=0)."""
        if s is None or s != 0:
            raise unsupported("scipy.interpolate.UnivariateSpline of traced values, but for s=0,")
        return self.interpolated(x, y, w, bbox, k, ext)

    def interpolated(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> Any:  # fmt: skip
        """InterpolatedUnivariateSpline of traced values or sites."""
        if tuple(bbox) != (None, None) or (holds_traced(x) and read_ext(ext)):
            raise unsupported("such a scipy.interpolate.UnivariateSpline of traced values")
        if holds_traced(x):
            return through(x, y, k)
        if is_long(x):
            knots = self.module.InterpolatedUnivariateSpline(x, np.zeros(len(x)), k=k)._eval_args[0]
            found = coefficients_through(x, knots, k, of_length(array_like(double(y)), len(x)))
            if found is not None:
                return Fitted(*pieces_of(knots, found, k), read_ext(ext))
        return self._fitted(lambda v: self.module.InterpolatedUnivariateSpline(x, v, k=k), x, y, k, ext)

    def least_squares(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> Fitted:  # fmt: skip
        """LSQUnivariateSpline of traced values at known sites."""
        if any(map(holds_traced, (x, t, w))) or tuple(bbox) != (None, None):
            raise unsupported("such a scipy.interpolate.LSQUnivariateSpline of traced values")
        return self._fitted(lambda v: self.module.LSQUnivariateSpline(x, v, t, w=w, k=k), x, y, k, ext)

    def _fitted(self, fit: Any, x: Any, y: Any, order: int, ext: Any) -> Fitted:
        """A spline that is linear in its values, by what it is for each of them alone."""

        def make(values: Any) -> tuple[Any, Any]:
            knots, columns = None, []
            for column in values.T:
                knots, coefficients, _ = fit(column)._eval_args
                columns.append(coefficients[: len(knots) - order - 1])
            return of_spline(self.module.BSpline(knots, np.stack(columns, axis=1), order))

        found = spline_of_values(make, x, y, True, 0)
        return Fitted(found.c, found.x, read_ext(ext))

    def lsq(
        self, x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *,
        method: str = "qr",
    ) -> Piecewise:  # fmt: skip
        """make_lsq_spline of traced values."""
        if holds_traced(t) or holds_traced(w):
            raise unsupported("scipy.interpolate.make_lsq_spline of traced knots or weights")
        return spline_of_values(
            lambda v: of_spline(self.module.make_lsq_spline(x, v, t, k, w)), x, y, True, axis, check_finite=check_finite
        )

    def smoothing(self, x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Piecewise:
        """make_smoothing_spline of traced values with a known penalty."""
        if holds_traced(w) or lam is None or holds_traced(lam):
            raise unsupported("scipy.interpolate.make_smoothing_spline of traced values without a known lam")
        if is_long(x) and not holds_complex(y):
            self.module.make_smoothing_spline(x, np.zeros(len(x)), w, lam)  # which refuses other arguments
            made = smoothing_spline(x, y, w, lam, axis)
            if made is not None:
                return made
        return spline_of_values(
            lambda v: of_spline(self.module.make_smoothing_spline(x, v, w, lam)), x, y, True, axis, check_finite=True
        )

    def of_rectangle(
        self, x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0, maxit: int = 20
    ) -> Surface:
        """RectBivariateSpline of traced values on a known grid, which goes through them (s=0)."""
        if holds_traced(x) or holds_traced(y) or tuple(bbox) != (None,) * 4 or holds_traced(s) or s != 0:
            raise unsupported("scipy.interpolate.RectBivariateSpline of traced values, but on a known grid with s=0,")
        found: Any = array_like(double(z))
        knots = []
        for axis, (sites, order) in enumerate(((x, kx), (y, ky))):
            known = np.asarray(sites, np.float64)
            made = self.module.make_interp_spline(known, np.eye(len(known)), k=order)
            found = np.moveaxis(np.tensordot(made.c, of_length(found, len(known), axis), axes=(1, axis)), 0, axis)
            knots.append(made.t)
        return Surface(self, (knots[0], knots[1], np.ravel(found)), (kx, ky))

    def surface(self, made: Any, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """A BivariateSpline at traced places, on a grid of them or at pairs; the edge goes on beyond it."""
        first, second, coefficients = made.tck
        sides = []
        for knots, order, at, derivative in ((first, made.degrees[0], x, dx), (second, made.degrees[1], y, dy)):
            count = len(knots) - order - 1
            matrix, breaks = of_spline(self.module.BSpline(knots, np.eye(count), order))
            held = np.clip(array_like(at), breaks[0], breaks[-1])
            sides.append(piecewise(matrix, breaks, held, order=derivative))
        table = coefficients.reshape(sides[0].shape[-1], sides[1].shape[-1])
        if grid:
            return sides[0] @ table @ np.swapaxes(sides[1], -1, -2)
        return np.sum((sides[0] @ table) * sides[1], axis=-1)

    def at_pairs(self, made: Any, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """`BivariateSpline.ev`."""
        return self.surface(made, xi, yi, dx, dy, grid=False)


MAKERS = {
    "splrep": "splrep", "splev": "splev", "splint": "splint", "UnivariateSpline": "univariate",
    "InterpolatedUnivariateSpline": "interpolated", "LSQUnivariateSpline": "least_squares", "make_lsq_spline": "lsq",
    "make_smoothing_spline": "smoothing", "RectBivariateSpline": "of_rectangle",
}  # fmt: skip
"""The functions that create or evaluate a spline of traced values, by SciPy's names."""


def register_splines(module: ModuleType) -> None:
    """Let traced arrays be given to the splines of `scipy.interpolate`."""
    ours = _Splines(module)
    for name, own in MAKERS.items():
        original: Any = getattr(module, name)
        register(original, when_traced(original, getattr(ours, own)))
    register_method(module.BivariateSpline, "__call__", ours.surface)
    register_method(module.BivariateSpline, "ev", ours.at_pairs)
