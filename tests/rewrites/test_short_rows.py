"""Short rows are combined at full length, and the values keep their bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Var
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import short_rows
from primsplit.rewrites.short_rows import MANY, lengthen_rows
from tests.random_programs import run
from tests.recording import kinds, record

ROW = np.array([1.5, -0.0, 2.0])
HALF = np.array([[0.5]])
ALL, COLUMN, LINE = "float64[4096,3]", "float64[4096,1]", "float64[3]"
SPREAD, FLAT = ["Reshape", "Expand", "Transpose"], ["Reshape"]
LONGER: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "a column": (lambda x, c, r: op.Mul(x, c), [*SPREAD, "Mul"]),
    "a column from the left": (lambda x, c, r: op.Sub(c, x), [*SPREAD, "Sub"]),
    "a column for two": (lambda x, c, r: op.Sub(op.Mul(x, c), c), [*SPREAD, "Mul", "Sub"]),
    "a known row": (lambda x, c, r: op.Mul(x, ROW), [*FLAT, *FLAT, "Tile", "Mul", *FLAT]),
    "a row of one number": (lambda x, c, r: op.Mul(x, np.full(3, 0.5)), [*FLAT, "Mul", *FLAT]),
    "a row of the run": (lambda x, c, r: op.Div(r, x), [*FLAT, "Tile", *FLAT, "Div", *FLAT]),
    "a row with an axis": (
        lambda x, c, r: op.Equal(x, op.Unsqueeze(r, [0])),
        ["Unsqueeze", *FLAT, *FLAT, "Tile", "Equal", *FLAT],
    ),
    "a column and a row": (lambda x, c, r: op.Sub(c, ROW), [*SPREAD, *FLAT, *FLAT, "Tile", "Sub", *FLAT]),
    "a choice": (
        lambda x, c, r: op.Where(op.Greater(c, HALF), x, ROW),
        ["Greater", *SPREAD, *FLAT, *FLAT, *FLAT, "Tile", "Where", *FLAT],
    ),
    "a number among them": (lambda x, c, r: op.Max(x, ROW, HALF), [*FLAT, *FLAT, "Tile", "Max", *FLAT]),
    "rows of rows": (
        lambda x, c, r: op.Add(op.Reshape(x, [64, 64, 3]), op.Reshape(c, [64, 64, 1])),
        ["Reshape", "Reshape", *SPREAD, *FLAT, "Add"],
    ),
}
STAY: dict[str, Callable[..., Any]] = {
    "arrays of one shape": lambda x, c, r: op.Mul(x, op.Exp(x)),
    "a number": lambda x, c, r: op.Mul(x, HALF),
    "columns": lambda x, c, r: op.Mul(c, op.Exp(c)),
    "a few rows": lambda x, c, r: op.Mul(op.Slice(x, [0], [9]), r),
    "rows of several matrices": lambda x, c, r: op.Mul(
        op.Reshape(x, [2, 2048, 3]), op.Reshape(op.Slice(x, [0], [2]), [2, 1, 3])
    ),
    "other operators": lambda x, c, r: op.Concat(x, c, axis=1),
}


def inputs_of(rows: int, length: int = 3) -> list[Any]:
    random = np.random.default_rng(rows)
    column = random.standard_normal((rows, 1))
    column[:4, 0] = (0.0, -0.0, np.inf, np.nan)
    return [random.standard_normal((rows, length)), column, random.standard_normal(length)]


@pytest.mark.parametrize("name", LONGER)
def test_operands_are_of_one_shape(name: str) -> None:
    function, left = LONGER[name]
    block = record(function, ALL, COLUMN, LINE)
    found = lengthen_rows(block)
    check_types(found)
    assert kinds(found) == left
    for a, b in zip(run(block, inputs_of(4096)), run(found, inputs_of(4096)), strict=True):
        np.testing.assert_array_equal(a, b)
        if a.dtype == np.float64:
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


@pytest.mark.parametrize("name", STAY)
def test_others_stay(name: str) -> None:
    block = record(STAY[name], ALL, COLUMN, LINE)
    assert lengthen_rows(block) is block


def test_a_row_stays_beside_a_number_of_rows_that_nothing_divides() -> None:
    block = record(lambda x, r: op.Mul(x, r), "float64[4099,3]", LINE)
    assert lengthen_rows(block) is block


def test_a_column_is_not_spread_along_rows_that_take_long_to_turn() -> None:
    block = record(lambda x, c: op.Mul(x, c), "float64[4096,8]", COLUMN)
    assert lengthen_rows(block) is block
    assert lengthen_rows(record(lambda x, c: op.Mul(x, c), "float32[4096,8]", "float32[4096,1]")) is not block


def test_a_loop_spreads_its_own_columns() -> None:
    def steps(x: Any, c: Any) -> Any:
        return ps.scan(lambda h, _: (h * c + c, None), x, None, length=3)[0]

    x, c = np.random.default_rng(0).standard_normal((MANY, 2)), np.random.default_rng(1).standard_normal((MANY, 1))
    found = ps.trace(steps, x, c).session()(x, c)[0]
    np.testing.assert_allclose(found, ((x * c + c) * c + c) * c + c, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_mixture_and_its_gradient(dtype: Any) -> None:
    def mixture(means: Any, x: Any) -> Any:
        away = -0.5 * (x[:, None] - means) ** 2
        most = np.max(away, axis=1, keepdims=True)
        return np.sum(most[:, 0] + np.log(np.sum(np.exp(away - most), axis=1)))

    random = np.random.default_rng(0)
    x, means = random.standard_normal(8192).astype(dtype), np.linspace(-2, 2, 4).astype(dtype)
    value, gradient = ps.value_and_grad(mixture)(means, x)
    away = np.asarray(x, float)[:, None] - means
    share = np.exp(-0.5 * away**2)
    expected = np.sum(share / share.sum(1, keepdims=True) * away, axis=0)
    np.testing.assert_allclose(value, np.sum(np.log(share.sum(1))), rtol=1e-5 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-3 if dtype == np.float32 else 1e-10)
    assert len(means) <= short_rows.SHORT


@pytest.mark.parametrize(
    ("own", "form"),
    [
        ([], "number"), ([1], "number"), ([1, 1], "number"), ([1, 1, 1], "other"), ([3], "row"), ([1, 3], "row"),
        ([8, 1], "column"), ([4, 8, 1], "column"), ([4, 8, 3], "full"), ([4, 1, 3], "other"), ([1, 8, 1], "other"),
        (["N"], "other"),
    ],
)  # fmt: skip
def test_an_operand_has_a_role_beside_its_result(own: list[Any], form: str) -> None:
    shape = [8, 3] if own == [8, 1] else [4, 8, 3]
    assert short_rows._form(Var(ps.spec("float64", own)), shape) == form
