"""A conversion that a thread runs answers for the special methods of the user's objects."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.tracing.converting import method_of, run_with, running


class Holder:
    """An object of a user's."""

    def __array__(self) -> Any:
        return np.arange(3.0)


class Doubling:
    """A conversion in which `__array__` of a Holder gives twice its numbers, and other methods stay."""

    def changed(self, kind: type, name: str) -> Callable[[Any], Any] | None:
        """Return the copy of a method."""
        return (lambda holder: 2 * holder.__array__()) if (kind, name) == (Holder, "__array__") else None


def test_without_a_conversion_a_method_is_the_objects_own() -> None:
    assert running() is None
    np.testing.assert_array_equal(method_of(Holder(), "__array__")(), np.arange(3.0))


def test_inside_of_a_conversion_its_copy_is_called() -> None:
    conversion = Doubling()
    with run_with(conversion):
        assert running() is conversion
        np.testing.assert_array_equal(method_of(Holder(), "__array__")(), 2 * np.arange(3.0))
        assert method_of([1, 2], "__len__")() == 2
    assert running() is None


def test_a_conversion_is_one_threads_and_the_inner_one_counts() -> None:
    seen: list[Any] = []
    inner = Doubling()
    with run_with(Doubling()):
        thread = threading.Thread(target=lambda: seen.append(running()))
        thread.start()
        thread.join()
        with run_with(inner):
            assert running() is inner
        assert running() not in (None, inner)
    assert seen == [None]
