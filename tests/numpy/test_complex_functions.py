"""Products, comparisons, statistics and polynomials of complex arrays, against NumPy and central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, UnsupportedFunction
from tests.numpy.agreement import check_agrees, check_grads
from tests.numpy.complex.test_complex import MATRIX, A, B, U, V, of

Z, W = A + 1j * B, U + 1j * V
HOLES = np.array([[1 + 2j, np.nan, 3j, -1], [complex(2, np.nan), 1j, 2 - 1j, 0.5]])
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
"""What other rows have, or what takes seconds to differentiate."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SMOOTH])
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_grads(of(SMOOTH[name]), A, B, U, V, symbolic=False)


ASKING: list[Callable[..., Any]] = [
    lambda z: (z < z[:, ::-1], z <= 1, z > 1j, z >= z[::-1]),
    lambda z: (np.logical_and(z, z.real > 0), np.logical_or(z, 0), np.logical_xor(z, z[::-1]), np.logical_not(z)),
    lambda z: (np.isclose(z, z[::-1]), np.isclose(z, z, equal_nan=True), np.allclose(z, z), np.array_equal(z, z)),
    lambda z: (np.array_equal(z, z, equal_nan=True), np.array_equiv(z[:1], z), np.array_equal(z, z[0])),
    lambda z: (np.nansum(z), np.nanprod(z, axis=0), np.nancumsum(z), np.nancumprod(z, axis=1), np.nanmean(z, axis=1)),
    lambda z: (np.nanvar(z, axis=1, ddof=1), np.nanstd(z), np.nanmax(z, axis=1), np.nanmin(z), np.nanargmax(z, axis=1)),
    lambda z: (np.maximum(z, 1), np.minimum(z[:1], z), np.fmax(z, 1j), np.fmin(z, z[::-1]), np.median(z, axis=1)),
    lambda z: (np.rint(z * 1.3), np.around(z * 0.77, 1), np.sign(np.where(z == 1j, np.inf, z)), np.nanargmin(z)),
    lambda z: (np.stack(np.tril_indices_from(z)), np.triu_indices_from(z)[0], np.where(z)[0]),
    lambda z: (np.linalg.matrix_rank(z[:, 2:]), np.linalg.matrix_rank(z[:1]), np.linalg.matrix_rank(z[0, 2:] * 0)),
]


@pytest.mark.parametrize("place", range(len(ASKING)))
def test_what_has_no_slope_or_meets_nan_is_numpys(place: int) -> None:
    given = np.nan_to_num(HOLES) if place == len(ASKING) - 1 else HOLES
    with np.errstate(invalid="ignore"):
        wanted = ASKING[place](given)
    for found, value in zip(ps.trace(ASKING[place], given)(given), wanted, strict=True):
        assert found.dtype == np.asarray(value).dtype
        np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("name", ["prod", "cumprod", "nansum", "maximum", "sign", "sinc", "diff", "cumulative_sum"])
def test_one_file_serves_every_size(name: str) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "prod": lambda z: np.prod(z, axis=0), "cumprod": lambda z: np.cumprod(z, axis=0),
        "nansum": lambda z: np.nansum(z, axis=0), "maximum": lambda z: np.maximum(z, 1j), "sign": np.sign,
        "sinc": np.sinc, "diff": lambda z: np.diff(z, axis=0, prepend=1j),
        "cumulative_sum": lambda z: np.cumulative_sum(z, axis=0),
    }  # fmt: skip
    program = ps.trace(functions[name], ps.spec("complex128", ["N", 4]))
    for n in (0, 1, 3):
        np.testing.assert_allclose(program(Z[:n]), functions[name](Z[:n]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["prod", "cumprod", "nanmean", "sign", "linspace", "select", "interp", "corrcoef"])
def test_complex64_stays_where_numpy_keeps_it(name: str) -> None:
    functions: dict[str, Callable[..., Any]] = {
        "prod": lambda z: np.prod(z, axis=0), "cumprod": lambda z: np.cumprod(z, axis=1), "nanmean": np.nanmean,
        "sign": np.sign, "linspace": lambda z: np.linspace(z, 1j, 3), "corrcoef": np.corrcoef,
        "select": lambda z: np.select([z.real > 0], [z], 0.5), "interp": lambda z: np.interp([0.3], STEPS, z[0]),
    }  # fmt: skip
    z = Z.astype(np.complex64)
    found, wanted = ps.trace(functions[name], z)(z), functions[name](z)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


def written(x: Any, y: Any) -> Any:
    z = x + 1j * y
    np.put(z, [0, 5], [1j, x[0, 0]])
    np.putmask(z, z.imag > 1.0, 3j)
    np.copyto(z[1], z[0] * 2)
    np.place(z, z.real < -1.0, [1j, y[0, 1] * 1j])
    square = np.zeros((3, 3), complex) + z[:, :3]
    np.fill_diagonal(square, 2j)
    np.exp(x, out=(z,))
    return z.real, square.real, square.imag


def into_a_new_array(x: Any) -> Any:
    out = np.zeros(4, complex)
    np.exp(x, out=out)
    np.multiply(out, 2j, out=out)
    return out + np.sqrt(x, out=np.zeros(4, complex))


def test_results_are_written_to_arrays_that_numpy_made() -> None:
    check_agrees(lambda x: (into_a_new_array(x).real, into_a_new_array(x).imag), np.abs(A[0]), symbolic=False)


def test_functions_that_write_reach_both_parts() -> None:
    check_agrees(written, A, B, symbolic=False)
    check_grads(written, A, B, symbolic=False)


def test_real_arrays_beside_complex_ones_stay_real() -> None:
    def f(z: Any, x: Any) -> Any:
        first, second = np.atleast_1d(z, x)
        third, fourth = np.broadcast_arrays(x, z)
        return second, third, np.meshgrid(z, x)[1], first, fourth

    found, wanted = ps.trace(f, Z[0], np.arange(4))(Z[0], np.arange(4)), f(Z[0], np.arange(4))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (lambda z: np.real_if_close(z), "z.real"),
    (lambda z: np.unique(z), "columns"),
    (lambda z: np.cov(z, aweights=np.ones(4)), "weights"),
    (lambda z: np.interp(z[0], STEPS, STEPS), "another argument"),
    (lambda z: np.linspace(z, 1, 3, retstep=True), "retstep"),
    (lambda z: np.arctan2(z, 1.0), "np.arctan2"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_stays_out_names_the_way_out(place: int) -> None:
    function, told = REFUSED[place]
    with pytest.raises(UnsupportedFunction, match=told) as caught:
        ps.trace(function, Z)
    assert isinstance(caught.value, PrimsplitError)
    assert "test_complex_functions.py" in str(caught.value)
