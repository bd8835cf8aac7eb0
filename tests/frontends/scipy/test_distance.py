"""scipy.spatial.distance: SciPy's values by its own names on traced arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance as scipys

import primsplit as ps
from primsplit.frontends.scipy import distance
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads
from tests.numpy.agreement import gapped

random = np.random.default_rng(4)
A, B = np.abs(gapped(4, 5, seed=1)) + 0.4, np.abs(gapped(3, 5, seed=2)) + 0.5
INVERSE = np.eye(5) + 0.2
METRICS: dict[str, dict[str, Any]] = {
    "braycurtis": {}, "canberra": {}, "chebyshev": {}, "cityblock": {}, "correlation": {}, "cosine": {},
    "euclidean": {}, "jensenshannon": {}, "mahalanobis": {"VI": INVERSE}, "minkowski": {"p": 3},
    "seuclidean": {"V": np.array([0.5, 1.0, 2.0, 0.7, 1.5])}, "sqeuclidean": {},
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", METRICS)
def test_distances_of_rows_are_scipys_with_gradients(name: str) -> None:
    options = METRICS[name]

    def f(a: Any, b: Any, *values: Any) -> Any:
        named = dict(zip(options, values, strict=True))
        return scipys.cdist(a, b, name, **named), scipys.pdist(a, metric=name, **named)

    smallest = 2 if name == "jensenshannon" else 1  # of one element it is 0, and SciPy's NaN beside
    check_grads(f, A, B, *options.values(), value_tolerance=1e-11, resize=(smallest,))
    np.testing.assert_allclose(distance.cdist(A, B, name, **options), f(A, B, *options.values())[0], rtol=1e-11)


@pytest.mark.parametrize("name", METRICS)
def test_the_distance_of_two_vectors_is_scipys_with_gradients(name: str) -> None:
    function, options = getattr(scipys, name), METRICS[name]
    check_grads(lambda a, b, *given: function(a, b, *given), A[0], B[0], *options.values())


@pytest.mark.parametrize("name", ["cityblock", "euclidean", "sqeuclidean", "minkowski", "chebyshev", "cosine"])
def test_weights_are_scipys(name: str) -> None:
    w = np.array([0.5, 2.0, 1.5, 1.0, 0.8])

    def f(a: Any, b: Any) -> Any:
        return getattr(scipys, name)(a[0], b[0], w=w)

    np.testing.assert_allclose(ps.trace(f, A, B)(A, B), f(A, B), rtol=1e-11)


@pytest.mark.parametrize("name", ["seuclidean", "mahalanobis"])
def test_what_is_not_given_is_computed_of_all_rows(name: str) -> None:
    several = random.random((9, 5))

    def f(a: Any, b: Any) -> Any:
        return scipys.cdist(a, b, name)

    np.testing.assert_allclose(ps.trace(f, several, B)(several, B), f(several, B), rtol=1e-10)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_matrix_of_distances_and_back(count: int) -> None:
    a = A[:count]

    def f(a: Any) -> Any:
        return np.sin(scipys.squareform(scipys.pdist(a))) @ a

    np.testing.assert_allclose(ps.trace(f, a)(a), f(a), rtol=1e-12)
    check_grads(f, a, order=2)
    matrix = scipys.squareform(scipys.pdist(A))
    np.testing.assert_array_equal(ps.trace(lambda m: scipys.squareform(m), matrix)(matrix), scipys.squareform(matrix))


def test_equal_rows_have_no_gradient() -> None:
    for name in ("euclidean", "mahalanobis", "minkowski"):
        slope = ps.grad(lambda a, name=name: np.sum(scipys.cdist(a, a, name, **METRICS[name])))(A)
        assert np.isfinite(slope).all()


def test_mahalanobis_by_a_matrix_that_is_not_positive_definite_is_nan() -> None:
    inverse = np.diag([1.0, -2.0])

    def by_pair(x: Any, m: Any) -> Any:
        return scipys.mahalanobis(x, np.zeros(2), m)

    def by_rows(x: Any, m: Any) -> Any:
        return scipys.cdist(x[None], np.zeros((1, 2)), "mahalanobis", VI=m)[0, 0]

    for f in (by_pair, by_rows):
        value, slopes = ps.value_and_grad(f, wrt=(0, 1))(np.ones(2), inverse)
        assert np.isnan(value)
        assert all(np.isnan(slope).all() for slope in slopes)
        np.testing.assert_allclose(ps.grad(f)(np.array([3.0, 1.0]), inverse), np.array([3.0, -2.0]) / np.sqrt(7.0))
        np.testing.assert_array_equal(ps.grad(f)(np.zeros(2), inverse), 0.0)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_one_file_serves_any_number_of_rows(size: int) -> None:
    program = ps.trace(lambda a: (scipys.cdist(a, B), scipys.pdist(a)), ps.spec("float64", ["N", 5]))
    found = program(A[:size])
    np.testing.assert_allclose(found[0], scipys.cdist(A[:size], B), rtol=1e-12)
    assert found[1].shape == (size * (size - 1) // 2,)


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    for error, told, function in (
        (UnsupportedFunction, "metric='yule'", lambda a: scipys.cdist(a, B, "yule")),
        (ShapeError, "two axes", lambda a: scipys.pdist(a[0])),
        (ShapeError, "5 pairs", lambda a: scipys.squareform(a.ravel()[:5])),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, A)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__
