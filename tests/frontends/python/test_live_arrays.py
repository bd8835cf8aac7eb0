"""Functions that are run with names of arrays meaning others, where that is certain."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.frontends.python.live_arrays import with_live_arrays

DATA = np.arange(6.0).reshape(2, 3)


def meets(w: Any) -> Any:
    return np.sum(DATA @ w)


def through_another(w: Any) -> Any:
    return 2 * meets(w)


def asks(w: Any) -> Any:
    return np.sum(DATA @ w) * (2.0 if isinstance(DATA, np.ndarray) else 3.0)


def keeps(w: Any) -> Any:
    KEPT.append(DATA)
    return np.sum(DATA @ w)


def in_a_list(w: Any) -> Any:
    return np.sum(HELD[0] @ w)


KEPT: list[Any] = []
HELD = [DATA]


@pytest.mark.parametrize("function", [meets, through_another])
def test_a_name_means_another_array_for_the_time_of_the_run(function: Callable[[Any], Any]) -> None:
    reading = with_live_arrays(function, [DATA])
    assert reading is not None
    w, other = np.ones(3), 10 * DATA
    with reading([other]) as run:
        np.testing.assert_allclose(run(w), 10 * function(w))
    np.testing.assert_allclose(function(w), 15.0 if function is meets else 30.0)
    assert meets.__globals__["DATA"] is DATA


@pytest.mark.parametrize("function", [asks, keeps, in_a_list, np.sum])
def test_a_function_that_may_tell_keep_or_reach_it_in_another_way_is_refused(function: Callable[[Any], Any]) -> None:
    assert with_live_arrays(function, [DATA]) is None
