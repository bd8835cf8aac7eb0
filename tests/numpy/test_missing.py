"""Reductions that pass over NaN: values against NumPy, gradients against central differences and by hand."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.numpy.agreement import check_agrees, check_grads, gapped

HOLES = np.array([[0.5, np.nan, -1.0, 2.0], [np.nan, 1.0, np.nan, 4.0], [np.nan, 3.0, 0.25, -2.0]])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "nansum": lambda x: np.nansum(x, 0),
    "nanprod": lambda x: np.nanprod(x, 1),
    "nanmean": lambda x: np.nanmean(x, 0),
    "nanmax": lambda x: np.nanmax(x, 0),
    "nanmin": lambda x: np.nanmin(x, 1),
    "nanvar": lambda x: np.nanvar(x, 0, ddof=1),
    "nanmean of some": lambda x: np.nanmean(x, 1, where=np.arange(x.shape[1]) % 2 == 0),
    "nanstd of some": lambda x: np.nanstd(x, 1, where=np.abs(x) < 9),
    "nanstd": lambda x: np.nanstd(x, 1, keepdims=True),
    "nanmax of some": lambda x: np.nanmax(x, 0, initial=-1.5, where=np.arange(x.shape[1]) % 2 == 0),
    "nanmin from a number": lambda x: np.nanmin(x, 1, initial=0.75, keepdims=True),
    "nanvar about a point": lambda x: np.nanvar(x, 1, mean=np.nanmin(x, 1, keepdims=True), correction=1),
    "fmin.reduce of some": lambda x: np.fmin.reduce(x, axis=1, initial=9.0, where=np.abs(x) < 3),
    "fmax.reduce": lambda x: np.fmax.reduce(x, axis=1),
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "nanargmax": lambda x: np.nanargmax(x, 0),
    "nanargmin": lambda x: np.nanargmin(x, 1),
}


@pytest.mark.parametrize("name", {**FUNCTIONS, **PLACES})
def test_nan_is_passed_over_as_in_numpy(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_agrees({**FUNCTIONS, **PLACES}[name], HOLES)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
def test_the_gradient_without_nan_is_right_to_second_order(name: str) -> None:
    check_grads(FUNCTIONS[name], gapped(3, 5))


def test_the_gradient_of_an_element_that_is_nan_is_zero() -> None:
    gradient = ps.grad(lambda x: np.nanmean(x * x))(np.array([1.0, np.nan, 3.0]))
    np.testing.assert_array_equal(gradient[[0, 2]], [1, 3])
    np.testing.assert_array_equal(ps.grad(np.nansum)(np.array([1.0, np.nan])), [1, 0])
    np.testing.assert_array_equal(ps.grad(np.nanmax)(np.array([1.0, np.nan])), [1, 0])


@pytest.mark.parametrize("function", [np.nanmax, np.nanmin, np.nanmean, np.nanvar, np.nanstd])
def test_the_gradient_of_nothing_but_nan_is_nan(function: Any) -> None:
    x = np.array([[np.nan, np.nan], [1.0, np.nan], [2.0, 5.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = ps.grad(lambda x: np.sum(function(x, axis=1)))(x)
        left_out = ps.grad(lambda x: np.nansum(function(x, axis=1)))(x)
    assert np.isnan(gradient).tolist() == [[True, True], [False, False], [False, False]]
    np.testing.assert_array_equal(left_out[0], [0.0, 0.0])


@pytest.mark.parametrize("function", [np.nanargmax, np.nanargmin])
def test_the_place_of_what_is_only_nan_fails_as_in_numpy(function: Callable[..., Any]) -> None:
    program = ps.trace(lambda x: function(x, axis=1), ps.spec("float64", ["M", "N"]))
    with pytest.raises(RunError, match="raises ValueError: All-NaN slice encountered") as caught:
        program(np.array([[1.0, 2.0], [np.nan, np.nan]]))
    assert "test_missing.py" in str(caught.value)
    assert program(np.zeros((0, 2))).shape == (0,)
