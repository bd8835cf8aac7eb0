"""Methods of known NumPy arrays with traced arguments."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.overrides.array_methods import method_of_array

X = np.array([2.0, 0.0, 1.0])


def test_a_copy_takes_traced_values() -> None:
    def f(x: Any) -> Any:
        copy = TABLE.copy()
        copy[1] = x
        return copy, TABLE.astype(np.float32)

    copy, narrow = ps.trace(f, 5.0)(7.0)
    np.testing.assert_array_equal(copy, [1.0, 7.0, 3.0])
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(TABLE, [1.0, 2.0, 3.0])


TABLE = np.array([1.0, 2.0, 3.0])


def test_a_method_of_a_known_array_takes_traced_arguments() -> None:
    def f(x: Any) -> Any:
        return TABLE.dot(x), TABLE.clip(x[1], x[0]), TABLE.sum()

    for found, wanted in zip(ps.trace(f, X)(X), (TABLE.dot(X), TABLE.clip(0.0, 2.0), 6.0), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_writing_a_traced_value_to_a_known_array_is_refused_and_plain_values_are_written() -> None:
    with pytest.raises(ps.PrimsplitError):
        ps.trace(lambda x: TABLE.fill(x), 1.0)
    own = np.zeros(2)
    method_of_array(own.fill)(4.0)
    np.testing.assert_array_equal(own, [4.0, 4.0])


def test_methods_that_need_nothing_are_themselves() -> None:
    method = TABLE.tolist
    assert method_of_array(method) is method
