"""Variances, averages and covariances: values against NumPy, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_agrees, check_grads, gapped

M, V = gapped(3, 5), gapped(5)
POSITIVE, WEIGHTS = np.abs(gapped(3, 5)) + 0.3, np.abs(gapped(5)) + 0.2
MASK = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1]], bool)

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "var": (np.var, M),
    "var with ddof": (lambda x: np.var(x, 1, ddof=1), M),
    "var with correction": (lambda x: x.var((0, 1), ddof=0.5, keepdims=True), M),
    "var where": (lambda x: np.var(x, 1, where=MASK), M),
    "std": (lambda x: np.std(x, 0, keepdims=True), M),
    "std with ddof": (lambda x: x.std(ddof=1), M),
    "std where": (lambda x: np.std(x, 1, where=MASK, keepdims=True), M),
    "average": (lambda x, w: np.average(x, 1, weights=w), M, WEIGHTS),
    "average with a weight for each": (lambda x, w: np.average(x, weights=w), M, POSITIVE),
    "average and the weights' sum": (lambda x, w: np.average(x, 0, weights=w, returned=True), M, POSITIVE),
    "cov with weights": (lambda x, w: np.cov(x, rowvar=False, aweights=w), M, WEIGHTS[:3]),
    "cov of two": (lambda x, w: np.cov(x, w, bias=True), V, WEIGHTS),
    "corrcoef": (np.corrcoef, M),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")
def test_the_gradient_of_a_statistic_is_right_to_second_order(name: str) -> None:
    sizes = (1,) if name == "cov with weights" else (1, 0)  # NumPy refuses weights of nothing
    check_grads(*GRADIENTS[name], resize=sizes)


VALUES: dict[str, Callable[[Any], Any]] = {
    "var": lambda x: np.var(x, 1),
    "std": np.std,
    "std in float64": lambda x: np.std(x, 0, dtype=np.float64),
    "average": lambda x: np.average(x, 0),
    "average with weights of float32": lambda x: np.average(x, 0, weights=np.array([1, 2, 0.5], np.float32)),
    "cov of one variable": lambda x: np.cov(x[0], ddof=0),
    "cov with repeats": lambda x: np.cov(x, fweights=np.array([1, 2, 0, 3])),
}


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("name", VALUES)
def test_a_statistic_of_any_dtype_is_numpys(name: str, dtype: str) -> None:
    data = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 90, (3, 4)).astype(dtype)
    check_agrees(VALUES[name], data)


def test_the_gradient_of_a_standard_deviation_of_equal_numbers_is_zero() -> None:
    np.testing.assert_array_equal(ps.grad(np.std)(np.full(4, 1.5)), np.zeros(4))


def test_a_variance_is_recorded_by_name_and_its_gradient_takes_no_mean_of_deviations() -> None:
    program = ps.trace(lambda x: np.var(x, axis=1, ddof=np.int64(1)) + x.std(axis=1), ps.spec("float64", ["N", 5]))
    listed = program.listing()
    assert "= var(x, axis=1, ddof=1)" in listed
    assert "= safe_root(" in listed
    split = ps.split(lambda x: np.var(x), M)
    assert not [op.kind for op in split.pullback.ops if op.kind in {"ReduceMean", "ReduceSum"}]


def test_weights_that_fit_no_axis_are_one_error_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="weights with 1 axes for an average over 2 of 2 axes") as caught:
        ps.trace(lambda x, w: np.average(x, weights=w), M, WEIGHTS)
    assert "test_statistics.py" in str(caught.value)
