"""scipy.signal's frequency responses of filters: SciPy's values on traced coefficients, and gradients."""

import numpy as np
import pytest
import scipy.signal as scipys

from tests.frontends.scipy.signals import SHORT, Rows, check_signals

FUNCTIONS: Rows = {
    "a response": (
        lambda b, a: (scipys.freqz(b, a, worN=[0.3, 1.0], fs=4.0)[1].real, scipys.freqz(b, a, 3, whole=True)[1].imag),
        (SHORT, np.array([1.5, -0.4, 0.2])),
    ),
    "a response of sections": (
        lambda b: (
            scipys.freqz_sos(np.concatenate([b[:3], [1.0, 0.3, 0.1]])[None], 3)[1].real,
            scipys.sosfreqz(np.concatenate([b[1:], [1.0, 0.2, 0.1]])[None], 3)[1].imag,
        ),
        (SHORT,),
    ),
    "an analogue response": (
        lambda b: (scipys.freqs(b, [1.0, 0.4], [0.5, 2.0])[1].real, scipys.freqs(b, [2.0], [0.5])[1].imag), (SHORT,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name])
