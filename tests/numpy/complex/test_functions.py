"""Sizes, exponentials, logarithms and roots of complex arrays: NumPy's values, and gradients by both parts."""

import pytest

from tests.numpy.complex.rows import PLACES, check_elementwise


@pytest.mark.sweep(3)
@pytest.mark.parametrize("place", PLACES["functions"])
def test_elementwise_functions_are_numpys_and_have_right_gradients(place: int) -> None:
    check_elementwise(place)
