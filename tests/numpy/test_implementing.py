"""A NumPy function, and a compiled ufunc of any library, gets a traced form by the function itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.ir.errors import RuleError, UnsupportedFunction
from primsplit.numpy.implementing import implements
from tests.registered import only_here

X = np.array([0.5, 1.0, 3.0])


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Forms that a test registers are gone after it."""
    with only_here():
        yield


def test_a_ufunc_that_has_no_form_gets_one() -> None:
    with pytest.raises(UnsupportedFunction, match="the ufunc powm1 has no form"):
        ps.grad(lambda x: np.sum(special.powm1(x, 2.0)))(X)

    @implements(special.powm1)
    def powm1(x: Any, y: Any) -> Any:
        return np.expm1(y * np.log(x))

    np.testing.assert_allclose(ps.trace(special.powm1, X, np.float64(2.0))(X, np.float64(2.0)), special.powm1(X, 2.0))
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(special.powm1(x, 2.0)))(X), 2.0 * X)


def test_a_users_form_takes_the_place_of_the_packages_own() -> None:
    @implements(np.trace)
    def trace(a: Any, *more: Any) -> Any:
        return np.sum(a) * 0.0 + 42.0

    assert ps.grad(lambda x: np.trace(x) * x[0, 0])(np.ones((2, 2)))[0, 0] == 42.0
    assert np.trace(np.eye(2)) == 2.0


def test_a_form_that_comes_later_is_used_where_a_derivative_is_cached() -> None:
    gradient = ps.grad(lambda x: np.trace(x) * 1.0)
    np.testing.assert_array_equal(gradient(np.ones((2, 2))), np.eye(2))
    implements(np.trace, replace=True)(lambda a: np.sum(a))
    np.testing.assert_array_equal(gradient(np.ones((2, 2))), np.ones((2, 2)))


REFUSED = [
    ("a function that is not asked", lambda: implements(len), r"extend\.stands_in_for\(len\)"),
    ("a form of other arguments", lambda: implements(np.sum)(lambda: 0), "too many positional arguments"),
    ("a ufunc's form", lambda: implements(np.hypot)(lambda x: x), "too many positional arguments"),
]


@pytest.mark.parametrize(("register", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_form_that_would_be_wrong_is_refused_at_the_users_line(register: Any, told: str) -> None:
    with pytest.raises(RuleError, match=told) as caught:
        register()
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
