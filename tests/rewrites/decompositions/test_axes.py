"""Positions along an axis and its size, known only at run time."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.decompositions.axes import along, from_front, positions, size, vector


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_positions_along_an_axis_count_its_elements(axis: int) -> None:
    x = np.zeros((2, 3, 0))
    program = ps.trace(lambda x: (size(x, axis), positions(size(x, axis))), ps.spec("float64", ["A", "B", "C"]))
    count, places = program(x)
    np.testing.assert_array_equal(count, [x.shape[axis]], strict=True)
    np.testing.assert_array_equal(places, np.arange(x.shape[axis]), strict=True)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_vector_varies_along_one_axis(axis: int) -> None:
    found = ps.trace(lambda v: along(v, axis, 3), np.arange(4.0))(np.arange(4.0))
    shape = [1, 1, 1]
    shape[axis] = 4
    np.testing.assert_array_equal(found, np.arange(4.0).reshape(shape), strict=True)


def test_an_axis_counts_from_the_front_and_numbers_are_int64() -> None:
    assert [from_front(a, 3) for a in (0, 2, -1, -3)] == [0, 2, 2, 0]
    np.testing.assert_array_equal(vector(range(2)), np.array([0, 1], np.int64), strict=True)
