"""Sorting, searching and counting: values against NumPy, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_agrees, check_grads, gapped

M, V = gapped(3, 5), gapped(5)
HOLES = np.array([[0.5, np.nan, -1.0, 2.0], [np.inf, 1.0, np.nan, np.inf], [np.inf, np.nan, 0.25, -np.inf]])
RANDOM = np.random.default_rng(5)

VALUES: dict[str, Callable[[Any], Any]] = {
    "sort": np.sort,
    "sort flat": lambda x: np.sort(x, None),
    "argsort": lambda x: np.argsort(x, 0, stable=True),
    "argmax": lambda x: np.argmax(x, 1),
    "argmax flat": lambda x: np.argmax(x, keepdims=True),
    "argmin": np.argmin,
    "nonzero": np.nonzero,
    "flatnonzero": np.flatnonzero,
    "argwhere": np.argwhere,
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "uint8", "uint16", "uint32", "float16", "float64", "bool"])
@pytest.mark.parametrize("name", VALUES)
def test_an_order_of_any_dtype_is_numpys_ties_included(name: str, dtype: str) -> None:
    check_agrees(VALUES[name], RANDOM.integers(0, 4, (6, 5)).astype(dtype))


@pytest.mark.parametrize("name", VALUES)
def test_nan_comes_last_or_is_found_first_as_in_numpy(name: str) -> None:
    check_agrees(VALUES[name], HOLES)


@pytest.mark.parametrize("name", ["sort", "argsort", "nonzero", "argwhere"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)], ids=str)
def test_an_order_of_no_elements_is_numpys(name: str, shape: tuple[int, ...]) -> None:
    check_agrees(VALUES[name], np.zeros(shape))


@pytest.mark.parametrize("number", [np.float64(2.0), np.float64(0.0)])
def test_a_number_has_no_index_and_one_axis_where_numpy_says_so(number: Any) -> None:
    check_agrees(np.argwhere, number)
    check_agrees(np.ascontiguousarray, number)
    check_agrees(lambda x: np.asfortranarray(x + 1j), number)


def test_integers_too_large_for_a_float_are_ordered_exactly() -> None:
    data = np.array([2**62 + 1, 2**62, -(2**62), 2**62 + 2])
    check_agrees(np.sort, data)
    check_agrees(np.argmax, data)


def test_lexsort_partition_and_array_equiv_are_numpys() -> None:
    a, b = RANDOM.integers(0, 3, 20), RANDOM.integers(0, 4, 20)
    check_agrees(lambda x, y: np.lexsort((x, y)), a, b)
    check_agrees(lambda x: np.sort(np.partition(x, 3)), a)
    check_agrees(lambda x: x[np.argpartition(x, 3)][3], a)
    check_agrees(lambda x: np.array_equiv(x, x[:1]), np.ones((3, 2)))


def test_unique_gives_values_places_and_counts() -> None:
    check_agrees(
        lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
        RANDOM.integers(0, 5, (3, 4)),
    )


@pytest.mark.sweep(3)
@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_unique_puts_nan_last_and_takes_it_for_one_value_if_asked(dtype: str, equal_nan: bool) -> None:
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "equal_nan": equal_nan}
    for values in (HOLES, HOLES[:, :1], HOLES[:0], np.array([2.0, np.nan, 1.0, 2.0, np.nan, -0.0, 0.0])):
        check_agrees(lambda x: np.unique(x, **options), values.astype(dtype))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_unique_takes_every_integer_and_truth_values(dtype: str) -> None:
    given = np.array([[3, 0, 3], [1, 0, 200]]).astype(dtype)
    given[0, 0] = True if dtype == "bool" else np.iinfo(dtype).max
    check_agrees(lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True), given)
    check_agrees(lambda x: np.unique(x, axis=0), given, symbolic=False)


@pytest.mark.parametrize(("shape", "axis"), [((2, 0), 0), ((2, 0), 1), ((0, 2), 0), ((2, 3, 0), 1), ((2, 3, 2), 1)])
def test_unique_of_rows_without_elements_is_one_row(shape: tuple[int, ...], axis: int) -> None:
    options = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
    check_agrees(lambda x: np.unique(x, **options), RANDOM.integers(0, 2, shape).astype(float))


TABLE = np.sort(RANDOM.standard_normal(100))
WANTED = np.concatenate([RANDOM.standard_normal(20), TABLE[:5], [np.inf, -np.inf]]).reshape(3, 9)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 9, 64, 65, 100])
def test_searchsorted_is_numpys(size: int, side: Any) -> None:
    check_agrees(lambda t, v: np.searchsorted(t, v, side), TABLE[:size], WANTED)
    missing = np.where(WANTED > 1.0, np.nan, WANTED)
    check_agrees(lambda t, v: np.searchsorted(t, v, side), np.append(TABLE[:size], [np.inf, np.nan, np.nan]), missing)
    flags = np.arange(size) > 3
    check_agrees(lambda t, v: np.searchsorted(t, v, side), flags, np.array([True, False]))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("step", [1, -1])
def test_digitize_takes_bins_that_rise_or_fall(step: int, right: bool) -> None:
    bins = TABLE[:9][::step].copy()
    check_agrees(lambda x, b: np.digitize(x, b, right=right), WANTED, bins)
    check_agrees(lambda x: np.digitize(x, bins, right=right), np.where(WANTED > 1.0, np.nan, WANTED))


GRADIENTS: dict[str, tuple[Any, ...]] = {
    "sort": (lambda x: np.sort(x**3), M),
    "sort along the first axis": (lambda x: np.sort(x, 0), M),
    "sort flat": (lambda x: np.sort(x, None), M),
    "argsort and take": (lambda x: np.take_along_axis(x * x, np.argsort(x, 1), 1), M),
    "unique": (lambda x: np.unique(x**3), M),
    "unique rows": (lambda x: np.unique(x**3, axis=0), M),
    "unique columns": (lambda x: np.unique(x**3, axis=-1), M),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_an_order_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


def test_sorting_in_place_changes_the_array() -> None:
    def program(x: Any) -> Any:
        y = x.copy()
        y.sort()
        return y * np.arange(5.0)

    check_grads(program, V)


def test_the_gradient_of_a_value_that_occurs_twice_goes_to_its_first_occurrence() -> None:
    gradient = ps.grad(lambda x: np.sum(np.unique(x) * np.array([1.0, 10.0])))(np.array([3.0, 2.0, 3.0]))
    np.testing.assert_array_equal(gradient, [10, 1, 0])


def test_unique_of_a_dtype_that_onnx_lacks_is_refused_at_the_users_line() -> None:
    with pytest.raises(UnsupportedFunction, match="unique has no form for bfloat16") as caught:
        ps.trace(np.unique, ps.spec("bfloat16", [3]))
    assert "no form" in str(caught.value)
