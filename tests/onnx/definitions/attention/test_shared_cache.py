"""New words in a past whose buffer has room for more, and the words so far."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.onnx.definitions.attention.shared_cache import shared_caches

PAST = np.arange(1.0 * 2 * 5 * 3).reshape(1, 2, 5, 3)
NEW = -np.arange(1.0, 1 + 2 * 2 * 3).reshape(1, 2, 2, 3)


def put(place: int, new: Any = NEW) -> Any:
    def both(past: Any, new: Any, place: Any) -> Any:
        caches, words = shared_caches(past, 2 * past, new, 3 * new, place)
        return *caches, *words

    given = (PAST, new, np.int64(place))
    return ps.trace(both, PAST, ps.spec("float64", [1, 2, "N", 3]), np.int64(0))(*given)


@pytest.mark.parametrize("place", [0, 2, 3])
def test_new_words_are_put_at_their_place_and_the_words_so_far_are_read(place: int) -> None:
    keys, values, key_words, value_words = put(place)
    wanted = PAST.copy()
    wanted[:, :, place : place + 2] = NEW
    np.testing.assert_array_equal(keys, wanted)
    np.testing.assert_array_equal(key_words, wanted[:, :, : place + 2])
    doubled = 2 * PAST
    doubled[:, :, place : place + 2] = 3 * NEW
    np.testing.assert_array_equal(values, doubled)
    np.testing.assert_array_equal(value_words, doubled[:, :, : place + 2])


def test_no_new_words_leave_the_buffer() -> None:
    keys, _, key_words, _ = put(3, NEW[:, :, :0])
    np.testing.assert_array_equal(keys, PAST)
    np.testing.assert_array_equal(key_words, PAST[:, :, :3])


def test_words_without_room_fail_in_the_run() -> None:
    with pytest.raises(ps.PrimsplitError):
        put(4)
