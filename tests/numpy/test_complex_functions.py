"""Products, comparisons, statistics and polynomials of complex arrays, against NumPy and central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, UnsupportedFunction
from tests.numpy.agreement import check_agrees, check_grads
from tests.numpy.complex.rows import STEPS, A, B, Z

HOLES = np.array([[1 + 2j, np.nan, 3j, -1], [complex(2, np.nan), 1j, 2 - 1j, 0.5]])


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
