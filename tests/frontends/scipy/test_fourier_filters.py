"""scipy.ndimage's Fourier filters: SciPy's values on traced spectra, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

from primsplit.testing import check_grads

random = np.random.default_rng(6)

IMAGE = random.standard_normal((5, 6))

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "filters of spectra": (
        lambda x: (
            np.fft.ifft2(scipys.fourier_gaussian(np.fft.fft2(x), (1.0, 0.4))).real,
            np.fft.irfft2(scipys.fourier_uniform(np.fft.rfft2(x), 3, n=6)),
            np.fft.ifft2(scipys.fourier_shift(np.fft.fft2(x), (x[0, 0], 0.5))).real,
            scipys.fourier_gaussian(x, 0.3),
        ),
        IMAGE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given)
