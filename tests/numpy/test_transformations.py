"""Box-Cox transformations: SciPy's values to the ends of the range, gradients at an exponent of 0 too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.numpy.transformations import exponential_quotient, logarithmic_quotient
from tests.numpy.agreement import check_grads
from tests.pointwise import between
from tests.versions import UNDERFLOW

POWERS = np.array([0.0, 1e-25, 1e-10, -1e-9, 0.3, -0.7, 1.0, 2.5, -3.0, 50.0])
POSITIVE = np.array([0.0, 1e-10, 0.3, 1.0, 1.0000001, 2.0, 50.0, 1e100, np.inf, np.nan, -1.0])
BOTH = np.concatenate([POSITIVE, [-0.5, -0.99, -5.0, -0.4]])
TRANSFORMATIONS = {sp.boxcox: POSITIVE, sp.boxcox1p: BOTH, sp.inv_boxcox: BOTH, sp.inv_boxcox1p: BOTH}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", TRANSFORMATIONS, ids=lambda f: f.__name__)
def test_a_transformation_gives_what_scipy_gives(function: Any, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x, power = TRANSFORMATIONS[function].astype(dtype)[:, None], POWERS.astype(dtype)
        wanted = function(x, power)
    found = ps.trace(function, x, power)(x, power)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-13 if dtype == "float64" else 1e-6, atol=UNDERFLOW)


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    ("function", "x", "power"),
    [
        (sp.boxcox, between(0.2, 4, (6,)), between(-2, 2, (6,))),
        (sp.boxcox1p, between(-0.5, 4, (6,)), between(-2, 2, (6,))),
        (sp.inv_boxcox, between(-0.3, 1, (6,)), between(-0.9, 2, (6,))),
        (sp.inv_boxcox1p, between(-0.3, 1, (6,)), between(-0.9, 2, (6,))),
        *((f, between(0.2, 1, (6,)), np.array([0.0, 1e-5, -1e-3, 0.1, -0.1, 0.0])) for f in TRANSFORMATIONS),
    ],
)
def test_first_and_second_derivatives_agree_with_central_differences(function: Any, x: Any, power: Any) -> None:
    check_grads(function, x, power)


def test_exprel_and_its_derivatives_agree_with_central_differences() -> None:
    u = np.concatenate([np.linspace(-60, 60, 121), 10.0 ** -np.arange(1, 20), [np.inf, -np.inf, np.nan, 800.0]])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(ps.trace(sp.exprel, u)(u), sp.exprel(u), rtol=1e-15)
    check_grads(sp.exprel, np.array([-5.0, -3.9, -1e-3, 0.0, 0.3, 3.9, 4.1]))


QUOTIENTS: list[tuple[Callable[..., Any], Callable[[int], Callable[[Any], Any]], Any, float]] = [
    (
        exponential_quotient,
        lambda order: lambda t: lambda u: t**order * np.exp(u * t),
        np.concatenate([np.linspace(-20, 20, 41), [-3.99, -4.01, 3.99, 4.01, 1e-3]]),
        2e-13,
    ),
    (
        logarithmic_quotient,
        lambda order: (
            lambda t: lambda u: (-1) ** order * np.prod(range(1, order + 1)) * t**order / (1 + u * t) ** (order + 1)
        ),
        np.concatenate([np.linspace(-0.9, 3, 40), [-0.2499, 0.2499, -0.2501, 0.2501]]),
        1e-12,
    ),
]


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize(("quotient", "integrand", "points", "tolerance"), QUOTIENTS)
def test_a_derivative_of_a_quotient_is_its_integral(
    quotient: Any, integrand: Any, points: Any, tolerance: float, order: int
) -> None:
    places, weights = np.polynomial.legendre.leggauss(60)
    t = (places + 1) / 2
    wanted = [np.sum(weights / 2 * integrand(order)(t)(u)) for u in points]
    found = ps.trace(lambda u: quotient(u, order), points)(points)
    np.testing.assert_allclose(found, wanted, rtol=tolerance)
