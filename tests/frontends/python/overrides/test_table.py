"""The table of substitutes for functions of libraries: which is called, and when."""

import array
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.overrides.table import (
    ModuleSubstitute,
    Substitute,
    holds_array,
    is_function,
    is_stood_in_for,
    is_unknown,
    register,
    register_method,
    substitute_of,
    substitute_of_method,
    when_traced,
    when_unknown,
)
from primsplit.tracing.asarray import as_array


def asks(x: Any) -> Any:
    """Needs a number."""
    return float(x) + 1


def instead(x: Any) -> Any:
    return x + 1


class Library:
    """A class of a library."""

    def scaled(self, x: Any) -> Any:
        return float(x) * 2

    again = scaled


class Inherits(Library):
    """Has its method from another class."""


def test_a_substitute_is_its_original_outside_of_a_conversion() -> None:
    made = when_traced(asks, instead)
    assert made(1.5) == 2.5
    assert repr(made) == repr(asks)
    assert made.__name__ == "asks"
    assert isinstance(3, Substitute(int, instead))


def test_traced_arguments_go_to_the_substitute_and_known_ones_to_the_original() -> None:
    calls: list[str] = []

    def traced(x: Any) -> Any:
        calls.append("traced")
        return x * 1

    def original(x: Any) -> Any:
        calls.append("original")
        return x

    def f(x: Any) -> Any:
        known = as_array(np.array(2.0))
        when_unknown(original, traced).traced(known)
        when_unknown(original, traced).traced(x)
        when_traced(original, traced).traced([1.0, (x,)])
        return when_traced(original, traced).traced(1.0) + x

    ps.trace(f, 1.0)
    assert calls == ["original", "traced", "traced", "original"]


def test_results_for_known_arguments_are_adapted_with_their_arguments() -> None:
    made = when_traced(asks, instead, known=lambda found, given: (found, given))
    assert made.traced(1.0) == (2.0, ((1.0,), {}))


def test_a_method_is_registered_once_for_all_its_names_where_it_is_defined() -> None:
    register_method(Inherits, "scaled", instead)
    register_method(Library, "again", instead)
    register_method(Library, "missing", instead)
    register_method(array.array, "count", instead)
    substitute = substitute_of_method(vars(Library)["scaled"])
    assert substitute is substitute_of_method(vars(Library)["again"])
    assert substitute(Library(), 1.5) == 3.0
    of_compiled = substitute_of_method(array.array.count)
    assert of_compiled is not None
    assert of_compiled(array.array("d", [1.5, 2.0]), 2.0) == 1


def test_objects_and_modules_with_a_substitute_are_told_apart() -> None:
    original, module = object(), ModuleSubstitute(np)
    assert (is_stood_in_for(original), substitute_of(original)) == (False, original)
    register(original, Substitute(original, instead))
    assert is_function(original)
    assert substitute_of(original).traced is instead
    held = object()
    register(held, module)
    assert is_stood_in_for(held)
    assert not is_function(held)


@pytest.mark.parametrize(("value", "wanted"), [(1.0, False), ([1.0, [2.0]], False), (np.ones(2), False)])
def test_plain_values_hold_nothing_traced(value: Any, wanted: bool) -> None:
    assert holds_array(value) is is_unknown(value) is wanted
