"""scipy.fft and scipy.fftpack: SciPy's values by its own names, of every type, norm and length, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack

from primsplit.testing import check_grads

X = np.random.default_rng(0).standard_normal(7)
TABLE = np.random.default_rng(1).standard_normal((4, 6))

FORMS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "fft": (lambda x: np.abs(scipy.fft.fft(x, 9, workers=1)), X),
    "fft and back": (lambda x: scipy.fft.ifft(scipy.fft.fft(x) * np.exp(1j * np.arange(len(x)))).real, X),
    "rfft and back": (lambda x: scipy.fft.irfft(scipy.fft.rfft(x, norm="ortho") ** 2, n=len(x)), X),
    "hfft": (lambda x: scipy.fft.hfft(scipy.fft.ihfft(x), len(x)), X),
    "fft2 and back": (lambda x: scipy.fft.ifft2(scipy.fft.fft2(x) ** 2).real, TABLE),
    "fftn and back": (lambda x: scipy.fft.ifftn(scipy.fft.fftn(x, axes=[0]) ** 2, axes=[0]).real, TABLE),
    "fftn of one length": (lambda x: (scipy.fft.fftn(x, 2), scipy.fft.rfftn(x, axes=0)), TABLE),
    "rfftn and back": (lambda x: scipy.fft.irfftn(scipy.fft.rfftn(x) ** 2, s=x.shape), TABLE),
    "rfft2 and back": (lambda x: scipy.fft.irfft2(scipy.fft.rfft2(x) ** 2, s=x.shape), TABLE),
    "shifts": (lambda x: scipy.fft.fftshift(x) * scipy.fft.ifftshift(x), X),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FORMS)
def test_a_transform_in_the_forms_of_scipy_has_its_values_and_gradients(name: str) -> None:
    function, x = FORMS[name]
    check_grads(lambda x: function(x), x, resize=(1,))
