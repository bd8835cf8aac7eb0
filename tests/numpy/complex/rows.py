"""Rows of functions of complex arrays, and the modules of `primsplit.numpy.complex` that they are about."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads, gapped

A, B = gapped(3, 4, seed=1), gapped(3, 4, seed=2)
U, V = (np.sign(x) * (np.abs(x) * 0.7 + 0.4) for x in (gapped(3, 4, seed=4), gapped(3, 4, seed=5)))
TURN = np.exp(0.3j * np.arange(12).reshape(3, 4))
MATRIX = (TURN[:, :3] + 2 * np.eye(3)).round(3)


def of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of two complex arrays as one of their parts, that gives parts."""

    def with_parts(a: Any, b: Any, u: Any, v: Any) -> Any:
        return parts(function(a + 1j * b, u + 1j * v))

    return with_parts


def parts(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return tuple(p for each in found for p in parts(each))
    return (found.real, found.imag) if np.iscomplexobj(found) else (found,)


ELEMENTWISE: list[Callable[..., Any]] = [
    lambda z, w: z + w, lambda z, w: z - w * 2, lambda z, w: z * w, lambda z, w: z / w, lambda z, w: -z + (+w),
    lambda z, w: z.real * w, lambda z, w: w.imag / z, lambda z, w: z / w.real, lambda z, w: 1 / z + 2.5 / (1j * w.real),
    lambda z, w: z * 1j + 2j * w.real + (1 - 2j), lambda z, w: np.complex64(2j) * z - 1.5, lambda z, w: z / 2j,
    lambda z, w: TURN * z + w.real * TURN, lambda z, w: z**2 + w**3 - z**0, lambda z, w: z**-2 + w**1,
    lambda z, w: np.e ** (1j * z.real) + 2.0**w, lambda z, w: z**0.5 + np.sqrt(w), lambda z, w: np.square(1j * z.real),
    lambda z, w: abs(z) * np.abs(1j * w.imag), lambda z, w: np.angle(z) + np.angle(w, deg=True),
    lambda z, w: np.conj(z) * w.conj() + w.conjugate(), lambda z, w: np.exp(z) + np.exp2(w) + np.exp(1j * z.imag),
    lambda z, w: np.log(z) + np.log2(w) - np.log10(z), lambda z, w: np.sin(z) * np.cos(w),
    lambda z, w: np.sinh(z) - np.cosh(w), lambda z, w: np.tan(z) * np.tanh(w), lambda z, w: np.arcsin(z) / np.arccos(w),
    lambda z, w: np.arctan(z) + np.arctanh(w), lambda z, w: np.arcsinh(z) * np.arccosh(w),
    lambda z, w: np.expm1(z) - np.log1p(w), lambda z, w: np.reciprocal(z) + np.positive(w) + np.negative(w),
    lambda z, w: np.where(z.real > 0, z, w) + np.where(w == w.conj().conj(), z, 0) + np.where(z != w, w.real, 1j),
    lambda z, w: np.nan_to_num(z) + np.real(w) * 1j + np.imag(z),
    lambda z, w: z**w, lambda z, w: z**0.3 + abs(w) ** (1j * z.real), lambda z, w: z**w.real + 2 ** (w * z) + z**30,
]  # fmt: skip
WITH_A_CONSTANT = 12
"""The one that has a constant array of a size in it."""
PLACES = {
    "arithmetic": (*range(13), 17, 30),
    "powers": (13, 14, 15, 16, 33, 34, 35),
    "functions": (18, 19, 21, 22, 23, 24),
    "questions": (20,),
    "inverses": (25, 26, 27, 28, 29),
    "joining": (31, 32),
}
"""The rows of ELEMENTWISE by module."""


def check_elementwise(place: int) -> None:
    """Check values at any size against NumPy, and gradients against central differences."""
    function = of(ELEMENTWISE[place])
    check_grads(function, A, B, U, V, symbolic=False)
    if place != WITH_A_CONSTANT:
        program = ps.trace(function, *[ps.spec("float64", ["N", "M"])] * 4)
        for n in (0, 1, 3):
            args = [x[:n] for x in (A, B, U, V)]
            for found, wanted in zip(program(*args), function(*args), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


Z, W = A + 1j * B, U + 1j * V
VECDOT: Any = np.linalg.vecdot
STEPS = np.array([0.1, 0.5, 1.4, 2.0])

SMOOTH: dict[str, Callable[..., Any]] = {
    "prod": lambda z, w: np.prod(z, axis=0) + np.prod(w[0]) * np.multiply.reduce(z[:, :1]),
    "prod of all": lambda z, w: np.prod(z * 0.3, keepdims=True) + np.prod(w, axis=(1,), initial=2j, where=A > 0),
    "cumprod": lambda z, w: np.cumprod(z, axis=1) * w.cumprod()[:4]
    + np.cumulative_prod(w[0], include_initial=True)[1:],
    "cumulative_sum": lambda z, w: np.cumulative_sum(z, axis=0, include_initial=True)[1:] * w,
    "accumulate": lambda z, w: np.multiply.accumulate(z) * np.add.accumulate(w, 1) + np.maximum.reduce(z),
    "nansum": lambda z, w: np.nansum(z, axis=0) * np.nanprod(w[:, 0]) + np.nancumsum(z[0]) * np.nancumprod(w[1]),
    "nanmean": lambda z, w: np.nanmean(z, axis=1, keepdims=True) * w + np.nanvar(z, ddof=1) + np.nanstd(w, axis=0),
    "nanmax": lambda z, w: np.nanmax(z, axis=0) * np.nanmin(w),
    "cov": lambda z, w: np.cov(z) + np.cov(w[:3, :3], z[:1, :3].T * 1j, rowvar=False, bias=True)[1:, 1:],
    "cov of one": lambda z, w: np.cov(z[0]) + np.corrcoef(w[0]) * np.cov(z[0], w[0]),
    "corrcoef": lambda z, w: np.corrcoef(z, w[0]),
    "interp": lambda z, w: np.interp(z.real, STEPS, w[0])
    + np.interp([-1.0, 0.3], STEPS, z[1], left=2j, right=w[0, 0])[1],
    "maximum": lambda z, w: np.maximum(z, w) * np.fmin(z, 1j) + np.minimum(w, 0.5) * np.fmax(z, w),
    "clip": lambda z, w: np.clip(z, -1, 1 + 1j) + w.clip(max=1) + np.ptp(z, axis=0),
    "median": lambda z, w: np.median(z, axis=0) + np.median(w) + np.amax(z) * np.amin(w),
    "sort_complex": lambda z, w: np.sort_complex(z) * np.partition(w, 3, axis=1)[:, 3:],
    "sign": lambda z, w: np.sign(z) * w + np.sign(0 * z),
    "sinc": lambda z, w: np.sinc(z * 0.3) + np.sinc(w * 0.01),
    "float_power": lambda z, w: np.float_power(z, 2) + np.float_power(w, 0.3),
    "diff": lambda z, w: np.diff(z, prepend=w[:, :1], append=1j) * np.diff(w, 2, append=0, prepend=0)[:, :1],
    "ediff1d": lambda z, w: np.ediff1d(z[0], to_end=[1j, 2.0]) * np.ediff1d(w[0], to_begin=z[0, :2]),
    "trapezoid": lambda z, w: np.trapezoid(z, w, axis=1) + np.trapezoid(z[0], 1j * STEPS),
    "gradient": lambda z, w: np.gradient(z, STEPS, axis=1) * w,
    "linspace": lambda z, w: np.linspace(z, w, 3, axis=1) + np.linspace(0, w, 3, endpoint=False, axis=1),
    "geomspace": lambda z, w: np.geomspace(z, w, 4, axis=-1) * np.logspace(z[0, 0] * 0.3, 1j, 4, base=2.0),
    "meshgrid": lambda z, w: np.multiply(*np.meshgrid(z[0], w[0], STEPS)[:2]),
    "insert": lambda z, w: np.insert(z, 2, w[:, 0], axis=1) * np.insert(w, [1], 2j, axis=1),
    "compress": lambda z, w: np.compress([True, False, True], z, axis=0) * np.extract(A > 0, w)[0]
    + w.compress([1, 0, 1], 0),
    "choose": lambda z, w: np.choose(A > 0, [z, w]) + np.choose((B > 0).astype(int), [z, 2.0]),
    "select": lambda z, w: np.select([A > 0.5, B > 0], [z * w, w], 1j) * np.where(z, w, 0),
    "polyadd": lambda z, w: np.polyadd(z[0], w[0, :2]) * np.polysub([1.0, 2.0], w[0]),
    "polymul": lambda z, w: np.polymul(z[0, :3], w[0]) + np.polymul([1.0, 2.0, 3.0], z[0]),
    "polydiv": lambda z, w: np.polydiv(z[0], w[0, :2]) + np.polydiv(z[0, :2], w[0]),
    "polyder": lambda z, w: np.polyder(z[0]) * np.polyint(w[0, :2], k=[1j]),
    "polyfit": lambda z, w: np.polyfit(STEPS, z[0], 2) * np.polyval(w[0], 0.3),
    "vander": lambda z, w: np.vander(z[0], 3) * np.vander(w[0], 3, increasing=True) + np.vander(z[0, :3])[0],
    "poly": lambda z, w: 0j + np.poly(z[0]) + np.poly(w[:, 0])[0],
    "cross": lambda z, w: np.cross(z[:, :3], w[:, :3]) + np.linalg.cross(z[:, 1:], A[:, 1:]),
    "matmul": lambda z, w: np.linalg.matmul(z, w.T) + VECDOT(z, w, axis=1),
    "multi_dot": lambda z, w: np.linalg.multi_dot([z, w.T, MATRIX]) + np.linalg.multi_dot([z, w.T, z[:, 0]]),
    "cond": lambda z, w: np.linalg.cond(z[:, :3] + 3 * MATRIX) + np.linalg.cond(w[:, :3] + 5 * MATRIX, 1),
    "tensorsolve": lambda z, w: np.linalg.tensorsolve(np.reshape(MATRIX + 0.1 * z[:, :3], (3, 1, 3)), w[:, :1]),
    "tensorinv": lambda z, w: np.linalg.tensorinv(MATRIX + 0.1 * z[:, :3], 1) * w[:, :3],
}  # fmt: skip
SLOW = {"cond", "corrcoef", "cov of one", "poly", "prod of all", "polyfit"}
"""Rows that repeat what other rows cover, or take seconds to differentiate."""
MODULES = {
    "along_axes": "prod|prod of all|cumprod|cumulative_sum|accumulate|nansum|nanmean|nanmax",
    "statistics": "cov|cov of one|corrcoef|trapezoid",
    "comparing": "maximum|clip",
    "ordering": "median|sort_complex",
    "elementary": "sign|sinc",
    "powers": "float_power",
    "joining": "meshgrid",
    "linear": "gradient",
    "parted": "interp|diff|ediff1d|linspace|polyadd|polyder|insert|compress|choose|select",
    "polynomials": "geomspace|polymul|polydiv|vander|poly",
    "algebra": "matmul|multi_dot|cond|tensorsolve|tensorinv",
    "products": "polyfit|cross",
}
"""The rows of SMOOTH by module."""


def smooth(module: str) -> list[Any]:
    """Return the names of the rows of a module."""
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in MODULES[module].split("|")]


def check_smooth(name: str) -> None:
    """Check values against NumPy, and gradients against central differences."""
    check_grads(of(SMOOTH[name]), A, B, U, V, symbolic=False)
