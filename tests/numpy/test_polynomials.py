"""NumPy's polynomials: values against NumPy, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError
from tests.numpy.agreement import check_agrees, check_grads

P, Q = np.array([1.5, -0.7, 2.2, 0.4]), np.array([0.8, 1.3])
AT = np.array([-1.0, 0.3, 0.9, 1.7, 2.4, 3.1])
SEEN = np.array([0.2, 1.1, 0.7, -0.4, -1.0, 0.5])
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 1.5, 0.7])

SMOOTH: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polyadd": (np.polyadd, (P, Q)),
    "polyadd of a longer one": (lambda p: np.polyadd([1.0, 2.0], p), (P,)),
    "polysub": (np.polysub, (Q, P)),
    "polymul": (np.polymul, (P, Q)),
    "polyder": (np.polyder, (P,)),
    "polyder of order 2": (lambda p: np.polyder(p, 2), (P,)),
    "polyint": (np.polyint, (P,)),
    "polyint of order 2": (lambda p: np.polyint(p, 2, [3.0, 0.5]), (P,)),
    "vander": (lambda x: np.vander(x, 4), (AT,)),
    "vander, increasing": (lambda x: np.vander(x, 3, increasing=True), (AT,)),
    "vander of as many columns as rows": (lambda x: np.vander(x) * np.vander(x, len(x), increasing=True), (P,)),
}
STEPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polydiv": (np.polydiv, (P, Q)),
    "polydiv by a number": (lambda p: np.polydiv(p, [2.0])[0], (P,)),
    "polydiv by a longer one": (np.polydiv, (Q, P)),
    "polydiv of symbols": (lambda p, q: np.polydiv(p, q), (AT, P)),
    "poly": (lambda p: np.poly(np.asarray(p)), (P,)),
}
"""Those that take one step for each coefficient: unrolled, or a loop where a size is a symbol."""
FITS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), (AT, SEEN)),
    "polyfit of columns": (lambda x, y: np.polyfit(x, np.stack([y, y * y], 1), 1), (AT, SEEN)),
    "polyfit with weights": (lambda x, y, w: np.polyfit(x, y, 1, w=w), (AT, SEEN, WEIGHTS)),
    "polyfit with covariance": (lambda x, y: np.polyfit(x, y, 1, cov=True), (AT, SEEN)),
    "polyfit with covariance, unscaled": (lambda x, y: np.polyfit(x, y, 1, cov="unscaled"), (AT, SEEN)),
}


LONGER = {"polyadd", "polysub", "polymul"}
"""Of no coefficients they make one, which is refused at run time."""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", SMOOTH)
def test_a_polynomials_value_and_gradients_are_numpys(name: str) -> None:
    function, args = SMOOTH[name]
    check_grads(function, *args, resize=(1,) if name in LONGER else (1, 0))


@pytest.mark.parametrize("name", STEPS)
def test_a_polynomial_made_in_steps_has_numpys_value_and_gradients(name: str) -> None:
    function, args = STEPS[name]
    check_grads(function, *args, resize=(1, 2))


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", FITS)
def test_a_fit_has_numpys_value_and_gradients(name: str) -> None:
    function, args = FITS[name]
    check_grads(function, *args, order=1, resize=(3,))
    check_agrees(function, *args)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
def test_the_derivatives_of_a_fit_of_any_number_of_points_are_right_to_second_order() -> None:
    check_grads(lambda x, y: np.polyfit(x, y, 1), AT[:4], SEEN[:4], resize=(3, 2, 1))
    made = ps.split(lambda x, y: np.polyfit(x, y, 1)[0], *[ps.spec("float64", ["N"])] * 2)
    for n in (2, 6):
        # The slope of a line is sum((x - mean(x)) y) / sum((x - mean(x))**2), linear in y.
        centred = AT[:n] - AT[:n].mean()
        slope, _, dy = made.joint().session()(AT[:n], SEEN[:n])
        np.testing.assert_allclose(slope, centred @ SEEN[:n] / (centred @ centred))
        np.testing.assert_allclose(dy, centred / (centred @ centred))


@pytest.mark.parametrize("function", [np.polyadd, np.polysub, np.polymul])
@pytest.mark.parametrize("sizes", [(1, 3), (3, 1), (2, 2)], ids=str)
def test_polynomials_of_any_length_and_dtype_are_combined(function: Any, sizes: tuple[int, int]) -> None:
    a, b = np.arange(sizes[0]) + 1, np.arange(sizes[1]) + 2.0
    check_agrees(function, a, b)
    check_agrees(function, a, b.astype(np.float32))


def test_derivatives_and_integrals_of_integers_have_numpys_dtype() -> None:
    for function in (np.polyder, np.polyint, lambda p: np.polyder(p, 0), lambda p: np.polyint(p, 3, k=1)):
        check_agrees(function, np.array([3, 2, 1]))
        check_agrees(function, np.array([3]))


def test_a_fit_tells_its_residuals_and_rank() -> None:
    check_agrees(lambda x, y: np.polyfit(x, y, 1, full=True)[1], AT, SEEN)
    assert ps.trace(lambda x, y: np.polyfit(x, y, 1, full=True)[2] + x, AT, SEEN)(AT, SEEN)[0] == 2 + AT[0]


def test_leading_coefficients_that_are_0_stay() -> None:
    zero, one = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0])
    np.testing.assert_array_equal(ps.trace(np.polymul, zero, one)(zero, one), [0, 1, 3, 2])
    quotient, rest = ps.trace(np.polydiv, np.array([1.0, 2.0, 1.0]), one)(np.array([1.0, 2.0, 1.0]), one)
    np.testing.assert_array_equal(quotient, [1, 1])
    np.testing.assert_array_equal(rest, [0])


@pytest.mark.filterwarnings("ignore:Polyfit may be poorly conditioned")
def test_fewer_points_than_coefficients_get_the_least_ones_and_none_fail() -> None:
    program = ps.trace(lambda x, y: np.polyfit(x, y, 2), ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    for count in (1, 2, 3):
        x, y = AT[1 : count + 1], SEEN[1 : count + 1]
        np.testing.assert_allclose(program(x, y), np.polyfit(x, y, 2), atol=1e-12)
        check_agrees(lambda x, y: np.polyfit(x, y, 2), x, y, symbolic=False)
    with pytest.raises(RunError):
        program(AT[:0], SEEN[:0])
    with pytest.raises(ShapeError, match="needs 1 points"):
        ps.trace(lambda x, y: np.polyfit(x, y, 2), AT[:0], SEEN[:0])
    with pytest.raises(ShapeError, match="needs 3 points"):
        ps.trace(lambda x, y: np.polyfit(x, y, 2, cov=True), AT[:2], SEEN[:2])


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (2, 3), (3, 3), (5, 3), (5, 1)], ids=str)
def test_one_file_divides_polynomials_of_every_length(sizes: tuple[int, int]) -> None:
    program = ps.trace(np.polydiv, ps.spec("float64", ["N"]), ps.spec("float64", ["M"]))
    u, v = AT[: sizes[0]], SEEN[: sizes[1]]
    for found, wanted in zip(program(u, v), np.polydiv(u, v), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
