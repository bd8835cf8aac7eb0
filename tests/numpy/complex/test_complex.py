"""Complex arrays inside of a traced function, against NumPy and central differences."""

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.ir.errors import DtypeError, PrimsplitError, TraceError, UnsupportedFunction
from primsplit.ops import op
from tests.numpy.agreement import check_agrees, check_grads
from tests.numpy.complex.rows import ELEMENTWISE, TURN, A, B, U, V, of, parts

ON_CUTS = np.array([0.0, -0.0, 1e-9, 0.5, 2.0, -2.0, 1e-5, 30.0])
INVERSES = ("tan", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "expm1", "log1p")


@pytest.mark.parametrize("name", INVERSES)
def test_on_cuts_and_near_zero_a_function_is_numpys(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        z = np.zeros(x.shape, complex)
        z.real, z.imag = x, y
        found = getattr(np, name)(z)
        return found.real, found.imag

    x, y = (part.ravel() for part in np.meshgrid(ON_CUTS, [0.0, -0.0, 1e-9, 0.75, -2.0]))
    real, imaginary = f(x, y)
    scale = 1e-15 * np.hypot(real, imaginary) + (1e-16 if name == "log1p" else 1e-300)  # NumPy loses digits of log1p
    for found, wanted in zip(ps.trace(f, x, y)(x, y), (real, imaginary), strict=True):
        is_finite = np.isfinite(wanted)
        np.testing.assert_array_equal(found[~is_finite], wanted[~is_finite])
        assert np.all(np.abs(found - wanted)[is_finite] <= 2 * scale[is_finite])
        np.testing.assert_array_equal(np.signbit(found[wanted != 0]), np.signbit(wanted[wanted != 0]))


def test_powers_of_zero_are_numpys() -> None:
    base, exponent = np.array([0, 0, 0, 0, 0, 2, 0]) + 0j, np.array([0, 1, 2.5, -1, 1j, 0, 1 + 2j])
    args = (base.real, base.imag, exponent.real, exponent.imag)
    check_agrees(of(lambda z, w: z**w), *args, symbolic=False)


def test_the_slope_of_a_power_at_zero_is_the_limit() -> None:
    slopes = ps.grad(lambda x, y: np.sum(((x + 1j * y) ** 1.5).real + ((x + 1j * y) ** (1 + 0 * x)).real), wrt=(0, 1))
    np.testing.assert_array_equal(slopes(np.zeros(2), np.zeros(2)), [[1.0, 1.0], [0.0, 0.0]])


DTYPES: list[Callable[..., Any]] = [
    lambda x: x * 1j, lambda x: x * np.complex64(1j), lambda x: x * np.complex128(1j), lambda x: 1j * x + 2.5,
    lambda x: np.fft.fft(x) * 2.0, lambda x: np.fft.fft(x) * np.float64(2), lambda x: x.astype(np.complex64),
    lambda x: x.astype(complex) / np.float32(2), lambda x: (1j * x) ** 2, lambda x: np.exp(1j * x),
    lambda x: np.stack([1j * x, x]), lambda x: np.where(x > 0, 1j * x, 0), lambda x: np.dot(1j * x, x),
    lambda x: abs(1j * x) + 0j * x, lambda x: np.concatenate([x.astype(np.complex64), np.arange(3)]),
    lambda x: np.zeros_like(x, complex) + np.sum(x, dtype=complex) + np.sum(1j * x, 0, complex),
    lambda x: x @ TURN[:, :3],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
@pytest.mark.parametrize("place", range(len(DTYPES)))
def test_complex_and_real_dtypes_meet_as_in_numpy(place: int, dtype: str) -> None:
    function = DTYPES[place]
    x = np.array([1, 0, 1]).astype(dtype)
    if (place in {12, 16} and dtype == "bool") or (place == 5 and dtype == "float16"):
        pytest.skip("NumPy has no such loop")
    wanted = function(x)
    found = ps.trace(lambda x: parts(function(x)), x)(x)
    assert found[0].dtype == wanted.real.dtype
    np.testing.assert_allclose(found[0] + 1j * found[1], wanted, rtol=2e-3 if dtype == "float16" else 1e-6)


def mandelbrot(x: Any, y: Any) -> Any:
    c = x + 1j * y
    z = np.zeros_like(c)
    for _ in range(4):
        z = z**2 + c
    return np.abs(z)


def written_into_numpys_zeros(x: Any, y: Any) -> Any:
    z = np.zeros(3, dtype=complex)
    for k in range(3):
        z[k] = x[k] + 1j * y[k]
    w = np.array([z[0] * x[1], x[2], 2j])
    return np.abs(z), w.imag


def a_branch(x: Any, y: Any) -> Any:
    z = x[0] + 1j * y[0]
    return abs(z) if (z * z).real > 0 else z.imag * 2


def a_sum_by_hand(x: Any, y: Any) -> Any:
    n = x.shape[0]
    angles = -2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n
    z = np.exp(angles) @ x + sum(complex(0, k) for k in range(3))
    return z.real, z.imag, abs(complex(1, 2) * y)


def by_cmath(x: Any, y: Any) -> Any:
    z = cmath.exp(1j * x[0]) + cmath.sqrt(x[1]) * cmath.rect(y[0], x[2])
    size, angle = cmath.polar(z)
    return size, angle + cmath.phase(z), cmath.log(z).imag


PROGRAMS = [by_cmath, mandelbrot, written_into_numpys_zeros, a_branch, a_sum_by_hand]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_with_complex_numbers_are_numpys(function: Callable[..., Any]) -> None:
    x, y = np.array([0.3, -0.4, 0.25]), np.array([0.2, 0.5, -0.1])
    check_agrees(function, x, y, symbolic=function is not written_into_numpys_zeros)
    check_grads(function, x, y, symbolic=False)


def test_the_gradient_of_a_size_or_an_angle_is_zero_at_zero() -> None:
    x = np.zeros(2)
    for function in (np.abs, np.angle, lambda z: np.abs(z) ** 2, lambda z: np.abs(z * z)):
        for start in (1j, 1 + 1j):
            found = ps.grad(lambda x, f=function, start=start: np.sum(f(start * x)))(x)
            np.testing.assert_array_equal(found, x)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("place", range(len(ELEMENTWISE)))
def test_tangents_are_those_of_central_differences(place: int) -> None:
    function = of(ELEMENTWISE[place])
    point, way, step = (A, B, U, V), (V, U, B, A), 1e-6
    ahead, behind = (function(*(x + h * d for x, d in zip(point, way, strict=True))) for h in (step, -step))
    for found, x, y in zip(ps.jvp(function, point, way)[1], ahead, behind, strict=True):
        np.testing.assert_allclose(found, (x - y) / (2 * step), rtol=1e-5, atol=1e-6)


def test_a_root_at_zero_has_an_infinite_derivative_but_where_nobody_asks() -> None:
    def f(x: Any, y: Any) -> Any:
        z = np.sqrt(x + 1j * y)
        return z[0].real + 0.0 * z[1].real

    found = ps.grad(f)(np.zeros(2), np.zeros(2))
    np.testing.assert_array_equal(found, [np.inf, 0.0])


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_a_quotient_and_a_size_neither_overflow_nor_vanish(scale: float) -> None:
    def f(x: Any) -> Any:
        z = x[0] + 1j * x[1]
        w = x[1] - 1j * x[0]
        return (z / w).imag, np.abs(z) / scale

    found = ps.trace(f, A[0, :2])(np.array([3.0, 4.0]) * scale)
    np.testing.assert_allclose(found, [1.0, 5.0], rtol=1e-15)


def test_the_root_takes_the_side_of_the_cut_that_the_imaginary_part_is_on() -> None:
    x, y = np.array([-4.0, -4.0, 4.0, 0.0, -1.0]), np.array([0.0, -0.0, 3.0, 0.0, 1e-9])

    def f(x: Any, y: Any) -> Any:
        z = x.astype(complex)
        z.imag = y
        return np.sqrt(z).real, np.sqrt(z).imag

    check_agrees(f, x, y)


REFUSED: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (lambda z: op.Neg(z), TraceError, "np.stack"),
    (lambda z: z.max((0,)), UnsupportedFunction, "several axes"),
    (lambda z: np.arctan2(z, 1.0), UnsupportedFunction, "np.arctan2"),
    (lambda z: np.hypot(z, 1), UnsupportedFunction, "np.hypot"),
    (lambda z: np.linalg.svd(z[None]), UnsupportedFunction, "full_matrices"),
    (lambda z: float(z[0]), DtypeError, "z.real"),
    (lambda z: z.astype(float), UnsupportedFunction, "z.real"),
    (lambda z: z.real.__setitem__(0, z), DtypeError, "astype"),
    (lambda z: np.multiply(z.real, 2, out=z.real).__imul__(z), DtypeError, "x = x"),
    (lambda z: np.sum(z, initial=1j), UnsupportedFunction, "initial"),
    (lambda z: np.sum(z, 0, None, z.real[0]), UnsupportedFunction, "out="),
    (lambda z: np.pad(z, 1, mode="maximum"), UnsupportedFunction, "mode='maximum'"),
    (lambda z: z + np.ones(3, np.clongdouble), DtypeError, "complex256"),
    (lambda z: scipy.special.kelvin(z.real, z), UnsupportedFunction, "out="),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_has_no_complex_form_is_refused_at_the_users_line(place: int) -> None:
    function, error, told = REFUSED[place]
    with pytest.raises(error) as caught:
        ps.trace(lambda x: function(x + 1j * x), np.array([0.5, 1.0, 2.0]))
    assert isinstance(caught.value, PrimsplitError)
    assert told in str(caught.value)
    assert "test_complex.py" in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10
