"""scipy.fftpack: SciPy's values by its own names on traced arrays, and gradients."""

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
    "older cosines": (lambda x: scipy.fftpack.dct(x, norm="ortho") * scipy.fftpack.idct(x, 2, 7), X),
    "older sines": (lambda x: scipy.fftpack.dst(x, 4) * scipy.fftpack.idst(x, type=3, axis=0), X),
    "older cosines of tables": (
        lambda x: scipy.fftpack.dctn(x, axes=[0]) * scipy.fftpack.idctn(x, shape=x.shape),
        TABLE,
    ),
    "older sines of tables": (lambda x: scipy.fftpack.dstn(x) * scipy.fftpack.idstn(x, 3, norm="ortho"), TABLE),
    "older fft": (lambda x: scipy.fftpack.ifft(scipy.fftpack.fft(x, 7) ** 2, overwrite_x=True).real, X),
    "older fft2": (lambda x: scipy.fftpack.ifft2(scipy.fftpack.fft2(x) ** 2).real, TABLE),
    "older fftn": (lambda x: scipy.fftpack.ifftn(scipy.fftpack.fftn(x, axes=[0]) ** 2, shape=x.shape).real, TABLE),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FORMS)
def test_a_transform_in_the_forms_of_scipy_has_its_values_and_gradients(name: str) -> None:
    function, x = FORMS[name]
    check_grads(lambda x: function(x), x, resize=(1,))
