"""A function of a library that asks for numbers gets a substitute where its argument is traced."""

import colorsys
import statistics
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.overrides.standing import stands_in_for
from primsplit.ir.errors import NumberAsked, RuleError
from tests.registered import only_here

X = np.array([1.0, 4.0, 2.0])


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Substitutes that a test registers are gone after it."""
    with only_here():
        yield


def mean_of_first(x: Any) -> Any:
    return statistics.fmean([x[0], x[1]]) * x[2]


def register() -> None:
    @stands_in_for(statistics.fmean)
    def fmean(data: Any, weights: Any = None) -> Any:
        return np.mean(np.stack(data))


def test_the_substitute_is_called_where_an_argument_is_traced() -> None:
    with pytest.raises(NumberAsked):
        ps.grad(mean_of_first)(X)
    register()
    np.testing.assert_array_equal(ps.grad(mean_of_first)(X), [1.0, 1.0, 2.5])
    assert mean_of_first(X) == 5.0


def test_a_name_that_was_imported_means_the_substitute_too() -> None:
    from statistics import fmean

    register()
    np.testing.assert_array_equal(ps.grad(lambda x: fmean([x[0], x[0], x[1]]))(X), np.array([2.0, 1.0, 0.0]) / 3.0)


def test_another_thread_calls_the_original() -> None:
    register()
    seen: list[Any] = []
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            seen.append(statistics.fmean([1.0, 4.0]))

    other = threading.Thread(target=call)
    other.start()
    try:
        for _ in range(3):
            ps.trace(mean_of_first, X)
    finally:
        stop.set()
        other.join()
    assert {(type(value), value) for value in seen} == {(float, 2.5)}


def other_form(data: Any, weights: Any = None) -> Any:
    return np.max(np.stack(data))


REFUSED = [
    ("a function that is asked", lambda: stands_in_for(np.sum), r"extend\.implements\(sum\)"),
    ("a ufunc", lambda: stands_in_for(np.sin), r"extend\.implements\(sin\)"),
    ("another's", lambda: stands_in_for(statistics.fmean)(other_form), "fmean has a substitute already"),
    ("other arguments", lambda: stands_in_for(colorsys.rgb_to_hsv)(lambda r: r), "too many positional arguments"),
]


@pytest.mark.parametrize(("wrong", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_substitute_that_would_be_wrong_is_refused_at_the_users_line(
    wrong: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    register()
    monkeypatch.setattr(other_form, "__module__", "theirs")
    with pytest.raises(RuleError, match=told) as caught:
        wrong()
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    stands_in_for(statistics.fmean, replace=True)(other_form)
    np.testing.assert_array_equal(ps.grad(mean_of_first)(X), [0.0, 2.0, 4.0])
