"""Powers of complex arrays: NumPy's values, and gradients by both parts."""

import pytest

from tests.numpy.complex.rows import PLACES, check_elementwise, check_smooth, smooth


@pytest.mark.parametrize("place", PLACES["powers"])
def test_elementwise_functions_are_numpys_and_have_right_gradients(place: int) -> None:
    check_elementwise(place)


@pytest.mark.parametrize("name", smooth("powers"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)
