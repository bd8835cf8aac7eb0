"""numpy.polynomial's series of a symbolic number of coefficients: NumPy's values at every size, or none."""

from typing import Any

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial

import primsplit as ps
from primsplit.testing import check_grads
from tests.every_size import check_every_size

FAMILIES: dict[str, Any] = {
    "poly": polynomial, "cheb": chebyshev, "leg": legendre, "herm": hermite, "herme": hermite_e, "lag": laguerre,
}  # fmt: skip


def of(name: str, what: str) -> Any:
    """A function of a family, as a user's function calls it."""
    function = getattr(FAMILIES[name], name + what)
    return lambda *args, **options: function(*args, **options)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_series_has_its_values_at_every_size(name: str) -> None:
    check_every_size(of(name, "val"), "2", "N", sizes=(0, 1, 2, 3, 5))
    check_every_size(lambda x, c: of(name, "val")(x, c, tensor=False), "M", "N M", sizes=(0, 1, 3))


@pytest.mark.sweep(10)
@pytest.mark.parametrize("name", FAMILIES)
def test_series_are_added_differentiated_and_integrated_at_every_size(name: str) -> None:
    check_every_size(lambda a, b: (of(name, "add")(a, b), of(name, "sub")(a, b)), "N", "M", sizes=(0, 1, 3))
    check_every_size(lambda c: of(name, "der")(c, 2, 3.0), "N 2", sizes=(0, 1, 2, 3, 5))
    check_every_size(lambda c: of(name, "int")(c, 2, [1.0], 0.5, 2.0), "N 2", sizes=(0, 1, 2, 5))


@pytest.mark.parametrize("name", FAMILIES)
def test_series_of_single_precision_stay_so(name: str) -> None:
    x = np.array([0.5, -1.0, 2.0], np.float32)
    for what in ("der", "int"):
        found = ps.trace(of(name, what), ps.spec("float32", ["N"]))(x)
        np.testing.assert_allclose(found, of(name, what)(x), rtol=1e-5)
        assert found.dtype == np.float32
    assert ps.trace(of(name, "val"), x, ps.spec("float32", ["N"]))(x, x).dtype == np.float32


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_series_are_multiplied_at_every_size(name: str) -> None:
    check_every_size(of(name, "mul"), "N", "M", sizes=(0, 1, 2, 3))


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", FAMILIES)
def test_series_of_two_variables_have_their_values_at_every_size(name: str) -> None:
    check_every_size(of(name, "val2d"), "K", "K", "N M", sizes=(0, 1, 3))
    check_every_size(of(name, "grid2d"), "K 2", "L", "N M", sizes=(0, 1, 3))
    x, y, c = np.array([0.3, -0.8]), np.array([1.1, 0.4]), np.linspace(-1.0, 2.0, 12).reshape(3, 4)
    check_grads(lambda x, y, c: np.tanh(of(name, "val2d")(x, y, c)), x, y, c, order=2)
    check_grads(lambda x, y, c: np.tanh(of(name, "grid2d")(x, y, c)), x, y, c, order=2)


def test_classes_of_polynomials_are_called_at_every_size() -> None:
    check_every_size(lambda x, c: np.polynomial.Chebyshev(c, domain=[0, 2])(x), "2", "N")
    check_every_size(lambda x, c: np.poly1d(c)(x), "2", "N")


@pytest.mark.slow
def test_polynomials_are_fitted_to_points_at_every_size() -> None:
    check_every_size(lambda x, y: chebyshev.chebfit(x, y, 1), "ascending N", "N", sizes=(0, 2, 4))


def test_sums_and_products_of_no_coefficients_are_numpys() -> None:
    check_every_size(np.polyadd, "N", "M", sizes=(0, 1, 3))
    check_every_size(np.polymul, "leading N", "leading M", sizes=(0, 1, 3))
    check_every_size(np.polydiv, "leading N", "leading 1+M", sizes=(0, 1, 3))


X, FIRST, SECOND = np.array([0.3, -0.8, 1.4]), np.array([0.5, -1.0, 0.7, 0.2]), np.array([0.1, 0.9, -0.6])


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", FAMILIES)
def test_second_derivatives_of_series(name: str) -> None:
    def f(x: Any, a: Any, b: Any) -> Any:
        total = of(name, "add")(of(name, "int")(a), of(name, "sub")(b, a))
        return np.sum(np.tanh(of(name, "val")(x, of(name, "der")(total))))

    check_grads(f, X, FIRST, SECOND, order=2)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FAMILIES)
def test_second_derivatives_of_products_of_series(name: str) -> None:
    check_grads(lambda a, b: np.tanh(of(name, "mul")(a, b)), FIRST, SECOND, order=2)
