"""The Hessenberg form: LAPACK's, also of a part of the rows."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.dense.general.hessenberg import hessenberg
from tests.numpy.matrices import normal


@functools.cache
def program() -> Any:
    """H and Q of a matrix of any size, of which rows low .. high are not a triangle."""
    end = ps.spec("int64", [])
    return ps.trace(lambda a, low, high: hessenberg(a, low, high), ps.spec("float64", ["N", "N"]), end, end)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_form_is_lapacks(n: int) -> None:
    a = normal(n, n)
    h, q = program()(a, np.int64(0), np.int64(n - 1))
    np.testing.assert_allclose(q @ h @ q.T, a, atol=1e-13)
    wanted, basis = scipy.linalg.hessenberg(a, calc_q=True)
    np.testing.assert_allclose(h, wanted, atol=1e-13)
    np.testing.assert_allclose(q, basis, atol=1e-13)
    np.testing.assert_array_equal(np.tril(h, -2), 0 * h)


def test_rows_outside_of_the_middle_stay() -> None:
    a = scipy.linalg.block_diag([[2.0]], normal(3, 3), [[3.0]]) + np.triu(normal(5, 5, seed=2), 1)
    h, q = program()(a, np.int64(1), np.int64(3))
    np.testing.assert_array_equal(q[[0, 4]], np.eye(5)[[0, 4]])
    np.testing.assert_allclose(q @ h @ q.T, a, atol=1e-13)
    np.testing.assert_array_equal(np.tril(h, -2), 0 * h)
