"""Ranges as values: of arrays, of one or the other, of moved elements."""

import numpy as np

from primsplit.audit.intervals.ranges import Level, either, interval, limits, of_array, planes, rounded, unbounded


def test_the_range_of_an_array_has_its_elements_and_says_what_is_no_number() -> None:
    found = of_array(np.array([1.0, np.nan, -2.0, np.inf]))
    assert (found.nan, found.inf, found.nonzero) == (Level.CAN, Level.CAN, True)
    assert found.ends == (-2.0, np.inf)
    assert of_array(np.array([], np.float32)).ends == (0.0, 0.0)


def test_one_or_the_other_is_in_both_ranges() -> None:
    one, other = interval(0, 1, np.float64, (3,)), unbounded(np.float64, (3,), Level.UNBOUNDED)
    found = either([one, other])
    assert (found.ends, found.nan, found.shape) == ((-np.inf, np.inf), Level.UNBOUNDED, (3,))
    assert either([of_array(np.ones(2)), of_array(np.full(3, 5.0))]).ends == (1.0, 5.0)


def test_numbers_are_rounded_once_to_their_dtype() -> None:
    np.testing.assert_array_equal(rounded(np.array([0.1, 1e39]), np.dtype(np.float32)), [np.float32(0.1), np.inf])
    assert limits(np.dtype(np.int8)) == (-128.0, 127.0)


def test_a_function_of_arrays_moves_bounds_and_errors_alike() -> None:
    from dataclasses import replace

    x = replace(interval([1, 2], [3, 4], np.float64, (2,)), error=np.array([0.1, 0.2]))
    found = planes([x], lambda a: a[::-1])
    assert found is not None
    assert (found.low.tolist(), found.high.tolist()) == ([2, 1], [4, 3])
    assert found.error is not None
    assert found.error.tolist() == [0.2, 0.1]
    assert planes([interval(0, 1, np.float64, (None,))], lambda a: a) is None
