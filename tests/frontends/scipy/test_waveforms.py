"""scipy.signal's waveforms: SciPy's values at traced times and frequencies, and gradients."""

import pytest
import scipy.signal as scipys

from tests.frontends.scipy.signals import LONG, SHORT, Rows, check_signals

FUNCTIONS: Rows = {
    "chirps": (
        lambda t, f: (
            scipys.chirp(t, f[0], 3.0, f[1]), scipys.chirp(t, f[0], f[2], 5.0, method="quadratic", phi=30),
            scipys.chirp(t, 1.0, 3.0, f[2] ** 2 + 2, method="log"),
        ),
        (LONG, SHORT),
    ),
    "saws": (lambda t, w: (scipys.sawtooth(t, 0.3 + 0.1 * w), t * scipys.square(t, 0.4)), (LONG, SHORT[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name])
