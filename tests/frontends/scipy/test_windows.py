"""Windows of lengths known only at run time: the numbers of scipy.signal.get_window."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import get_window

import primsplit as ps
from primsplit.frontends.scipy.windows import has_window, window_of

NAMES = ["boxcar", "hann", "hamming", "blackman", "tukey", ("tukey", 0.3), ("hann",), "hann_periodic"]


@pytest.mark.parametrize("name", NAMES, ids=str)
def test_a_window_of_any_length_is_scipys(name: Any) -> None:
    assert has_window(name)
    made = ps.trace(lambda x: window_of(name, x.shape[0], np.float64), ps.spec("float64", ["N"]))
    for size in (1, 2, 7, 8):
        told = name if not isinstance(name, str) else name.removesuffix("_periodic")
        np.testing.assert_allclose(made(np.zeros(size)), get_window(told, size), atol=1e-15)


def test_a_window_has_the_dtype_that_is_asked_for() -> None:
    made = ps.trace(lambda x: window_of("hann", x.shape[0], np.float32), ps.spec("float64", ["N"]))
    np.testing.assert_allclose(made(np.zeros(4)), np.array([0.0, 0.5, 1.0, 0.5], np.float32), atol=1e-7)
    assert made(np.zeros(4)).dtype == np.float32


@pytest.mark.parametrize("name", ["parzen", ("kaiser", 3.0), ("tukey", 0.0), ("tukey", 1.0), 3.0], ids=str)
def test_windows_of_other_formulas_are_left_to_scipy(name: Any) -> None:
    assert not has_window(name)
