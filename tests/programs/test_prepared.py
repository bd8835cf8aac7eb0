"""Prepared programs read large arguments where they lie, and small ones from buffers of their own."""

import copy
from typing import Any

import numpy as np
import pytest

import primsplit as ps

SIZES = [3, 100_000]


def doubled(size: int) -> tuple[Any, Any]:
    """A prepared program that doubles, and the array that it was prepared for."""
    x = np.arange(float(size))
    return ps.trace(lambda x: x * 2.0, x).prepare(x), x


def test_a_large_argument_is_not_copied() -> None:
    prepared, x = doubled(100_000)
    for given in (x, x, x + 1.0, x):
        np.testing.assert_array_equal(prepared(given), 2.0 * given)
        assert prepared.addresses()["x"] == (given.ctypes.data,)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_to_an_argument_counts_in_the_next_call(size: int) -> None:
    prepared, x = doubled(size)
    for change in (1.0, 2.0):
        x += change
        np.testing.assert_array_equal(prepared(x), 2.0 * x)


@pytest.mark.parametrize("size", SIZES)
def test_a_result_may_be_the_next_argument(size: int) -> None:
    prepared, x = doubled(size)
    y = prepared(x)
    for power in (4.0, 8.0, 16.0):
        assert prepared(y) is y
        np.testing.assert_array_equal(y, power * x)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("turned", [slice(None, None, -1), slice(None)])
def test_an_argument_of_any_layout_is_read(size: int, turned: slice) -> None:
    prepared, x = doubled(size)
    for given in (x, x[turned], np.repeat(x, 2)[::2], x):
        np.testing.assert_array_equal(prepared(given), 2.0 * given)


@pytest.mark.parametrize("size", SIZES)
def test_inputs_hold_the_last_arguments(size: int) -> None:
    prepared, x = doubled(size)
    prepared(x + 1.0)
    np.testing.assert_array_equal(prepared.inputs["x"], x + 1.0)
    np.testing.assert_array_equal(prepared.run(), 2.0 * x + 2.0)


@pytest.mark.parametrize("size", SIZES)
def test_inputs_that_the_caller_keeps_are_those_of_every_later_run(size: int) -> None:
    prepared, x = doubled(size)
    kept = prepared.inputs["x"]
    prepared(x + 1.0)
    kept[:] = 5.0
    np.testing.assert_array_equal(prepared.run(), np.full(size, 10.0))
    np.testing.assert_array_equal(prepared(kept), np.full(size, 10.0))


@pytest.mark.parametrize("size", SIZES)
def test_a_copy_begins_with_the_last_arguments(size: int) -> None:
    prepared, x = doubled(size)
    prepared(x + 1.0)
    other = copy.copy(prepared)
    x += 7.0
    np.testing.assert_array_equal(other.run(), 2.0 * (np.arange(float(size)) + 1.0))


def test_a_step_reads_its_large_data_where_they_lie_with_both_buffers_of_its_state() -> None:
    data, total = np.ones((400, 100)), ps.state("total", np.zeros(100))

    def step(x: Any) -> Any:
        total[...] = total + np.sum(x, 0)
        return total * 1.0

    prepared = ps.trace(step, data).prepare(data)
    for count in range(1, 5):
        np.testing.assert_array_equal(prepared(data), np.full(100, 400.0 * count))
    assert set(prepared.addresses()["x"]) == {data.ctypes.data}
    for count in range(5, 8):
        np.testing.assert_array_equal(prepared(data + 0.0), np.full(100, 400.0 * count))
