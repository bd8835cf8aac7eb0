"""scipy.signal's filters built on `lfilter`: SciPy's values on traced arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import RunError
from tests.frontends.scipy.signals import IMAGE, LONG, SECTIONS, SHORT, Rows, check_signals

FUNCTIONS: Rows = {
    "sections": (lambda x, y: scipys.sosfilt(SECTIONS, x) * y, (LONG, LONG[::-1])),
    "sections along the first axis": (
        lambda s, x: scipys.sosfilt(np.insert(np.delete(s, 3, axis=1), 3, 1.0, axis=1), x, axis=0), (SECTIONS, IMAGE)
    ),
    "the state for a step": (lambda b, a: scipys.lfilter_zi(b, a), (SHORT, np.array([1.5, -0.4, 0.2]))),
    "the sections' states": (
        lambda z, x: scipys.sosfilt(SECTIONS, x, zi=z), (np.array([[0.1, 0.3], [-0.2, 0.5]]), LONG)
    ),
    "both ways": (lambda b, x: scipys.filtfilt(b, [1.0, -0.4], x, padlen=3), (SHORT, LONG)),
    "both ways along the first axis": (
        lambda a, x: scipys.filtfilt([0.5, 0.2], a, x, axis=0, padtype="even", padlen=2), (np.array([1.5, -0.4]), IMAGE)
    ),
    "both ways with constant ends": (
        lambda b, x: scipys.filtfilt(b, [1.0, 0.3], np.tile(x, 3), padtype="constant"), (SHORT, LONG)
    ),
    "both ways without ends": (lambda b, x: scipys.filtfilt(b, 1.5, x, padtype=None), (SHORT, LONG)),
    "sections both ways": (lambda x: scipys.sosfiltfilt(SECTIONS[:1], x, padlen=4), (LONG,)),
    "sections both ways along the first axis": (
        lambda x: scipys.sosfiltfilt(SECTIONS, x, axis=0, padtype="even", padlen=2), (IMAGE,)
    ),
    "a filter's past": (lambda b, y: scipys.lfiltic(b, [2.0, 0.3, 0.1], y, [0.5]), (SHORT, LONG[:2])),
    "a convolution undone": (lambda x, v: scipys.deconvolve(x, v), (LONG, np.array([1.5, 0.4, -0.2]))),
}  # fmt: skip


def test_a_run_with_a_signal_that_is_too_short_to_be_continued_fails() -> None:

    def f(x: Any) -> Any:
        return scipys.filtfilt([0.5, 0.2], [1.0, -0.3], x)

    program = ps.trace(f, ps.spec("float64", ["N"]))
    np.testing.assert_allclose(program(LONG[:7]), f(LONG[:7]), rtol=1e-11)
    with pytest.raises(RunError):
        program(LONG[:6])


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_signals(FUNCTIONS[name], symbolic=name != "a convolution undone")  # its parts have known lengths
