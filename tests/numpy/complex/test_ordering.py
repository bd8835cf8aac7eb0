"""Orders of complex arrays: NumPy's values, and gradients by both parts."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.complex.rows import check_smooth, smooth
from tests.numpy.matrices import parts


@pytest.mark.parametrize("name", smooth("ordering"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)


def test_complex_numbers_are_sorted_by_real_then_imaginary_part() -> None:
    x, y = np.array([[2.0, 1, 2, np.nan], [0, 0, -1, 5]]), np.array([[1.0, 4, -1, 0], [3, 1, 2, 2]])

    def ordered(x: Any, y: Any) -> Any:
        z = x + 1j * y
        z.sort()
        return (
            parts(np.sort(x + 1j * y, axis=None)),
            np.argsort(x + 1j * y, axis=0),
            parts(z),
            parts(np.sort_complex(x)),
        )

    for found, wanted in zip(ps.trace(ordered, x, y)(x, y), ordered(x, y), strict=True):
        np.testing.assert_array_equal(found, wanted)
