"""Medians and quantiles: values against NumPy, gradients against central differences."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.numpy.quantiles import METHODS
from tests.numpy.agreement import check_agrees, check_grads, gapped

M, C = gapped(3, 5), gapped(2, 3, 5)
HOLES = np.array([[0.5, np.nan, -1.0, 2.0], [np.inf, 1.0, np.nan, 4.0], [1.0, 3.0, 0.25, -2.0]])

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "median": (lambda x: np.median(x**3, 1), M),
    "median of an even number": (lambda x: np.median(x, 0, keepdims=True), gapped(4, 3)),
    "median over two axes": (lambda x: np.median(x, (0, 2)), C),
    "quantile": (lambda x: np.quantile(x**3, 0.3), M),
    "quantiles": (lambda x: np.quantile(x, [[0.1, 0.5], [0.95, 1.0]], axis=(0, 2), keepdims=True), C),
    "percentile": (lambda x: np.percentile(x, 30, axis=0), M),
    "percentiles": (lambda x: np.percentile(x, [30.0, 70], axis=0, keepdims=True), M),
    "quantile in q": (lambda x, q: np.quantile(x**3, q, axis=1), M, np.array([0.13, 0.47])),
    "nanmedian": (lambda x: np.nanmedian(x**3, 1), M),
    **{m: (lambda x, m=m: np.quantile(x, [0, 0.1, 0.2, 0.33, 0.5, 0.7, 1], axis=1, method=m), M) for m in METHODS},
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_quantile_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_a_quantile_of_any_dtype_is_numpys(dtype: str) -> None:
    data = (np.random.default_rng(2).standard_normal((3, 4)) * 20).astype(dtype)
    check_agrees(lambda x: np.median(x, 0), data)
    check_agrees(lambda x: np.quantile(x, 0.33, axis=1), data)
    check_agrees(lambda x: np.percentile(x, [10, 20.0]), data)
    check_agrees(lambda x: np.quantile(x, [0.3, 0.6], axis=0, method="lower"), data)


def test_the_median_of_float16_is_numpys() -> None:
    check_agrees(lambda x: np.median(x, 0), np.array([[60000, 1], [64000, 2]], np.float16))


def test_nan_makes_a_quantile_nan_or_is_left_out() -> None:
    check_agrees(lambda x: np.median(x, 1), HOLES)
    check_agrees(lambda x: np.quantile(x, [0.2, 0.9], axis=1), HOLES)
    check_agrees(lambda x: np.nanmedian(x, 1), HOLES)
    check_agrees(lambda x: np.nanquantile(x, [0.2, 0.9], axis=1), HOLES)
    check_agrees(lambda x: np.nanpercentile(x, 20), HOLES)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 3), (3, 1), (0,)], ids=str)
def test_the_median_of_no_elements_is_nan(shape: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_agrees(lambda x: np.median(x, -1), np.ones(shape))
        check_agrees(np.median, np.ones(shape))
        check_agrees(lambda x: np.nanmedian(x, -1), np.ones(shape, int))


def test_a_quantile_outside_its_range_is_one_error_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="between 0 and 1") as caught:
        ps.trace(lambda x: np.quantile(x, 1.5), M)
    assert "test_quantiles.py" in str(caught.value)
    with pytest.raises(ShapeError, match="is no method"):
        ps.trace(lambda x: np.quantile(x, 0.5, method="cubic"), M)


WEIGHTED: dict[str, Callable[[Any, Any], Any]] = {
    "quantile": lambda x, w: np.quantile(x, [0.0, 0.3, 0.7], axis=1, weights=w, method="inverted_cdf"),
    "quantile of all": lambda x, w: np.quantile(x, 0.4, weights=w, method="inverted_cdf", keepdims=True),
    "percentile by a vector": lambda x, w: np.percentile(x, 60, axis=0, weights=w[:, 0], method="inverted_cdf"),
    "nanquantile": lambda x, w: np.nanquantile(x, [0.2, 1], axis=(1, 0), weights=w, method="inverted_cdf"),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weighted_quantile_is_numpys_with_the_gradient_of_what_it_chooses(name: str) -> None:
    w = np.random.default_rng(1).integers(0, 4, M.shape) + np.eye(*M.shape)
    check_agrees(WEIGHTED[name], M, w)
    check_grads(lambda x: WEIGHTED[name](x, w), M, symbolic=False)
    with_nan = np.where(np.eye(*M.shape) > 0, np.nan, M)
    check_agrees(WEIGHTED[name], with_nan, w)


def test_a_run_of_weights_that_are_all_zero_fails_as_numpy_does() -> None:
    function, x = WEIGHTED["quantile"], M.copy()
    with pytest.raises(ValueError, match="all zero"):
        function(x, np.zeros_like(x))
    with pytest.raises(ps.PrimsplitError, match=r"test_quantiles\.py"):
        ps.trace(function, x, x)(x, np.zeros_like(x))
    with pytest.raises(ValueError, match="inverted_cdf"):
        ps.trace(lambda x: np.quantile(x, 0.5, weights=x), x)


GAPS = np.array([[1.0, np.nan, 3.0, 4.0], [4.0, 1.0, 2.0, 7.0], [np.nan] * 4])


@pytest.mark.parametrize(
    ("f", "is_missing"),
    [
        (lambda x: np.median(x, axis=1), [True, False, True]),
        (lambda x: np.percentile(x, 30.0, axis=1), [True, False, True]),
        (lambda x: np.quantile(x, [0.2, 0.6], axis=1), [True, False, True]),
        (lambda x: np.quantile(x, 0.5, axis=1, method="lower"), [True, False, True]),
        (lambda x: np.nanmedian(x, axis=1), [False, False, True]),
        (lambda x: np.nanquantile(x, 0.3, axis=1), [False, False, True]),
    ],
)
def test_the_gradient_of_a_missing_quantile_is_nan_in_all_of_its_slice(f: Any, is_missing: list[bool]) -> None:
    gradient = ps.grad(lambda x: np.sum(f(x)))(GAPS)
    np.testing.assert_array_equal(np.isnan(gradient), np.broadcast_to(np.array(is_missing)[:, None], GAPS.shape))
    left_out = ps.grad(lambda x: np.nansum(f(x)))(GAPS)
    np.testing.assert_array_equal(left_out, np.where(np.isnan(gradient), 0.0, gradient))


def test_a_missing_quantile_has_no_slope_by_its_place() -> None:
    gradient = ps.grad(lambda q: np.sum(np.quantile(GAPS[:2], q, axis=1) * np.array([[1.0, 0.0], [0.0, 1.0]])))
    slopes = gradient(np.array([0.1, 0.4]))
    np.testing.assert_array_equal(slopes, [np.nan, 6.0])  # 0.4 is between 2 and 4: 3 times their distance
