"""Balancing: LAPACK's order, ends and powers of two, and the way back."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg.lapack

import primsplit as ps
from primsplit.numpy.dense.general.balancing import as_balanced, balanced, of_rows
from tests.numpy.matrices import normal

SCALES = 10.0 ** np.array([[-4.0], [2.0], [0.0], [3.0]])
MATRICES = {
    "dense": normal(4, 4),
    "badly scaled": SCALES * normal(4, 4) / SCALES.T,
    "a triangle": np.triu(normal(4, 4)),
    "a lower triangle": np.tril(normal(4, 4)),
    "a row alone": normal(4, 4) * [[1, 1, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]],
    "a column alone": normal(4, 4) * [[1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1], [1, 1, 0, 1]],
    "one": np.array([[3.0]]),
    "zeros": np.zeros((3, 3)),
}


@functools.cache
def program() -> Any:
    def f(a: Any) -> Any:
        found = balanced(a)
        return *found, as_balanced(found, a), of_rows(found, a * 0.0 + np.eye(a.shape[0]))

    return ps.trace(f, ps.spec("float64", ["N", "N"]))


@pytest.mark.parametrize("name", MATRICES)
def test_the_form_is_lapacks(name: str) -> None:
    a = MATRICES[name]
    matrix, low, high, order, scale, again, back = program()(a)
    wanted, first, last, _, _ = scipy.linalg.lapack.dgebal(a, permute=1, scale=1)
    assert (low, high) == (first, last)
    np.testing.assert_allclose(matrix, wanted, rtol=1e-14)
    np.testing.assert_array_equal(again, matrix)
    # D^-1 P^T A P D, and its eigenvectors come back by P D.
    turned = np.eye(len(a))[:, order]
    np.testing.assert_allclose(np.diag(1 / scale) @ turned.T @ a @ turned @ np.diag(scale), matrix, rtol=1e-14)
    np.testing.assert_array_equal(back, turned @ np.diag(scale))
    assert np.all(np.frexp(scale)[0] == 0.5)
