"""logsumexp is one line of a listing, with SciPy's values and the softmax as its gradient."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.rewrites.inline import inline_calls

ROWS = np.array(
    [[1.0, 2.0, -3.0], [1e4, -1e4, 1e4], [-np.inf, 0, 1], [np.inf, 0, 1], [np.nan, 0, 1], [0, np.nan, 1], [np.nan] * 3]
)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [1, -1, (0, 1), None])
def test_values_are_scipys_and_the_gradient_is_the_softmax(dtype: str, axis: Any) -> None:
    rows = np.array([[1.0, 2.0, -3.0], [8.0, -8.0, 8.0], [-np.inf, 0, 1]]).astype(dtype)
    y, pullback = ps.vjp(lambda x: special.logsumexp(x, axis=axis), rows)
    near = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(y, special.logsumexp(rows.astype(np.float64), axis=axis), rtol=near)
    found = pullback(np.ones_like(y))[0]
    wide = rows.astype(np.float64)
    expected = np.exp(wide - special.logsumexp(wide, axis=axis, keepdims=True))
    np.testing.assert_allclose(found, expected, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_odd_rows_are_scipys(dtype: str, axis: int) -> None:
    rows = ROWS.astype(dtype)
    found = ps.trace(lambda x: special.logsumexp(x, axis=axis), ps.spec(dtype, ["N", 3]))(rows)
    np.testing.assert_allclose(found, special.logsumexp(rows.astype(np.float64), axis=axis), rtol=1e-3)


def test_the_greatest_is_looked_for_once() -> None:
    block = ps.trace(lambda x: special.logsumexp(x, axis=1), ps.spec("float32", ["N", 3])).block
    assert not inline_calls(block).kinds & {"Clip", "IsNaN"}


def test_a_listing_shows_it_in_one_line() -> None:
    made = ps.split(lambda x: special.logsumexp(x, axis=1, keepdims=True), ps.spec("float32", ["N", 3]))
    assert " = logsumexp(x, axis=(1,)) " in made.listing()
