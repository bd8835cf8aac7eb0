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


def asks_for_none(w: Any) -> Any:
    return np.sum(DATA @ w) * (2.0 if w is None else 1.0)


def asks(w: Any) -> Any:
    return np.sum(DATA @ w) * (2.0 if isinstance(DATA, np.ndarray) else 3.0)


def keeps(w: Any) -> Any:
    KEPT.append(DATA)
    return np.sum(DATA @ w)


def in_a_list(w: Any) -> Any:
    return np.sum(HELD[0] @ w)


def imports(w: Any) -> Any:
    import math

    return np.sum(DATA @ w) * math.pi


def compares_by_identity(w: Any) -> Any:
    return np.sum(DATA @ w) * (2.0 if DATA is w else 3.0)


def assigns_elements(w: Any) -> Any:
    found = np.zeros(2)
    found[:] = DATA @ w
    return np.sum(found)


def assigns_a_global(w: Any) -> Any:
    global LAST  # noqa: PLW0603
    LAST = DATA
    return np.sum(DATA @ w)


def matches(w: Any) -> Any:
    data: Any = DATA
    match data:
        case [first, _]:
            return np.sum(first * w)
    return 0.0


def keeps_in_a_cell() -> Callable[[Any], Any]:
    last: Any = None

    def f(w: Any) -> Any:
        nonlocal last
        last = DATA
        return np.sum(last @ w)

    return f


def without_source() -> Callable[[Any], Any]:
    names: dict[str, Any] = {"np": np, "DATA": DATA}
    exec("def f(w):\n    return np.sum(DATA @ w)", names)
    found: Callable[[Any], Any] = names["f"]
    return found


LAST: Any = None
KEPT: list[Any] = []
HELD = [DATA]


@pytest.mark.parametrize("function", [meets, through_another, asks_for_none])
def test_a_name_means_another_array_for_the_time_of_the_run(function: Callable[[Any], Any]) -> None:
    reading = with_live_arrays(function, [DATA])
    assert reading is not None
    w, other = np.ones(3), 10 * DATA
    with reading([other]) as run:
        np.testing.assert_allclose(run(w), 10 * function(w))
    np.testing.assert_allclose(function(w), 30.0 if function is through_another else 15.0)
    assert meets.__globals__["DATA"] is DATA


NOT_CERTAIN = [
    asks, keeps, in_a_list, np.sum, imports, compares_by_identity, assigns_elements, assigns_a_global, matches,
    keeps_in_a_cell(), without_source(),
]  # fmt: skip


@pytest.mark.parametrize("function", NOT_CERTAIN)
def test_a_function_that_may_tell_keep_or_reach_it_in_another_way_is_refused(function: Callable[[Any], Any]) -> None:
    assert with_live_arrays(function, [DATA]) is None
