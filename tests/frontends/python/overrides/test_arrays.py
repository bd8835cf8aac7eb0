"""Functions of NumPy that do not dispatch on a size or an array that is traced."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.overrides import arrays
from primsplit.testing import check_grads
from primsplit.tracing.array import FUNCTIONS

X = np.array([0.7, 1.9, -0.4])
TABLE = np.array([0.5, -1.0, 2.0, 0.25])


def made_by_size(x: Any) -> Any:
    n = x.shape[0]
    y = np.zeros(n) + np.arange(n) + np.linspace(0.0, 1.0, n) + np.eye(n).sum(axis=0) + np.full((2, n), 3.0)[1]
    y[0] = x[0]
    return y * x / len(x) + np.tri(n) @ x


def weighted_by_rank(x: Any) -> Any:
    return np.arange(len(x)) * np.sort(x) + np.repeat(TABLE[:1], len(x))


@pytest.mark.parametrize("function", [made_by_size, weighted_by_rank])
def test_arrays_of_a_size_that_only_the_run_knows_are_made(function: Callable[[Any], Any]) -> None:
    check_grads(function, X, resize=(1, 2, 5))


def test_an_array_of_a_size_that_only_the_run_knows_is_iterable() -> None:
    program = ps.trace(lambda x: np.sum(x) if np.iterable(x) else x, ps.spec("float64", ["N"]))
    assert program(X) == np.sum(X)
    assert not ps.trace(lambda x: x * np.iterable(x), ps.spec("float64", []))(2.0)


def pairs_of_points(points: Any) -> Any:
    """The sum over pairs of points, however many there are."""
    i, j = np.triu_indices(len(points), k=1)
    apart = np.sqrt(((points[i] - points[j]) ** 2).sum(axis=-1))
    between = points @ points.T
    between[np.diag_indices_from(between)] = 2.0
    between[np.diag_indices(len(points))] += 1.0
    below = between[np.tril_indices(len(points), -1)] + between[np.tril_indices_from(between, -1)]
    return np.sum(1.0 / apart) + np.sum(between) + np.sum(below**2) + between[np.triu_indices_from(between)].sum()


def test_indices_of_triangles_and_diagonals_are_made_for_any_size() -> None:
    made = ps.split(pairs_of_points, ps.spec("float64", ["N", 3])).joint()
    for n in (0, 1, 2, 5):
        points = np.random.default_rng(n).normal(size=(n, 3))
        value, gradient = made(points)
        np.testing.assert_allclose(value, pairs_of_points(points), rtol=1e-12)
        assert gradient.shape == points.shape
    check_grads(pairs_of_points, np.random.default_rng(1).normal(size=(4, 3)), symbolic=False, order=1)
    with pytest.raises(ps.PrimsplitError, match="of equal length"):
        ps.trace(lambda x: x[np.diag_indices_from(x)], np.ones((2, 3)))


def test_python_numbers_in_brackets_give_way_to_the_arrays_dtype() -> None:
    def f(x: Any) -> Any:
        return np.r_[-np.inf, x, 1, x[0]]

    for dtype in (np.float32, np.float64):
        x = X.astype(dtype)
        found = ps.trace(f, x)(x)
        assert found.dtype == f(x).dtype == dtype
        np.testing.assert_array_equal(found, f(x))


def test_the_special_functions_of_numpy_are_all_named() -> None:
    """The table of substitutes does not import the modules that record them."""
    special = {f for f, recorded in FUNCTIONS.items() if recorded.__module__.startswith("primsplit.special.")}
    assert {f for f in special if callable(f)} == {*arrays.SPECIAL}


def test_a_special_function_of_numpy_takes_a_list_of_traced_numbers() -> None:
    check_grads(lambda x: np.sum(np.i0([x[0], x[1]])), X)


def test_where_a_function_writes_is_noted_without_keeping_the_function() -> None:
    """Substitutes were kept for ever, each with the conversion that it is of: 0.2 MB a converted function."""

    def scaled(x: Any, out: Any = None) -> Any:
        return np.multiply(x, 2.0, out=out)

    places = [arrays.place_of_out(f) for f in (scaled, np.multiply, np.sum, np.put, len)]
    assert places == [1, 2, 3, 0, np.inf]
    held = weakref.ref(scaled)
    del scaled
    gc.collect()
    assert held() is None
