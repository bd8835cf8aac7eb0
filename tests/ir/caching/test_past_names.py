"""An object is met by a name in a function's code, or past it: in a container, in an attribute, or by a library."""

from collections.abc import Callable
from json import dumps
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from primsplit.ir.caching.past_names import met_past_names

ARRAY, OTHER = np.arange(3.0), np.arange(3.0)
LISTED, NAMED = [1.0, ARRAY], {"array": ARRAY}
HOLDER = SimpleNamespace(array=ARRAY)
OBJECTS = np.array([ARRAY, None], dtype=object)


def by_name() -> Any:
    return ARRAY.sum()


def by_name_in_a_callee() -> Any:
    return by_name()


def in_a_closure() -> Callable[[], Any]:
    inner = ARRAY
    return lambda: inner.sum()


def by_a_library() -> Any:
    return dumps


PAST: dict[str, Callable[[], Any]] = {
    "in a list": lambda: LISTED,
    "in a dictionary": lambda: NAMED["array"],
    "in an attribute": lambda: HOLDER.array,
    "in an array of objects": lambda: OBJECTS[0],
    "by a library": by_a_library,
}


@pytest.mark.parametrize("name", PAST)
def test_an_object_is_met_past_names(name: str) -> None:
    assert met_past_names(PAST[name], frozenset({id(ARRAY)}))


@pytest.mark.parametrize("function", [by_name, by_name_in_a_callee, in_a_closure()])
def test_an_object_that_names_alone_lead_to_is_not(function: Callable[[], Any]) -> None:
    assert not met_past_names(function, frozenset({id(ARRAY)}))


def test_other_objects_do_not_count() -> None:
    assert not met_past_names(PAST["in a list"], frozenset({id(OTHER)}))
