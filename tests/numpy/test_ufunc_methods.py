"""reduce, accumulate, reduceat and outer: values against NumPy, gradients against central differences."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from tests.every_size import check_every_size
from tests.numpy.agreement import check_agrees, check_grads, gapped
from tests.versions import UNDERFLOW

M, V, W = gapped(3, 5), gapped(5), np.abs(gapped(4)) + 0.2

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "add.reduce": (lambda x: np.add.reduce(x * x), M),
    "multiply.reduce": (lambda x: np.multiply.reduce(x, 0), M),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, 1), M),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x, axis=1), M),
    "logaddexp.reduce over all": (lambda x: np.logaddexp.reduce(x, axis=None), M),
    "add.accumulate": (lambda x: np.add.accumulate(x, 1), M),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x, 1), M),
    "multiply.outer": (np.multiply.outer, V, W),
    "subtract.outer": (np.subtract.outer, M, W),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_ufuncs_method_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "add", "maximum"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
def test_a_ufuncs_reduce_of_any_dtype_is_numpys(name: str, dtype: str) -> None:
    check_agrees(lambda x: getattr(np, name).reduce(x, axis=1), np.array([[1, 0, 1], [1, 1, 1]]).astype(dtype))
    if name == "add":
        check_agrees(lambda x: np.add.reduce(x, dtype=np.int32), np.array([[1, 0, 1], [1, 1, 1]]).astype(dtype))


def test_a_stable_logsumexp_has_no_overflow_and_no_nan() -> None:
    x = np.array([[1000.0, 999.0], [-np.inf, -np.inf], [-np.inf, 3.0]])
    value, gradient = ps.value_and_grad(lambda x: np.sum(np.logaddexp.reduce(x, axis=1)[::2]))(x)
    np.testing.assert_allclose(value, 1000 + np.log1p(np.exp(-1)) + 3)
    share = 1 / (1 + np.exp(-1))
    np.testing.assert_allclose(gradient, [[share, 1 - share], [0, 0], [0, 1]], rtol=1e-12, atol=UNDERFLOW)


def test_a_start_that_is_out_of_bounds_is_refused_as_in_numpy() -> None:
    with pytest.raises(IndexError, match="out of bounds in np"):
        ps.trace(lambda x: np.add.reduceat(x, [0, 3]), np.zeros(3))


def test_logical_or_accumulates_truth_values() -> None:
    x = np.array([0, 2, 0])
    found = ps.trace(lambda x: np.logical_or.accumulate(x), x)(x)
    np.testing.assert_array_equal(found, np.logical_or.accumulate(x), strict=True)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum])
def test_starts_of_reduceat_may_be_known_only_at_run_time(ufunc: np.ufunc) -> None:
    check_every_size(lambda x, i: ufunc.reduceat(x, i), "N 2", "places M")
    check_every_size(lambda x, i: ufunc.reduceat(x, i, axis=1), "2 N", "places 3", sizes=(1, 3, 4))


def test_a_start_of_reduceat_that_is_out_of_bounds_fails_in_the_run() -> None:
    program = ps.trace(lambda x, i: np.add.reduceat(x, i), ps.spec("float64", ["N"]), ps.spec("int64", [1]))
    for start in (-1, 3):
        with pytest.raises(ps.PrimsplitError):
            program(np.ones(3), np.array([start]))


def test_reduceat_of_starts_known_only_at_run_time_is_one_error_at_the_users_line() -> None:
    with pytest.raises(ConcretizationError, match="reduceat needs known starts") as caught:
        ps.trace(np.subtract.reduceat, ps.spec("float64", ["N"]), ps.spec("int64", [2]))
    assert "test_ufunc_methods.py" in str(caught.value)


def test_what_cannot_be_reordered_is_reduced_along_one_axis_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="not reorderable"):
        ps.trace(lambda x: np.subtract.reduce(x, axis=(0, 1)), M)


def test_a_number_in_an_outer_product_is_an_array() -> None:
    check_agrees(lambda x: (np.multiply.outer(x, 2.5), np.add.outer(1, x)), np.arange(3, dtype=np.float32))
    check_agrees(lambda x: np.subtract.outer(x, 300), np.arange(3, dtype=np.int8))
