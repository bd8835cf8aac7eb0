"""Loops and Scans of algorithms, and the building blocks of their bodies, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.numpy.dense import loop as blocks
from primsplit.ops import op
from primsplit.tracing.array import Array

X = np.arange(24.0).reshape(2, 3, 4) - 10.5
SQUARE = np.arange(18.0).reshape(2, 3, 3) - 8.5


def number(value: int) -> Array:
    return Array(tracing.constant(np.int64(value)))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_loop_collects_what_each_step_gives(count: int) -> None:
    def f(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            return [op.Mul(c, 2.0)], [op.Add(c, op.Cast(i, to=np.float64))]

        return tuple(blocks.loop(number(count), step, [x]))

    last, collected = ps.trace(f, X)(X)
    np.testing.assert_array_equal(last, X * 2.0**count)
    np.testing.assert_array_equal(collected, [X * 2.0**i + i for i in range(count)] or np.zeros((0, *X.shape)))


@pytest.mark.parametrize(("most", "wanted"), [(100, 5), (3, 3), (0, 0)])
def test_until_stops_where_it_is_settled_or_at_the_most(most: int, wanted: int) -> None:
    def f(x: Any) -> Any:
        return blocks.until(lambda c: op.Greater(c, 4.5), lambda c: [op.Add(c, 1.0)], [x], most)[0]

    program = ps.trace(f, ps.spec("float64", []))
    assert program(np.float64(0.0)) == wanted
    assert program(np.float64(7.0)) == 7.0


@pytest.mark.parametrize("backward", [False, True])
def test_a_scan_collects_where_its_elements_lie(backward: bool) -> None:
    def f(x: Any) -> Any:
        return tuple(blocks.scan(lambda c, e: ([op.Add(c, e)], [op.Mul(c, e)]), [x[0] * 0.0], [x], backward=backward))

    last, collected = ps.trace(f, X)(X)
    np.testing.assert_array_equal(last, X.sum(0))
    carry, wanted = np.zeros(X.shape[1:]), np.zeros(X.shape)
    for i in [1, 0] if backward else [0, 1]:
        wanted[i] = carry * X[i]
        carry = carry + X[i]
    np.testing.assert_array_equal(collected, wanted)


COLUMNS = np.array([[2, 0], [3, 3]])
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "sizes": (lambda x: blocks.sizes(x, 1), lambda x: x.shape[1:], X),
    "the size of the last axis": (lambda x: blocks.size(x, -1), lambda x: x.shape[-1:], X),
    "counting": (lambda x: blocks.counting(x, -2), lambda x: np.arange(3), X),
    "a cut": (lambda x: blocks.cut(x, 1, None, -1), lambda x: x[..., 1:], X),
    "a cut to the last": (lambda x: blocks.cut(x, 0, -1, -2), lambda x: x[..., :-1, :], X),
    "swapped": (blocks.swapped, lambda x: x.mT, X),
    "lower": (lambda x: blocks.lower(x, -1), lambda x: np.tril(x, -1), X),
    "upper": (lambda x: blocks.upper(x, 1), lambda x: np.triu(x, 1), X),
    "diagonal": (blocks.diagonal, lambda x: np.diagonal(x, axis1=-2, axis2=-1)[..., None], SQUARE),
    "on the diagonal": (blocks.on_diagonal, lambda x: np.eye(3, 4, dtype=bool), X),
    "identity": (blocks.identity_like, lambda x: np.broadcast_to(np.eye(3, 4), x.shape), X),
    "less a product": (
        lambda x: blocks.less_product(x, x[..., :1], x[..., :1, :]), lambda x: x - x[..., :1] @ x[..., :1, :], SQUARE,
    ),
    "less a product of two axes": (
        lambda x: blocks.less_product(x[0], x[0], x[1]), lambda x: x[0] - x[0] @ x[1], SQUARE,
    ),
    "filled": (lambda x: blocks.filled(x, [5, 1], np.float64(2.0)), lambda x: np.full((2, 5, 1), 2.0), X),
    "rows": (lambda x: blocks.rows_at(x, as_index(COLUMNS % 3)), lambda x: np.stack([x[0][[2, 0]], x[1][[0, 0]]]), X),
    "rows of one matrix": (lambda x: blocks.rows_at(x[0], as_index(COLUMNS[0])), lambda x: x[0][[2, 0]], X),
    "columns": (
        lambda x: blocks.columns_at(x, as_index(COLUMNS)), lambda x: np.stack([x[0][:, [2, 0]], x[1][:, [3, 3]]]), X,
    ),
    "columns of one matrix": (lambda x: blocks.columns_at(x[0], as_index(COLUMNS[0])), lambda x: x[0][:, [2, 0]], X),
    "stacked columns": (lambda x: blocks.stacked_columns(x[..., None]), lambda x: np.stack([*x], -1), X),
    "stacked rows": (lambda x: blocks.stacked_rows(x[:, :, None, :]), lambda x: np.stack([*x], -2), X),
}  # fmt: skip


def as_index(values: Any) -> Array:
    return Array(tracing.constant(values))


@pytest.mark.parametrize("name", CASES)
def test_a_building_block_is_numpys(name: str) -> None:
    function, wanted, x = CASES[name]
    np.testing.assert_array_equal(ps.trace(function, x)(x), wanted(x))


def test_a_matrix_that_holds_nan_is_told_apart() -> None:
    x = SQUARE.copy()
    x[1, 2, 0] = np.nan
    np.testing.assert_array_equal(ps.trace(blocks.not_a_number, x)(x), [[[0.0]], [[np.nan]]])


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 64, 65])
def test_panels_cover_all_columns_once(n: int) -> None:
    def f(x: Any) -> Any:
        seen: list[Any] = []

        def step(width: int | None, done: Any) -> list[Any]:
            seen.append(width)
            return [op.Add(done, np.int64(1))]

        start = number(0)
        (count,) = blocks.panels(x.shape[0], blocks.size(x, 0), step, [start], [start.type])
        assert all(w is None or 0 < w <= blocks.BLOCK for w in seen)
        return count

    assert ps.trace(f, np.zeros(n))(np.zeros(n)) == -(-n // 32)
    assert ps.trace(f, ps.spec("float64", ["N"]))(np.zeros(n)) == -(-n // 32)
    assert blocks.at_most_a_block(n) == (0 < n <= 32)
