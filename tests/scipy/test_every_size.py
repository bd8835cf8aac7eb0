"""SciPy's functions at sizes that only the run knows, 0, 1 and 2 among them: its answer, or none where it raises."""

from typing import Any

import numpy as np
import pytest
import scipy.signal

from tests.scipy.every_size import check_every_size

SIGNAL = scipy.signal
SECTIONS = np.array([[1.0, 0.5, 0.0, 1.0, 0.1, 0.0], [1.0, 0.2, 0.1, 1.0, 0.3, 0.1]])

Row = tuple[Any, ...]


def sections(x: Any) -> Any:
    """Filters of second order with these coefficients, but for the leading ones."""
    return np.concatenate([1 + 0.2 * x[:, :1], 0.2 * x[:, 1:3], np.ones_like(x[:, :1]), 0.2 * x[:, 3:]], axis=1)


FILTERS: dict[str, Row] = {
    "lfilter": (SIGNAL.lfilter, "leading N", "leading M", "3"),
    "lfilter of nothing": (lambda b, x: SIGNAL.lfilter(b, [1.0], x), "leading N", "M"),
    "lfilter of rows of nothing": (lambda a, x: SIGNAL.lfilter([1.0, 0.5], a, x), "leading N", "M 2"),
    "lfilter from a state": (lambda b, x, z: SIGNAL.lfilter(b, [1.0, 0.2], x, zi=z), "leading N", "3", "M"),
    "lfilter_zi": (SIGNAL.lfilter_zi, "leading N", "leading M"),
    "lfiltic": (lambda b, y, x: SIGNAL.lfiltic(b, [1.0, -0.2], y, x), "leading N", "2", "M"),
    "filtfilt": (lambda b, x: SIGNAL.filtfilt(b, [1.0, 0.1], x), "leading N", "13"),
    "sosfilt": (lambda s, x: SIGNAL.sosfilt(sections(s), x), "N 5", "M"),
    "sosfilt of a signal": (lambda x: SIGNAL.sosfilt(SECTIONS, x), "M"),
    "sosfilt from states": (lambda x, z: SIGNAL.sosfilt(SECTIONS, x, zi=z), "3", "N 2"),
    "sosfilt from as many states": (lambda s, x, z: SIGNAL.sosfilt(sections(s), x, zi=z), "N 5", "3", "N 2"),
    "deconvolve": (SIGNAL.deconvolve, "N", "leading M"),
    "deconvolve by known numbers": (lambda x: SIGNAL.deconvolve(x, [1.0, 0.5]), "N"),
    "convolution of integers": (lambda x, y: SIGNAL.convolve(x, y, "same"), "places N", "places M"),
}

ROWS: dict[str, Row] = FILTERS


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_function_is_scipys_at_every_size(name: str) -> None:
    function, *told = ROWS[name]
    check_every_size(function, *told)
