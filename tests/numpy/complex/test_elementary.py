"""Signs and sinc of complex arrays: NumPy's values, and gradients by both parts."""

import pytest

from tests.numpy.complex.rows import check_smooth, smooth


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", smooth("elementary"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)
