"""Running sums, products and maxima, and differences: values against NumPy, gradients against central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_agrees, check_grads, gapped

M, C, V = gapped(3, 5), gapped(2, 3, 5), gapped(5)
WIDTHS, UNEVEN = np.abs(gapped(5)) + 0.2, np.array([0.0, 0.6, 1.5, 2.5, 3.2])
WITH_ZEROS = M.copy()
WITH_ZEROS[0, 1] = WITH_ZEROS[1, 0] = WITH_ZEROS[1, 1] = 0.0

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "cumsum": (np.cumsum, M),
    "cumsum along the last axis": (lambda x: np.cumsum(x * x, 1), M),
    "cumsum along the first axis": (lambda x: np.cumsum(x, 0), C),
    "cumprod": (np.cumprod, V),
    "cumprod with zeros": (lambda x: np.cumprod(x, 1), WITH_ZEROS),
    "cumulative_sum": (lambda x: np.cumulative_sum(x, axis=1, include_initial=True), M),
    "cumulative_prod": (np.cumulative_prod, V),
    "running maximum": (lambda x: np.maximum.accumulate(x, 1), M),
    "running minimum": (np.minimum.accumulate, M),
    "running logaddexp": (np.logaddexp.accumulate, V),
    "diff": (lambda x: np.diff(x * x), M),
    "second diff": (lambda x: np.diff(x * x, 2, axis=0), C),
    "diff with ends": (lambda x: np.diff(x * x, axis=1, prepend=0.0, append=M[:, :2]), M),
    "ediff1d": (lambda x: np.ediff1d(x * x, to_begin=1.0, to_end=[2.0, 3.0]), M),
    "trapezoid": (lambda u: np.trapezoid(u * u, dx=0.5), M),
    "trapezoid at points": (lambda u, x: np.trapezoid(u, x, axis=1), M, WIDTHS),
    "trapezoid at points of each": (lambda u, x: np.trapezoid(u, x, axis=0), M, np.abs(M) + 0.3),
    "gradient": (lambda x: np.gradient(x * x, axis=1), M),
    "gradient with ends of second order": (lambda x: np.gradient(x * x, 0.5, axis=1, edge_order=2), M),
    "gradient along both axes": (lambda x: np.gradient(x * x, 0.5, 2.0), M),
    "gradient at points": (lambda x, h: np.gradient(x * x, h, axis=1, edge_order=2), M, UNEVEN),
}


@pytest.mark.sweep(24)
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_running_result_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


VALUES: dict[str, Callable[[Any], Any]] = {
    "cumsum": lambda x: np.cumsum(x, 0),
    "cumprod": lambda x: np.cumprod(x, 1),
    "running maximum": lambda x: np.maximum.accumulate(x, 1),
    "diff": np.diff,
    "trapezoid": lambda x: np.trapezoid(x, axis=0),
    "trapezoid at float32 points": lambda x: np.trapezoid(x, np.array([0, 1, 3], np.float32), axis=0),
    "trapezoid at its own points": lambda x: np.trapezoid(x, x[:, 0], axis=0),
    "gradient": lambda x: np.gradient(x, axis=0),
    "gradient at falling unsigned points": lambda x: np.gradient(x, np.array([9, 5, 2], np.uint8), axis=0),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool"]
)
@pytest.mark.parametrize("name", VALUES)
def test_a_running_result_of_any_dtype_is_numpys(name: str, dtype: str) -> None:
    if name.startswith("gradient") and dtype in {"bool", "uint8", "uint64", "int8"}:
        pytest.skip("NumPy's differences of these dtypes wrap around, or are none")
    data = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 5, (3, 4)).astype(dtype)
    check_agrees(VALUES[name], data, symbolic=dtype in {"int8", "float16", "float64"})


def running_product(x: Any) -> Any:
    return np.cumprod(x, 0)


def running_maximum(x: Any) -> Any:
    return np.maximum.accumulate(x, 0)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 65, 1024, 1025, 3000])
def test_a_scan_is_right_around_the_sizes_of_its_blocks(size: int) -> None:
    data = 1 + 0.1 * np.random.default_rng(size).standard_normal((size, 2))
    check_agrees(running_product, data)
    check_agrees(running_maximum, data)


def test_nan_stays_in_a_running_maximum_and_is_passed_over_by_nancumsum() -> None:
    holes = np.array([1.0, np.nan, 3.0, -np.inf])
    check_agrees(np.maximum.accumulate, holes)
    check_agrees(np.nancumsum, holes[:3])
    check_agrees(np.nancumprod, holes[:3])


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda x: np.diff(x, -1), "np.diff of order -1"),
        (lambda x: np.gradient(x[:1], axis=0), "needs 2 elements along axis 0, which has 1"),
        (lambda x: np.gradient(x, edge_order=3), "edge_order=3"),
        (lambda x: np.cumsum(x, axis=4), "axis 4 is out of bounds"),
    ],
)
def test_a_running_result_that_cannot_be_is_one_error_at_the_users_line(
    function: Callable[[Any], Any], told: str
) -> None:
    with pytest.raises(ShapeError) as caught:
        ps.trace(function, M)
    assert told in str(caught.value)
    assert "test_cumulative.py" in str(caught.value)


def test_a_running_sum_along_the_last_axis_is_transposed_only_where_that_is_faster() -> None:
    for dtype, transposes in (("float32", 2), ("float64", 0)):
        program = ps.trace(lambda x: np.cumsum(x, axis=1), ps.spec(dtype, ["N", "M"]))
        assert [op.kind for op in program.block.ops].count("Transpose") == transposes


def test_rows_of_a_running_product_of_symbolic_size_are_a_batch() -> None:
    program = ps.trace(ps.jacobian(np.cumprod, mode="reverse"), ps.spec("float64", ["N"]))
    for size in (0, 1, 4):
        x = np.linspace(0.5, 2.0, size)
        rows = np.tril(np.divide.outer(np.cumprod(x), x))
        np.testing.assert_allclose(program(x), rows, rtol=1e-12)


EXTREME = {
    "a zero before what overflows": [2.0, 0.0, 3.0, 1e200, 1e200, 1e200],
    "a zero in front": [0.0, 1e200, 1e200, 1e-300, -2.0],
    "parts that underflow": [1e200, 1e-200, 1e-200, 1e200, 1e200],
    "parts that overflow": [1e-300, 1e200, 1e200, 1e-100, 5.0],
    "infinities": [3.0, np.inf, 2.0, 0.0, np.nan],
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", EXTREME)
def test_a_running_product_is_numpys_where_products_of_parts_leave_the_range(name: str) -> None:
    x = np.array(EXTREME[name])
    for symbolic in (x, ps.spec("float64", ["N"])):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(ps.trace(np.cumprod, symbolic)(x), np.cumprod(x))


def test_a_running_product_has_its_gradient_where_products_of_parts_leave_the_range() -> None:
    x = np.tile([1e-300, 1e200, 1e200, 1e-100, 1.5], 8)
    slopes = ps.trace(ps.grad(lambda x: np.cumprod(x)[-1]), ps.spec("float64", ["N"]))
    np.testing.assert_allclose(slopes(x)[1::5], 1.5**8 / 1e200, rtol=1e-12)
    np.testing.assert_allclose(slopes(x)[4::5], 1.5**7, rtol=1e-12)


def test_a_slope_at_evenly_spaced_points_is_one_of_its_neighbours_alone() -> None:
    x = np.array([1.0, 2.0, np.nan, 4.0, 7.0])
    for points in (np.arange(5) * 0.5, np.array([0.0, 1, 3, 4, 9])):
        check_agrees(lambda x, p=points: np.gradient(x, p), x, symbolic=False)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_there_is_no_slope_between_two_points_at_one_place(edge_order: int) -> None:
    """NumPy has NaN at both, from infinity less infinity."""
    x, points = np.array([1.0, 2.0, 4.0, 8.0, 9.0]), np.array([0.0, 1.0, 1.0, 2.0, 4.0])

    def slopes(x: Any, p: Any) -> Any:
        return np.gradient(x, p, edge_order=edge_order)

    with np.errstate(divide="ignore", invalid="ignore"):
        expected = slopes(x, points)
    assert np.isnan(expected[1:3]).all()
    np.testing.assert_allclose(ps.trace(slopes, x, points)(x, points)[1:], expected[1:])
    np.testing.assert_allclose(ps.trace(lambda x: slopes(x, points), x)(x)[1:], expected[1:])
    for argument in (0, 1):
        gradient = ps.grad(lambda *a: np.sum(slopes(*a)), wrt=argument)(x, points)
        assert np.isnan(gradient[1:3]).all()
