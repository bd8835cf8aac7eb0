"""Sets of numbers: values against NumPy, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads

RANDOM = np.random.default_rng(2)
A, B = np.array([[0.5, 2.0, 0.5], [-1.0, 3.5, 2.0]]), np.array([2.0, 7.0, 0.5, 7.0])

SETS: dict[str, Callable[..., Any]] = {
    "isin": np.isin,
    "isin, invert": lambda a, b: np.isin(a, b, invert=True),
    "union1d": np.union1d,
    "intersect1d": np.intersect1d,
    "intersect1d with indices": lambda a, b: np.intersect1d(a, b, return_indices=True),
    "setdiff1d": np.setdiff1d,
    "setdiff1d of unique numbers": lambda a, b: np.setdiff1d(np.unique(a)[::-1], b, assume_unique=True),
    "setxor1d": np.setxor1d,
}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("name", SETS)
def test_a_set_operation_of_any_dtype_is_numpys(name: str, dtype: str) -> None:
    a, b = RANDOM.integers(0, 9, (3, 4)).astype(dtype), RANDOM.integers(4, 12, 70).astype(dtype)
    check_agrees(SETS[name], b, a, symbolic=False)
    check_agrees(SETS[name], a, b)


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (1, 1)], ids=str)
def test_a_set_operation_of_few_numbers_is_numpys(name: str, sizes: tuple[int, int]) -> None:
    check_agrees(SETS[name], np.arange(float(sizes[0])), np.arange(float(sizes[1])))


def test_membership_of_bools_of_mixed_dtypes_and_of_nan_is_numpys() -> None:
    check_agrees(np.isin, np.array([True, False, True]), np.array([True]))
    check_agrees(np.isin, np.array([1, 2, 3]), np.array([2.0, 3.5]))
    check_agrees(np.isin, np.array([1.0, np.nan, np.inf]), np.array([np.nan, np.inf]))
    check_agrees(lambda a: np.isin(a, [2, 3]), np.array(3))


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_the_gradient_of_a_set_operation_goes_back_to_its_arrays(name: str) -> None:
    check_grads(lambda a, b: SETS[name](a, b) ** 2, np.unique(A), np.array([0.4, 7.0, 4.0]))


def test_membership_chooses_what_has_a_gradient() -> None:
    check_grads(lambda a: np.where(np.isin(np.round(a), [2.0, 4.0]), a * a, a), A + 0.07)


def test_the_kinds_of_unique_are_numpys() -> None:
    for function in (np.unique_all, np.unique_counts, np.unique_inverse):
        check_agrees(lambda a, f=function: tuple(f(a)), A)
        check_agrees(lambda a, f=function: f(a).values * 2, A)
        check_agrees(lambda a, f=function: tuple(f(a)), np.array([2.0, np.nan, 1.0, np.nan]))
    check_agrees(lambda a: np.sort(np.unique_values(a)), A)


@pytest.mark.parametrize("name", SETS)
def test_nan_in_a_set_is_numpys(name: str) -> None:
    check_agrees(SETS[name], np.array([np.nan, 1.0, np.nan, 0.5]), np.array([2.0, 1.0, np.nan]))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("function", [np.unique_all, np.unique_counts, np.unique_inverse])
def test_the_gradient_of_unique_numbers_goes_to_their_first_occurrence(function: Any) -> None:
    check_grads(lambda a: function(a).values ** 2, B[:2])
    check_grads(lambda a: np.unique_values(a) ** 2, B[:2])
