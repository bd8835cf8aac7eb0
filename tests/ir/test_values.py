"""The data of constants: shared for one array, never for two arrays that lie in the same memory one after the other."""

import numpy as np

from primsplit.ir import data_of


def test_a_long_array_and_its_view_have_the_same_data_until_they_are_written_to() -> None:
    array = np.arange(100.0)
    data = data_of(array)
    assert data_of(array) is data
    assert data_of(array[:]) is data
    assert data_of(array, "w") is not data
    array[3] = -1.0
    assert data_of(array) is not data
    np.testing.assert_array_equal(data.numpy() if not isinstance(data, np.ndarray) else data, np.arange(100.0))


def test_an_array_in_the_memory_of_another_with_the_same_bits_has_data_of_its_own() -> None:
    memory = bytearray(np.arange(100.0).tobytes())
    first = data_of(np.frombuffer(memory))
    second = data_of(np.frombuffer(memory))
    assert first is not second


def test_other_rows_of_an_array_have_data_of_their_own() -> None:
    array = np.zeros((4, 100))
    assert data_of(array[0]) is data_of(array[0])
    assert data_of(array[0]) is not data_of(array[1])
