"""scipy.signal's peaks and extremes: SciPy's places and properties in traced signals, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from tests.frontends.scipy.signals import HILLS, Rows, check_signals


def peaks(x: Any) -> Any:
    places, found = scipys.find_peaks(x, height=(0.5, 9.0), threshold=0.02, prominence=(0.3, None))
    bases = found["left_bases"] + 2 * found["right_bases"]
    sides = found["left_thresholds"] * found["right_thresholds"]
    return x[places], found["peak_heights"] * bases, sides, found["prominences"] ** 2


FUNCTIONS: Rows = {
    "peaks": (peaks, (HILLS,)),
    "elements larger or smaller than others": (
        lambda x: (
            x[scipys.argrelmax(x, order=2)], x[scipys.argrelmin(x)],
            x[scipys.argrelextrema(x, np.greater_equal, mode="wrap")],
        ),
        (HILLS,),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "signal", [[], [1.0], [0.0, 1.0, 0.0], [1.0, 1.0], [0, 2, 2, 2, 2, 1, 1, 3, 3, 0, 5, 5], [0, 1, np.nan, 1, 0, 2, 1]]
)
def test_a_peak_is_the_middle_of_a_plateau_between_lower_numbers(signal: Any) -> None:
    program = ps.trace(lambda x: scipys.find_peaks(x, prominence=0)[0], ps.spec("float64", ["N"]))
    given = np.array(signal, float)
    np.testing.assert_array_equal(program(given), scipys.find_peaks(given, prominence=0)[0])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name])
