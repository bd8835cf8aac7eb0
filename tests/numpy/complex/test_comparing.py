"""Comparisons of complex arrays: NumPy's values, and gradients by both parts."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.complex.rows import check_smooth, smooth
from tests.numpy.matrices import normal, parts


@pytest.mark.parametrize("name", smooth("comparing"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}])
def test_the_extrema_of_complex_numbers_are_numpys(options: dict[str, Any]) -> None:
    def extrema(x: Any, y: Any) -> Any:
        z = x + 1j * y
        return (
            parts(np.max(z, **options)), parts(z.min(**options)), np.argmax(z, **options), z.argmin(**options)
        )  # fmt: skip

    for x, y in ((np.array([[2.0, 1, 2], [0, 0, -1]]), np.array([[1.0, 4, -1], [3, 1, 2]])), normal(2, 3, 4)):
        for found, wanted in zip(ps.trace(extrema, x, y)(x, y), extrema(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.shape == np.shape(wanted)


def test_the_extrema_of_complex_numbers_with_nan_are_nan() -> None:
    def extrema(x: Any) -> Any:
        return parts(np.max(x + 1j)), parts(np.min(x + 1j))

    x = np.array([1.0, np.nan, 2.0])
    assert np.isnan(np.stack(ps.trace(extrema, x)(x))[:, 0]).all()
