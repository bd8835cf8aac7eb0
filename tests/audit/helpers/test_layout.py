"""Shapes of ONNX."""

import numpy as np

from primsplit.audit.helpers.layout import expand, flatten, pad, reshape, split, stack

A = np.arange(6.0).reshape(2, 3)


def test_a_size_of_zero_is_that_of_the_input() -> None:
    assert reshape(A, np.array([0, 1, -1])).shape == (2, 1, 3)
    assert flatten(np.zeros((2, 3, 4)), -1).shape == (6, 4)
    assert flatten(np.zeros((2, 3, 4)), 0).shape == (1, 24)


def test_a_size_of_one_keeps_the_axis() -> None:
    np.testing.assert_array_equal(expand(A, np.array([1, 3])), A)
    assert expand(A, (4, 1, 1)).shape == (4, 2, 3)


def test_the_last_part_may_be_shorter() -> None:
    assert [part.shape for part in split(np.zeros((5, 2)), 3, 0)] == [(2, 2), (2, 2), (1, 2)]


def test_negative_pads_take_elements_away() -> None:
    np.testing.assert_array_equal(pad(A, [0, -1, 1, 1], value=9.0), [[1, 2, 9], [4, 5, 9], [9, 9, 9]])
    np.testing.assert_array_equal(pad(A, np.array([1, 0]), axes=[1], mode="edge")[:, 0], [0, 3])


def test_no_steps_are_an_empty_array() -> None:
    assert stack([], np.zeros((0, 3)), axis=1).shape == (3, 0)
    assert stack([A, A], np.zeros((0, 2, 3)), axis=1).shape == (2, 2, 3)
