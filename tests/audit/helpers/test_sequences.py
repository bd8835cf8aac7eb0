"""Lists of arrays."""

import numpy as np

from primsplit.audit.helpers.sequences import erased, sequence_of

A = np.arange(10).reshape(5, 2)


def test_items_at_places_from_either_end() -> None:
    items = [np.array(i) for i in range(3)]
    assert [int(i) for i in erased(items, -1)] == [0, 1]
    assert [int(i) for i in erased(items, 1)] == [0, 2]


def test_parts_of_one_size_or_of_their_own() -> None:
    assert [p.shape for p in sequence_of(A, np.array(2))] == [(2, 2), (2, 2), (1, 2)]
    assert [p.shape for p in sequence_of(A, np.array([1, 4]))] == [(1, 2), (4, 2)]
    assert [p.shape for p in sequence_of(A, axis=1, keepdims=0)] == [(5,), (5,)]
