"""Reductions: values and dtypes against NumPy, gradients against central differences, ties and errors by hand."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError
from tests.numpy.agreement import check_agrees, check_grads, gapped

RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, Any] = {
    **{d: RANDOM.integers(-50, 50, (3, 4)).astype(d) for d in ("int8", "int16", "int32", "int64")},
    **{d: RANDOM.integers(0, 90, (3, 4)).astype(d) for d in ("uint8", "uint16", "uint32", "uint64")},
    **{d: RANDOM.standard_normal((3, 4)).astype(d) for d in ("float16", "float32", "float64")},
    "bool": RANDOM.random((3, 4)) < 0.6,
}
MASK = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 0, 1], [1, 1, 1, 1, 1]], bool)
HOLES = np.array([[0.5, np.nan, -1.0, 2.0], [np.inf, 1.0, np.nan, np.inf], [1.0, 3.0, 0.25, -np.inf]])

VALUES: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "sum along an axis": lambda x: x.sum(axis=-1, keepdims=True),
    "mean": lambda x: np.mean(x, 0),
    "prod": lambda x: np.prod(x, 1),
    "max": lambda x: np.max(x, 0),
    "min": lambda x: x.min(),
    "all": lambda x: np.all(x, 0),
    "any": lambda x: np.any(x, axis=1),
    "count_nonzero": np.count_nonzero,
    "sum of truth": lambda x: np.sum(x, 0, dtype=bool, initial=False),
    "prod of truth": lambda x: np.prod(x, 1, dtype=bool),
    "cumsum of truth": lambda x: np.cumsum(x, 1, dtype=bool),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", ARRAYS)
@pytest.mark.parametrize("name", VALUES)
def test_a_reduction_of_any_dtype_is_numpys(name: str, dtype: str) -> None:
    if (name, dtype) == ("prod", "float16"):
        pytest.skip("float16 products round at every step, in another order")
    check_agrees(VALUES[name], ARRAYS[dtype])


@pytest.mark.parametrize("name", VALUES)
def test_a_reduction_treats_nan_and_infinity_as_numpy_does(name: str) -> None:
    check_agrees(VALUES[name], HOLES)


EMPTY: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x, -1),
    "prod": lambda x: np.prod(x, -1),
    "mean": lambda x: np.mean(x, -1),
    "mean of all": np.mean,
    "var": lambda x: np.var(x, -1),
    "any": lambda x: np.any(x, -1),
    "all": np.all,
    "logsumexp": lambda x: np.logaddexp.reduce(x, axis=-1),
}


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 3), (3, 1), (0,)], ids=str)
@pytest.mark.parametrize("name", EMPTY)
def test_a_reduction_over_no_elements_or_one_is_numpys(name: str, shape: tuple[int, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_agrees(EMPTY[name], RANDOM.standard_normal(shape))


M, C = gapped(3, 5), gapped(2, 3, 5)
WITH_ZEROS = M.copy()
WITH_ZEROS[0, 1] = WITH_ZEROS[1, 0] = WITH_ZEROS[1, 1] = 0.0

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "sum": (np.sum, M),
    "sum over an axis": (lambda x: np.sum(np.sum(x * x, 0) ** 2), M),
    "sum over a tuple": (lambda x: np.sum(x, axis=(0, -1)), C),
    "sum over no axes": (lambda x: np.sum(x * x, axis=()), M),
    "sum where": (lambda x: np.sum(x, axis=1, where=MASK, initial=2.0), M),
    "mean": (lambda x: np.mean(x * x, (0, 2), keepdims=True), C),
    "mean of all": (np.mean, M),
    "mean where": (lambda x: np.mean(x * x, 0, where=MASK), M),
    "prod": (lambda x: np.prod(x, (0, 2), keepdims=True), C),
    "prod with one zero and with two": (lambda x: np.prod(x, 1), WITH_ZEROS),
    "prod where": (lambda x: np.prod(x, 0, where=MASK, initial=3.0), WITH_ZEROS),
    "max": (lambda x: np.max(x * x, 1, keepdims=True), M),
    "max where": (lambda x: np.max(x, 1, initial=0.5, where=MASK), M),
    "max from a traced number": (lambda x: np.max(x * x, 1, initial=x[0, 0], where=MASK), M),
    "min from a traced number": (lambda x: np.min(x, 0, initial=x[1, 1]), M),
    "sum where a list says so": (lambda x: np.sum(x * x, where=[[True], [False], [True]]), M),
    "mean where a list says so": (lambda x: np.mean(x * x, 1, where=[True, False, True, True, False]), M),
    "min": (lambda x: np.min(x, axis=(0, 1)), M),
    "amin": (lambda x: np.amin(x, 0), M),
    "ptp": (lambda x: np.ptp(x, 0), M),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_reduction_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [(np.max, [0, 0.5, 0.5, 0]), (lambda x: np.max(x, initial=3.0), [0, 0.25, 0.25, 0]), (np.min, [1, 0, 0, 0])],
)
def test_equal_extrema_share_the_gradient_evenly(function: Callable[[Any], Any], wanted: list[float]) -> None:
    np.testing.assert_array_equal(ps.grad(function)(np.array([1.0, 3.0, 3.0, 2.0])), wanted)


def test_the_pullback_of_a_sum_captures_the_shape_alone() -> None:
    made = ps.split(lambda x: np.sum(x, 0), ps.spec("float64", ["N", 3]))
    assert [made.split.kind(c) for c in made.captures] == ["shape"]
    assert ps.split(lambda x: np.sum(x, 0), ps.spec("float64", [4, 3])).captures == ()


def test_a_sum_is_written_to_the_array_given_as_out() -> None:
    def program(x: Any) -> Any:
        total = np.zeros_like(x[0])
        np.sum(x, axis=0, out=total)
        return total * 2

    check_grads(program, M)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_means_and_sums_in_an_integer_dtype_are_numpys(dtype: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5)) * 100
    x = np.abs(x) if dtype == "uint8" else x
    check_agrees(lambda x: np.mean(x, axis=1, dtype=dtype), x)
    check_agrees(lambda x: (np.mean(x, dtype=dtype), np.sum(x, axis=0, dtype=dtype), x.cumsum(0, dtype=dtype)), x)
    check_agrees(lambda x: np.mean(x, axis=0, dtype=dtype, where=x > 0), x)


@pytest.mark.parametrize("dtype", [d for d in ARRAYS if "int" in d] + ["bool", "float32"])
def test_extrema_of_none_begin_with_the_number_given_where_a_size_is_zero_at_run_time(dtype: str) -> None:
    def function(x: Any) -> Any:
        return np.max(x, 1, initial=1), np.min(x, 1, initial=1), np.max(x, initial=5), np.fmin.reduce(x, 1, initial=1)

    found = ps.trace(function, ps.spec(dtype, [2, "N"]))(np.zeros((2, 0), dtype))
    for each, wanted in zip(found, function(np.zeros((2, 0), dtype)), strict=True):
        np.testing.assert_array_equal(each, wanted, strict=True)


@pytest.mark.parametrize(
    ("function", "error", "told"),
    [
        (lambda x: np.sum(x, axis=2), ShapeError, "axis 2 is out of bounds for an array with 2 axes"),
        (lambda x: np.sum(x, axis=(0, 0)), ShapeError, "names an axis twice"),
        (lambda x: np.max(x[:0]), ShapeError, "np.max of no elements: the shape is [0,5]"),
        (lambda x: np.fmax.reduce(x[:, :0], axis=1), ShapeError, "np.nanmax of no elements: the shape is [3,0]"),
        (lambda x: np.max(x, where=x > 0), ShapeError, "needs initial="),
        (lambda x: np.var(x, dtype=np.int64), DtypeError, "in int64 is no"),
    ],
)
def test_a_reduction_that_cannot_be_is_one_error_at_the_users_line(
    function: Callable[[Any], Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as caught:
        ps.trace(function, M)
    assert told in str(caught.value)
    assert "test_reductions.py" in str(caught.value)


@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_sum_of_large_integers_is_exact_and_wraps(axis: Any, keepdims: bool) -> None:
    x = np.random.default_rng(0).integers(-(2**62), 2**62, (3, 4, 2))
    check_agrees(lambda x: np.sum(x, axis=axis, keepdims=keepdims), x)
    assert ps.trace(np.sum, ps.spec("int64", ["N"]))(np.zeros(0, np.int64)) == 0


NARROW = ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]


@pytest.mark.sweep(24)
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("size", [0, 1, 3, 32, 33, 1100])
def test_products_and_sums_of_integers_wrap(dtype: str, size: int) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(size).integers(limits.min, limits.max, (size, 2), dtype) | 1
    check_agrees(lambda x: (np.prod(x), x.prod(0), np.multiply.reduce(x, axis=(0, 1), keepdims=True)), x)
    check_agrees(lambda x: (x.prod(1, dtype=np.int32), x.sum(0, dtype=np.int32), x.sum(dtype=dtype)), x)
    check_agrees(lambda x: np.prod(x, 0, initial=7, where=x % 3 == 0), x)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", NARROW)
def test_sums_of_products_of_integers_wrap(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x, y = np.random.default_rng(0).integers(limits.min, limits.max, (2, 4, 4), dtype)
    check_agrees(lambda x, y: (np.vdot(x, y), np.inner(x, y), np.vecdot(x, y), x[0] @ y[0], np.dot(x, y)), x, y)
    check_agrees(lambda x, y: (np.einsum("ij,jk->i", x, y), np.einsum("ij->j", x), np.einsum("ii", y)), x, y)
    check_agrees(lambda x, y: (np.convolve(x[0], y[1]), np.multiply.reduceat(x, [0, 2], axis=1)), x, y)


def test_a_product_of_sizes_is_known_where_it_is_traced() -> None:
    def flat(x: Any) -> Any:
        return x.reshape(np.prod(x.shape)) * 1.0

    assert ps.trace(flat, ps.spec("float64", ["N", "M"])).block.results[0].type.shape is not None
    check_agrees(flat, np.ones((2, 3)))


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (3,)])
def test_an_extremum_of_no_flags_is_where_it_begins(shape: tuple[int, ...]) -> None:
    flags = np.ones(shape, bool)
    check_agrees(lambda x: (np.max(x, 0, initial=False), np.max(x, initial=True), np.min(x, 0, initial=False)), flags)
    check_agrees(
        lambda x: (np.min(x, initial=True), np.max(x, initial=False, where=~x), np.nanmin(x, initial=True)), flags
    )
