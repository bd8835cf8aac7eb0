"""Notes about a function's code live as long as the code."""

import gc
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.places import PLACES

SOURCE = "def f(x, w):\n    h = np.tanh(x @ w)\n    return np.sum(h * np.sin(h))\n"


def traced_anew() -> None:
    names: dict[str, Any] = {"np": np}
    exec(SOURCE, names)
    ps.split(names["f"], ps.spec("float64", ["N", 3]), ps.spec("float64", [3, 4])).joint()


@pytest.mark.slow
def test_places_go_with_the_functions_that_were_traced() -> None:
    traced_anew()
    gc.collect()
    before = len(PLACES)
    for _ in range(5):
        traced_anew()
        gc.collect()
        assert len(PLACES) <= before + 1
