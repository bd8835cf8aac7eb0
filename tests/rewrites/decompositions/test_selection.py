"""One-hot encodings, positions, first maxima and means in dtypes without a kernel."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rewrites.decompositions.reference import check, numbers


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot_has_on_at_the_index_and_off_beyond_its_range(axis: int) -> None:
    indices = np.array([[0, 2, -1], [3, -4, 1]])
    values = np.array([0.5, 2.0])
    found = ps.trace(lambda v: op.OneHot(indices, np.int64(3), v, axis=axis), values)(values)
    wanted = np.full((2, 3, 3), 0.5)
    for place, index in np.ndenumerate(indices):
        if -3 <= index < 3:
            wanted[(*place, index)] = 2.0
    np.testing.assert_array_equal(found, np.moveaxis(wanted, -1, axis))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax_takes_the_first_maximum(axis: int) -> None:
    check("Hardmax", np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 3.0], [2.0, 3.0, 1.0]]), axis=axis)
    program = ps.trace(lambda x: op.Hardmax(x, axis=axis), ps.spec("float64", ["N", "M"]))
    assert program(np.zeros((0, 3))).shape == (0, 3)


def test_positions_of_what_is_not_zero_and_not_a_number_is_not() -> None:
    x = np.array([[0.0, 1.0], [np.nan, -0.0]])
    np.testing.assert_array_equal(ps.trace(op.NonZero, x)(x), [[0, 1], [1, 0]])


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_ones_on_a_diagonal(k: int) -> None:
    check("EyeLike", numbers(3, 4), k=k, is_kept=True)
    program = ps.trace(lambda x: op.EyeLike(x, k=k), ps.spec("float16", ["N", "M"]))
    np.testing.assert_array_equal(program(np.zeros((2, 3), np.float16)), np.eye(2, 3, k, np.float16), strict=True)


def test_a_mean_is_that_of_arrays_that_broadcast() -> None:
    check("Mean", numbers(2, 3), numbers(3, seed=1), numbers(2, 1, seed=2))


@pytest.mark.parametrize("axis", [0, 1])
def test_distinct_rows_of_an_array_that_may_be_empty(axis: int) -> None:
    x = np.array([[2.0, 1.0], [0.0, 3.0], [2.0, 1.0]])
    program = ps.trace(lambda x: op.Unique(x, axis=axis, outputs=4), ps.spec("float64", ["N", "M"]))
    found = program(x)
    wanted = np.unique(x, axis=axis, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, np.asarray(other).reshape(one.shape))
