"""Comparisons that the checks of a rule share: of dtypes, shapes and values."""

import numpy as np
import pytest

from primsplit.testing.failures import CheckFailed
from primsplit.testing.job import close, compare

WANTED = np.array([1.0, 200.0, np.nan])


def test_values_are_compared_relative_to_the_largest() -> None:
    close("y", WANTED + 1e-4, WANTED, 1e-6, "primal")
    with pytest.raises(CheckFailed, match="off by"):
        close("y", WANTED + np.array([1e-3, 0, 0]), WANTED, 1e-6, "primal")
    close("y", np.array([np.inf, 1.0]), np.array([np.inf, 1.0]), 1e-6, "primal")
    with pytest.raises(CheckFailed):
        close("y", np.array([np.nan]), np.array([1.0]), 1e-6, "primal")


@pytest.mark.parametrize("value", [WANTED.astype(np.float32), WANTED[None], np.arange(3)])
def test_dtypes_and_shapes_are_compared_exactly(value: np.ndarray) -> None:
    with pytest.raises(CheckFailed, match=r"not float64\[3\]") as raised:
        compare("y", value, WANTED, 1.0, "primal")
    assert raised.value.check == "primal"


def test_integers_and_truth_values_are_compared_exactly() -> None:
    compare("y", np.arange(3), np.arange(3), 1.0, "primal")
    with pytest.raises(CheckFailed):
        compare("y", np.arange(3), np.arange(3) + np.array([0, 0, 1]), 1.0, "primal")
    with pytest.raises(CheckFailed):
        compare("y", np.array([True]), np.array([False]), 1.0, "primal")
