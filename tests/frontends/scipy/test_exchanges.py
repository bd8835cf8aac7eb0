"""Permutations in LAPACK's form: exchanges of rows and the orders that they bring about."""

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.frontends.scipy.exchanges import exchanges, order_of

ORDERS = [[], [0], [1, 0], [2, 0, 3, 1], [3, 1, 2, 0]]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_exchanges_made_one_after_the_other_bring_the_order(order: list[int]) -> None:
    wanted = np.array(order, np.int64)
    pivots = ps.trace(exchanges, ps.spec("int64", ["N"]))(wanted)
    rows = np.arange(len(order))
    for i, other in enumerate(pivots):
        rows[[i, other]] = rows[[other, i]]
    np.testing.assert_array_equal(rows, wanted)
    assert all(pivots >= np.arange(len(order)))  # LAPACK exchanges a row with one below it


def test_pivots_of_lapack_give_its_order_of_rows_for_each_matrix() -> None:
    matrices = np.random.default_rng(0).standard_normal((2, 5, 5))
    pivots = np.stack([scipy.linalg.lu_factor(m)[1] for m in matrices]).astype(np.int64)
    found = ps.trace(order_of, ps.spec("int64", [2, "N"]))(pivots)
    for m, rows in zip(matrices, found, strict=True):
        lower, upper = scipy.linalg.lu(m)[1:]
        np.testing.assert_allclose(m[rows], lower @ upper, rtol=1e-12)
