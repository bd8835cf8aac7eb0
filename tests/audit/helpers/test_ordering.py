"""Orders, places and blocks."""

import numpy as np

from primsplit.audit.helpers.ordering import (
    depth_to_space,
    eye_like,
    one_hot,
    reverse_sequence,
    space_to_depth,
    top_k,
)


def test_of_equal_elements_the_first_comes_first() -> None:
    values, places = top_k(np.array([1, 3, 3, 0]), np.array([2]))
    assert (values.tolist(), places.tolist()) == ([3, 3], [1, 2])
    values, places = top_k(np.array([[1.0, 0.0], [0.0, 2.0]]), 1, axis=0, largest=0)
    assert (values.tolist(), places.tolist()) == ([[0, 0]], [[1, 0]])


def test_places_count_from_the_end_too_and_others_mark_nothing() -> None:
    found = one_hot(np.array([0, -1, 5]), 3, np.array([2.0, 7.0]))
    np.testing.assert_array_equal(found, [[7, 2, 2], [2, 2, 7], [2, 2, 2]])
    assert one_hot(np.zeros((2, 4), int), 3, np.array([0, 1]), axis=1).shape == (2, 3, 4)


def test_blocks_go_forth_and_back() -> None:
    a = np.arange(64.0).reshape(1, 4, 4, 4)
    for mode in ("DCR", "CRD"):
        np.testing.assert_array_equal(depth_to_space(space_to_depth(a, 2, mode), 2, mode), a)


def test_the_first_steps_of_each_sequence_are_reversed() -> None:
    a = np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(reverse_sequence(a, [2, 3]), [[2, 5], [0, 3], [4, 1]])
    np.testing.assert_array_equal(eye_like(a, np.int8, k=-1), [[0, 0], [1, 0], [0, 1]])
