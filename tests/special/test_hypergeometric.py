"""Hypergeometric functions: mpmath's values, what is special as in SciPy, derivatives in z, refusals in parameters."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import MissingRule
from tests.numpy.agreement import check_grads

EXACT: list[tuple[Any, tuple[float, ...], float]] = [
    (sp.hyp0f1, (0.5, -20.0), -0.886761125507701944),
    (sp.hyp0f1, (3.2, 150.0), 31165165.0838712456),
    (sp.hyp0f1, (1.5, 1e-09), 1.00000000066666667),
    (sp.hyp1f1, (0.3, 1.7, -250.0), 0.195320412729319269),
    (sp.hyp1f1, (0.3, 1.7, -450.0), 0.16377921763161828),
    (sp.hyp1f1, (2.5, 0.7, 40.0), 1.87780093246950664e+20),
    (sp.hyp1f1, (-3.3, 1.2, 15.0), 117.143974973444898),
    (sp.hyp1f1, (4.0, -2.5, -7.0), 2.65857174658001347),
    (sp.hyp1f1, (1.0, 2.0, 600.0), 6.28836716821656637e+257),
    (sp.hyp2f1, (0.5, 1.0, 1.5, -0.99), 0.786829622980328917),
    (sp.hyp2f1, (0.5, 1.0, 1.5, -400.0), 0.0760418965536476929),
    (sp.hyp2f1, (1.0, 1.0, 2.0, 0.997), 5.82662285889069858),
    (sp.hyp2f1, (-2.5, 3.5, 4.5, 0.6), 0.223677408801562602),
    (sp.hyp2f1, (4.0, 4.5, 0.7, -2.5), 0.00121242069172903798),
    (sp.hyp2f1, (-3.0, 2.0, 1.5, 7.0), -419.0),
]  # fmt: skip
"""Functions, their arguments, and mpmath's values."""


def test_values_are_mpmaths() -> None:
    for function in (sp.hyp0f1, sp.hyp1f1, sp.hyp2f1):
        args = np.array([a for f, a, _ in EXACT if f is function]).T
        exact = [e for f, _, e in EXACT if f is function]
        np.testing.assert_allclose(ps.trace(function, *args)(*args), exact, rtol=1e-12)


SPECIAL: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "hyp0f1": (sp.hyp0f1, (np.array([0.5, 2.0, 0.5]), np.array([0.0, 0.0, np.nan]))),
    "hyp1f1": (
        sp.hyp1f1,
        (
            np.array([0.0, 1.0, -1.0, -1.0, 2.0, 1.0, 2.0, -3.0, 0.7, np.nan]),
            np.array([1.0, 2.0, 1.0, -2.0, 2.0, -1.0, 3.0, 2.5, 1.2, 1.0]),
            np.array([3.0, 0.0, 1.0, 0.5, -800.0, 0.5, 800.0, -9.0, -5000.0, 1.0]),
        ),
    ),
    "hyp2f1": (
        sp.hyp2f1,
        (
            np.array([1.0, 0.0, 1.0, 0.3, -2.0, 1.0, 1.0, -2.0, 0.5, 0.3]),
            np.array([1.0, 1.0, 1.0, 0.4, 1.5, 2.0, 1.0, 1.5, 0.5, 0.2]),
            np.array([2.0, 2.0, 2.0, 1.9, 2.5, 1.5, -1.0, 0.5, 1.5, 0.9]),
            np.array([0.0, 0.5, 1.0, 1.0, 3.0, 1.0, 0.5, -9.0, 1.0, np.nan]),
        ),
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_special_is_scipys(name: str) -> None:
    function, args = SPECIAL[name]
    with np.errstate(all="ignore"):
        wanted = function(*args)
    np.testing.assert_allclose(ps.trace(function, *args)(*args), wanted, rtol=1e-13, atol=1e-15)


def test_where_too_many_digits_are_lost_there_is_no_number() -> None:
    far = np.array([-2000.0, 0.99999])
    assert np.isnan(ps.trace(lambda z: sp.hyp2f1(0.5, 1.0, 1.5, z), far)(far)).all()
    assert np.isnan(ps.trace(lambda z: sp.hyp0f1(1.5, z), far[:1])(far[:1])).all()
    assert np.isnan(ps.trace(lambda z: sp.hyp1f1(-80.5, 1.5, z), -far[:1] / 50)(-far[:1] / 50)).all()


PLACES = np.array([-0.7, 0.2, 0.8])


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("function", "z"),
    [
        (lambda z: sp.hyp0f1(1.3, z), 4 * PLACES),
        (lambda z: sp.hyp1f1(0.4, np.array([1.3, 2.2, 0.7]), z), 4 * PLACES),
        (lambda z: sp.hyp2f1(0.4, 1.2, np.array([1.3, 2.2, 0.7]), z), PLACES),
    ],
    ids=["hyp0f1", "hyp1f1", "hyp2f1"],
)
def test_derivatives_agree_with_central_differences(function: Any, z: Any) -> None:
    check_grads(function, z)


def test_far_below_zero_derivatives_are_those_of_the_function() -> None:
    found = ps.grad(lambda z: sp.hyp1f1(0.4, 1.3, z))(-700.0)
    np.testing.assert_allclose(found, 0.4 / 1.3 * sp.hyp1f1(1.4, 2.3, -700.0), rtol=1e-12)


def test_of_float32_there_is_float32() -> None:
    z = np.array([-3.0, 0.4, 2.0], np.float32)
    found = ps.trace(lambda z: sp.hyp1f1(np.float32(0.4), np.float32(1.3), z), z)(z)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, sp.hyp1f1(np.float32(0.4), np.float32(1.3), z), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: sp.hyp0f1(x, 0.5), "v"),
        (lambda x: sp.hyp1f1(1.0, x, 0.5), "b"),
        (lambda x: sp.hyp2f1(1.0, x, 2.0, 0.5), "b"),
        (lambda x: sp.hyp2f1(1.0, 1.0, x, 0.5), "c"),
    ],
)
def test_a_gradient_in_a_parameter_is_refused_by_name(function: Any, argument: str) -> None:
    with pytest.raises(MissingRule, match=f"no derivative in its argument {argument}") as refused:
        ps.grad(lambda x: np.sum(function(x)))(np.ones(2))
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__
