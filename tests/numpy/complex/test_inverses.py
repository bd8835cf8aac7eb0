"""Inverses of sines and tangents of complex arrays: NumPy's values, and gradients by both parts."""

import pytest

from tests.numpy.complex.rows import PLACES, check_elementwise


@pytest.mark.sweep(4)
@pytest.mark.parametrize("place", PLACES["inverses"])
def test_elementwise_functions_are_numpys_and_have_right_gradients(place: int) -> None:
    check_elementwise(place)
