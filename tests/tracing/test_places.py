"""Notes about a function's code live as long as the code."""

import gc
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing import places
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


def test_a_place_that_another_thread_finds_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = places._Places
    found: list[tuple[int, bool, dict[int, Any]]] = []

    class Published(dict[int, Any]):
        """The places of a code object: another thread reads one, and what belongs to it, once it is here."""

        def __init__(self, returned: dict[int, Any]) -> None:
            super().__init__()
            self.returned = returned

        def __setitem__(self, index: int, place: Any) -> None:
            super().__setitem__(index, place)
            found.append((index, index in self.returned, self.returned))

    def made(code: Any, columns: Any, _: Any, returned: Any, called: Any, parts: Any) -> Any:
        return whole(code, columns, Published(returned), returned, called, parts)

    def halves(x: Any) -> Any:
        return x * 0.5, x - 0.5

    def f(x: Any) -> Any:
        left, right = halves(x)
        return left * right

    monkeypatch.setattr(places, "_Places", made)
    ps.trace(f, ps.spec("float64", []))
    assert any(is_returned for _, is_returned, _ in found)
    assert all(is_returned == (index in returned) for index, is_returned, returned in found)
