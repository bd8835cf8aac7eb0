"""`np.vectorize` and `np.frompyfunc` of a user's function: recorded once for all elements; signatures, exclusions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0, 0.25])
MATRIX = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.5, 0.1, 1.1]])


@np.vectorize
def soft_threshold(v: Any) -> Any:
    if v > 0.5:
        return v - 0.5
    if v < -0.5:
        return v + 0.5
    return 0.0 * v


def shifted(v: float, by: float, times: float = 1.0) -> tuple[float, float]:
    return v * by * times, v + by


def vectorized_functions(x: Any) -> Any:
    product, total = np.vectorize(shifted)(x[:, None], x)
    once = np.vectorize(shifted, excluded=["times"], otypes=[float, float])(x, 2.0, times=x[0])[0]
    return soft_threshold(x) * product.sum(axis=0) + total[0] + once + soft_threshold(x[1])


def test_vectorized_functions_are_recorded_as_they_stand() -> None:
    check_grads(vectorized_functions, X, symbolic=False, order=1, value_tolerance=1e-12)


leaky = np.frompyfunc(lambda v: v if v > 0 else 0.1 * v, 1, 1)
both = np.frompyfunc(lambda a, b: (a * b if a > b else np.sin(a), a + b), 2, 2)


def test_ufuncs_of_python_functions_are_recorded_with_numbers_for_objects() -> None:
    def function(x: Any) -> Any:
        product, total = both(x[:, None], x)
        return product.astype(float) @ x + total.astype(float).sum(axis=0), leaky(x).astype(float), 2 * leaky(x[2])

    check_grads(function, X)


def test_a_vectorized_function_is_recorded_once_for_any_number_of_elements() -> None:
    made = ps.split(lambda x: np.sum(soft_threshold(x) ** 2), ps.spec("float64", ["M", "N"])).joint()
    for shape in ((2, 3), (1, 5), (0, 2)):
        x = np.linspace(-2.0, 2.0, shape[0] * shape[1]).reshape(shape)
        wanted = np.sign(x) * np.maximum(np.abs(x) - 0.5, 0.0)
        value, gradient = made(x)
        np.testing.assert_allclose(value, np.sum(wanted**2))
        np.testing.assert_allclose(gradient, 2 * wanted)
    np.testing.assert_array_equal(soft_threshold(np.array([1.0, 0.0])), [0.5, 0.0])


SIGNATURES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a sum of each row": (np.vectorize(lambda v: v @ v, signature="(n)->()"), (MATRIX,)),
    "each row scaled": (np.vectorize(lambda v, s: v / (s + v.sum()), signature="(n),()->(n)"), (MATRIX, X)),
    "a matrix and all rows": (np.vectorize(lambda a, v: a @ v, signature="(m, n),(n)->(m)"), (MATRIX[:2], MATRIX)),
    "two results": (
        np.vectorize(lambda v: (v[0] * v, v.sum()), signature="(n)->(n),()"),
        (MATRIX * TABLE[:, None, None],),
    ),
    "no axes before those": (np.vectorize(lambda v: v[::-1] * v, signature="(n)->(n)"), (X,)),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_vectorized_function_with_a_signature_takes_the_axes_that_it_names(name: str) -> None:
    vectorized, given = SIGNATURES[name]
    check_grads(lambda *args: vectorized(*args), *given, order=2, symbolic=False)


def test_axes_of_a_signature_that_differ_are_told_at_the_users_line() -> None:
    product = np.vectorize(lambda v, w: v @ w, signature="(n),(n)->()")
    with pytest.raises(ps.errors.ShapeError, match=r"n of .* is 3 and 4") as caught:
        ps.trace(lambda x: product(x, TABLE), X)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
