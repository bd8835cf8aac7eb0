"""Views of traced arrays: a write to one is seen by the others where NumPy has one memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

random = np.random.default_rng(0)
X = random.standard_normal((4, 3, 5))
X += 0.3 * np.sign(X)
V = random.standard_normal((3, 5))
V += 0.5 * np.sign(V)


def fills_rows_by_places(x: Any) -> Any:
    made = np.zeros((x.shape[0], x.shape[1]))
    row = made.ravel()
    row[:] = 2 * x[:, :, 0].ravel()
    row[0] += 1
    made[:, 0] *= 3
    return made, row * made.reshape(-1)


def writes_to_a_row_of_rows(x: Any) -> Any:
    row = np.zeros(12)
    rows = row.reshape(3, 4)
    rows[0] = x[:, 0, 0]
    row[3] = 7 * x[0, 0, 0]
    rows.T[1] += x[0, :, 1]
    rows.reshape(2, 6)[1] *= 2
    rows.reshape(2, 6)[0].reshape(3, 2)[:, 1] = x[0, :, 2]
    return row


def writes_to_reshaped_copies(x: Any) -> Any:
    copied, ones, listed = x.copy(), np.ones_like(x[0, 0]), np.array([[x[0, 0, 0], 1.0], [2.0, x[1, 1, 1]]])
    copied.reshape(-1)[::2] = 0.5
    half = copied[1:3].reshape(2, -1)
    half += x[0, 0, 0]
    ones.reshape(1, -1)[0, 1] = x[0, 0, 1]
    listed.ravel()[3] *= 3
    return copied, ones, listed


def writes_to_rows_of_complex_numbers(x: Any) -> Any:
    made = np.zeros((2, 4), dtype=complex)
    made.ravel()[:4] = x[:, 0, 0] * 1j
    made.reshape(4, 2)[3] = x[:2, 1, 1]
    return made.real, made.imag


def writes_to_rows_of_a_column(x: Any) -> Any:
    made = x.copy()
    column = made[:, 0, 1]
    column.reshape(2, 2)[1] = 3 * column[:2]
    product = column * 1
    product.reshape(1, -1)[0, 2] = x[0, 0, 0]
    return made, product


@pytest.mark.parametrize(
    "function",
    [
        fills_rows_by_places,
        writes_to_a_row_of_rows,
        writes_to_reshaped_copies,
        writes_to_rows_of_complex_numbers,
        writes_to_rows_of_a_column,
    ],
)
def test_a_reshaped_new_array_is_a_view(function: Callable[[Any], Any]) -> None:
    for found, wanted in zip(ps.trace(function, X)(X), function(X), strict=True):
        np.testing.assert_array_equal(found, wanted)
    check_grads(function, X, symbolic=False)


def test_a_new_array_of_any_size_is_a_view_where_it_is_reshaped() -> None:
    program = ps.trace(fills_rows_by_places, ps.spec("float64", ["N", "M", 5]))
    for given in (X, X[:1, :1]):
        for found, wanted in zip(program(given), fills_rows_by_places(given), strict=True):
            np.testing.assert_array_equal(found, wanted)


READ_LATER: dict[str, Callable[[Any], Any]] = {
    "sliding windows": lambda y: np.lib.stride_tricks.sliding_window_view(y, 2, axis=1),
    "diag": np.diag,
    "trim_zeros": lambda y: np.trim_zeros(y[0]),
    "meshgrid": lambda y: np.meshgrid(y[0], y[1], copy=False)[1],
    "sparse meshgrid": lambda y: np.meshgrid(y[0], y[1], copy=False, sparse=True)[1],
    "conj": lambda y: y.conj(),
    "sum over no axes": lambda y: np.sum(y, axis=()),
    "max over no axes": lambda y: y.max(axis=()),
}


@pytest.mark.parametrize("name", READ_LATER)
def test_what_was_made_of_an_array_sees_a_later_write_where_numpy_makes_a_view(name: str) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        made = READ_LATER[name](y)
        y[0] = y[1] ** 2
        return made * y[0, 0], y

    check_grads(f, V, symbolic=False, value_tolerance=1e-12)
