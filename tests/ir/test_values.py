"""Constants: arrays that do not change, whose data are shared by equal arrays."""

import numpy as np
import pytest

from primsplit.ir import (
    Const,
    Type,
    Var,
    data_of,
    same_array,
    same_values,
)


def test_a_long_array_and_its_view_have_the_same_data_until_they_are_written_to() -> None:
    array = np.arange(100.0)
    data = data_of(array)
    assert data_of(array) is data
    assert data_of(array[:]) is data
    assert data_of(array, "w") is not data
    array[3] = -1.0
    assert data_of(array) is not data
    np.testing.assert_array_equal(data.numpy() if not isinstance(data, np.ndarray) else data, np.arange(100.0))


def test_equal_long_arrays_have_the_same_data_and_others_of_equal_samples_do_not() -> None:
    one, other = np.arange(5000.0), np.arange(5000.0)
    data = data_of(one)
    assert data_of(other) is data
    other[3] = -1.0
    assert data_of(other) is not data
    assert data_of(one.astype(np.int64)) is not data
    assert data_of(-np.zeros(100)) is not data_of(np.zeros(100))


def test_an_array_whose_owner_may_write_to_it_again_shares_no_data_with_an_equal_one() -> None:
    frozen = np.arange(100.0)
    frozen.flags.writeable = False
    data = data_of(frozen)
    assert data_of(frozen[:]) is data
    assert data_of(np.arange(100.0)) is not data


def test_arrays_are_equal_bit_by_bit() -> None:
    nan, other = np.float32(np.nan), np.array(0x7FC00001, np.uint32).view(np.float32)
    assert same_array(np.array([nan]), np.array([nan]))
    assert not same_array(np.asarray(nan), np.asarray(other))
    assert not same_array(np.zeros(1), -np.zeros(1))
    assert not same_array(np.zeros(2), np.zeros((2, 1)))
    assert same_array(np.array(["a" * 3], object), np.array(["aa" + "a"], object))


def test_a_constant_does_not_change_when_its_array_is_written_to() -> None:
    array = np.zeros(3)
    const = Const(array)
    array[0] = 1
    assert const.numpy()[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        const.numpy()[0] = 2


def test_a_constant_does_not_change_when_what_its_array_shows_is_written_to() -> None:
    """A view that cannot be written to is no array that nobody writes to; one of bytes is."""
    whole = np.ones(4)
    view = whole[1:]
    view.flags.writeable = False
    constants = [Const(view), Const(view[:1]), Const(np.broadcast_to(whole[0], (3,))), Const(view.reshape(3, 1))]
    whole[:] = 5.0
    for constant in constants:
        np.testing.assert_array_equal(constant.numpy(), np.ones(constant.type.shape))
    fixed = np.frombuffer(b"\0" * 16)
    assert Const(fixed).numpy() is fixed


def test_short_constants_of_the_same_bits_are_the_same_value_and_weights_are_not() -> None:
    x = Var(Type("float64", []))
    assert same_values(x, x)
    assert same_values(None, None)
    assert not same_values(x, Var(x.type))
    assert same_values(Const(np.array(0.5)), Const(np.array(0.5)))
    assert same_values(Const(np.array(np.nan)), Const(np.array(np.nan)))
    assert not same_values(Const(np.array(0.0)), Const(np.array(-0.0)))
    assert not same_values(Const(np.array(0.5)), Const(np.array(0.5, np.float32)))
    assert not same_values(Const(np.array(0.5), role="param"), Const(np.array(0.5)))
    assert not same_values(Const(np.zeros(1000)), Const(np.zeros(1000)))
