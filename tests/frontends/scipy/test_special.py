"""scipy.special's mirrors: SciPy's values on traced arrays and on NumPy arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.frontends.scipy import special
from tests.numpy.agreement import check_grads
from tests.versions import UNDERFLOW

X = np.random.default_rng(0).standard_normal((3, 4))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_a_mirror_is_scipys_function(name: str, axis: Any) -> None:
    function, reference = getattr(special, name), getattr(scipy.special, name)
    np.testing.assert_allclose(function(X, axis=axis), reference(X, axis=axis), rtol=1e-13)
    check_grads(lambda x: function(x, axis=axis), X)


def test_logsumexp_takes_weights_and_gives_a_sign() -> None:
    weights = np.array([[1.0, 2.0, 0.5, -0.1], [-1.0, -2.0, 0.1, -0.5], [3.0, 0.2, 1.0, 2.0]])
    found = special.logsumexp(X, axis=1, b=weights, return_sign=True)
    expected = scipy.special.logsumexp(X, axis=1, b=weights, return_sign=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    check_grads(lambda x, b: special.logsumexp(x, axis=1, b=b, return_sign=True), X, weights)


def test_logsumexp_neither_overflows_nor_gives_nan_for_minus_infinity() -> None:
    x = np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [-np.inf, 0.0]])
    value, gradient = ps.split(lambda x: special.logsumexp(x, axis=1), x).joint().session()(x, np.ones(3))
    np.testing.assert_allclose(value, [1000 + np.log(2), -np.inf, 0])
    np.testing.assert_allclose(gradient, [[0.5, 0.5], [np.nan, np.nan], [0, 1]], atol=UNDERFLOW)


INF = np.inf
WEIGHTED: list[tuple[list[float], list[float], list[float]]] = [
    ([0, 1000], [1, 0], [1, 0]),
    ([-1000, -2], [1, 0], [1, 0]),
    ([INF, 0], [0, 1], [0, 1]),
    ([np.nan, 0], [0, 1], [0, 1]),
    ([0, 1000, 3], [1, 0, -0.5], [1 / (1 - np.exp(3) / 2), 0, -np.exp(3) / (2 - np.exp(3))]),
    ([0, 1], [0, 0], [np.nan, np.nan]),
    ([-INF, -INF], [1, 2], [np.nan, np.nan]),
    ([-INF, 0], [1, 2], [0, 1]),
]
"""Elements, their weights, and the gradient by algebra."""


@pytest.mark.parametrize(("a", "b", "slope"), WEIGHTED, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("is_traced", [False, True])
def test_an_element_without_weight_adds_nothing(a: Any, b: Any, slope: Any, dtype: str, is_traced: bool) -> None:
    a, b = np.array(a, dtype), np.array(b, dtype)

    def function(a: Any, weights: Any) -> Any:
        return scipy.special.logsumexp(a, b=weights if is_traced else b, return_sign=True)

    for found, wanted in zip(ps.trace(function, a, b)(a, b), function(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    gradient = ps.grad(lambda a, b: function(a, b)[0])(a, b)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5)
    np.testing.assert_array_equal(ps.grad(lambda a, b: function(a, b)[0] * 0.0)(a, b), np.zeros(a.shape))


def test_weights_that_are_zero_have_derivatives() -> None:
    """By algebra: of log(e + b) in b at 0 the slope is 1/e, and the second derivatives are 1/e and -1/e**2."""
    a, b = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    slope, (by_a, by_b) = ps.value_and_grad(
        lambda a, b: ps.grad(lambda b: scipy.special.logsumexp(a, b=b))(b)[1], wrt=(0, 1)
    )(a, b)
    e = np.exp(1.0)
    np.testing.assert_allclose(slope, 1 / e)
    np.testing.assert_allclose(by_a, [-1 / e, 1 / e])
    np.testing.assert_allclose(by_b, [-1 / e, -1 / e**2])
    assert ps.grad(lambda b: scipy.special.logsumexp(np.array([0.0, 1000.0]), b=b))(b)[1] == INF


def test_weights_widen_the_elements_and_choose_the_dtype() -> None:
    a, b = np.array([[0.5], [2.0]], np.float32), np.array([[1, 0, 2], [3, 1, 0]])
    expected = scipy.special.logsumexp(a, axis=1, b=b)
    found = ps.trace(lambda a: scipy.special.logsumexp(a, axis=1, b=b), ps.spec("float32", ["N", 1]))(a)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    z = np.array([1 + 2j, 1000 + 1j])
    found = ps.trace(lambda z: scipy.special.logsumexp(z, b=np.array([1.0, 0.0])), z)(z)
    np.testing.assert_allclose(found, 1 + 2j)


def test_the_gamma_function_of_many_dimensions_is_scipys() -> None:
    def function(a: Any) -> Any:
        return scipy.special.multigammaln(a, 3)

    check_grads(function, np.array([1.7, 2.4, 9.0]), symbolic=False)


@pytest.mark.parametrize("name", ["multigammaln", "polygamma"])
def test_what_scipy_gives_in_float64_has_that_dtype(name: str) -> None:
    x = np.array([1.7, 2.4, 9.0], np.float32)

    def function(a: Any) -> Any:
        return scipy.special.multigammaln(a, 2) if name == "multigammaln" else scipy.special.polygamma(2, a)

    value, gradient = ps.value_and_grad(lambda a: np.sum(function(a)))(x)
    assert (value.dtype, gradient.dtype) == (np.sum(function(x)).dtype, np.float32)
    np.testing.assert_allclose(value, np.sum(function(x)), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float16"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_shares_of_whole_numbers_have_the_dtype_of_their_exponentials(name: str, dtype: str) -> None:
    x, function = np.array([[1, -3, 2], [0, 5, 4]], dtype), getattr(scipy.special, name)
    wanted = function(x, axis=1)
    found = ps.trace(lambda x: getattr(scipy.special, name)(x, axis=1), x)(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if wanted.dtype == np.float16 else 1e-6)
