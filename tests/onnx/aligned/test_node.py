"""Values of unknown rank with leading axes of size 1, and the ways back to their own axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.onnx.aligned.node import Aligned, aligned, closed, from_front, led, of_sizes, trailed
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array

X = np.arange(6.0).reshape(2, 3)
RANK = np.array([2])


def run(f: Callable[[Any, Any], Any], x: Any = X) -> Any:
    """What the function records of an array and the rank of the value, when it is run."""
    return ps.trace(f, ps.spec("float64", list(x.shape)), ps.spec("int64", [1]))(x, RANK)


def test_sizes_are_led_or_trailed_by_ones() -> None:
    np.testing.assert_array_equal(run(lambda x, rank: led(op.Shape(x), rank, 5)), [1, 1, 1, 2, 3])
    np.testing.assert_array_equal(run(lambda x, rank: trailed(op.Shape(x), rank, 5)), [2, 3, 1, 1, 1])
    np.testing.assert_array_equal(run(lambda x, rank: led(op.Shape(x), rank, 2)), [2, 3])


def test_a_value_has_its_own_axes_or_those_of_size_1_behind_them() -> None:
    wide = X.reshape(1, 1, 2, 3)
    np.testing.assert_array_equal(run(lambda x, rank: Aligned(x, rank).own_shape(), wide), [2, 3])
    np.testing.assert_array_equal(run(lambda x, rank: Array(Aligned(x, rank).own()), wide), X)
    np.testing.assert_array_equal(run(lambda x, rank: Aligned(x, rank).front(), wide), X[:, :, None, None])
    for before in (1, -1):
        found = run(lambda x, rank, before=before: Aligned(x, rank).opened(before, 4), wide)
        np.testing.assert_array_equal(found, X[:, None, None, :])


def test_an_array_becomes_a_value_from_the_front_from_its_sizes_or_closed() -> None:
    wide = X.reshape(1, 1, 2, 3)
    front = run(lambda x, rank: from_front(x, rank).wide, X[:, :, None, None])
    sized = run(lambda x, rank: of_sizes(x, as_array(np.array([2, 3])), rank, 4).wide, X.reshape(6))
    shut = run(lambda x, rank: closed(x, 1, rank).wide, X[:, None, None, :])
    for found in (front, sized, shut):
        np.testing.assert_array_equal(found, wide)


def test_a_value_of_known_rank_is_as_it_is() -> None:
    known: dict[Any, Aligned] = {}
    np.testing.assert_array_equal(run(lambda x, _: aligned(x.value, known).wide), X)
    np.testing.assert_array_equal(run(lambda x, _: aligned(x.value, known).rank), RANK)
    assert known == {}
