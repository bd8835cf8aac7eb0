"""scipy.signal's resampling: SciPy's values on traced signals, and gradients."""

import numpy as np
import pytest
import scipy.signal as scipys

from tests.frontends.scipy.signals import IMAGE, LONG, SHORT, Rows, check_signals

FUNCTIONS: Rows = {
    "fewer samples by Fourier": (lambda x: scipys.resample(x, 6), (LONG,)),
    "more samples by Fourier": (lambda x: scipys.resample(x, 8, axis=1, window="hamming"), (IMAGE,)),
    "samples at 3/2 of a rate": (lambda x: scipys.resample_poly(x, 3, 2), (LONG,)),
    "samples through a filter of one's own": (
        lambda x, v: scipys.resample_poly(x, 2, 3, axis=0, window=np.concatenate([v, v[:1]])), (IMAGE, SHORT)
    ),
    "zeros between samples": (lambda v, x: scipys.upfirdn(v, x, 2, 3, axis=0), (SHORT, IMAGE)),
    "every second sample": (lambda x: scipys.decimate(np.tile(x, 4), 2, n=2), (LONG,)),
    "every third sample through a window": (
        lambda x: scipys.decimate(x, 3, n=6, ftype="fir", zero_phase=False), (LONG,)
    ),
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name], symbolic=name in {"zeros between samples", "every second sample"})
