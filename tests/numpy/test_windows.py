"""Windows of a size that only the run knows: NumPy's."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps


@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_windows_and_frequencies_of_a_size_that_only_the_run_knows_are_numpys(size: int) -> None:
    def windows(x: Any) -> Any:
        n = x.shape[0]
        plain = [f(n) for f in (np.hanning, np.hamming, np.blackman, np.bartlett)]
        return *plain, np.kaiser(n, 3.0), np.fft.fftfreq(n, 0.1), np.fft.rfftfreq(n), np.fft.fftfreq(n, x[0])

    x = np.arange(1.0, size + 1)
    for found, wanted in zip(ps.trace(windows, ps.spec("float64", ["N"]))(x), windows(x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize(
    "function",
    [
        *(np.hanning, np.hamming, np.blackman, np.bartlett, np.tri),
        lambda n: np.kaiser(n, 2.0),
        lambda n: np.tri(3, n),
        lambda n: np.stack(np.triu_indices(n)),
        lambda n: np.stack(np.diag_indices(n)),
    ],
)
def test_of_a_negative_number_that_only_the_run_knows_there_are_none(function: Any) -> None:
    program = ps.trace(lambda x: function(int(x)), 3.0)
    for size in (3.0, 0.0, -1.0, -5.0):
        np.testing.assert_allclose(program(size), function(int(size)), atol=1e-15)
