"""Which values an If can output, which are alike for Python, and the words for those that are not."""

import collections
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from primsplit import tracing
from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.missing import NotAssigned
from primsplit.frontends.python.conversion.plainer import RESULT
from primsplit.frontends.python.conversion.side_values import (
    are_of_one_type,
    copied,
    is_array,
    is_output,
    is_same,
    label,
    of_two_kinds,
)
from primsplit.ir import Type, Var
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.complex_array import ComplexArray


class Pair(NamedTuple):
    """Two values."""

    first: Any
    second: Any


@dataclass(frozen=True)
class Point:
    """A value like a tuple."""

    x: Any


@dataclass
class Mutable:
    """No value like a tuple."""

    x: Any


@pytest.fixture(autouse=True)
def recording() -> Iterator[None]:
    with tracing.fresh_stack(), tracing.recording():
        yield


def traced(*shape: Any, dtype: str = "float64") -> Array:
    """Return an array that only the run knows."""
    return Array(Var(Type(np.dtype(dtype), shape)))


def a_complex(*shape: int) -> ComplexArray:
    """Return a complex array of such."""
    return ComplexArray(traced(*shape), traced(*shape))


@pytest.mark.parametrize(
    "value", [1, 2.0, True, 1j, np.float32(1.0), np.zeros(2), (1, (2.0, np.zeros(1))), Pair(1, 2.0), Point(Point(1.0))]
)
def test_numbers_arrays_and_tuples_and_records_of_them_are_outputs(value: Any) -> None:
    assert is_output(value)


@pytest.mark.parametrize(
    "value", [None, "a", [1.0], {"a": 1.0}, (1.0, None), Pair(1.0, "a"), Point([1.0]), Mutable(1.0)]
)
def test_other_values_are_no_outputs(value: Any) -> None:
    assert not is_output(value)


def test_traced_values_are_outputs_and_numbers_cannot_be_written_to() -> None:
    assert is_output((traced(2), a_complex(2)))
    assert is_array(traced(2))
    assert not is_array(np.zeros(2))
    assert not is_array(as_array(np.array(1.0))[()])


def test_lists_and_dictionaries_are_copied_and_other_values_are_not() -> None:
    for value in ([1.0], {"a": 1.0}):
        assert copied(value) == value
        assert copied(value) is not value
    for other in ((1.0, [2.0]), collections.OrderedDict(a=1), np.zeros(2)):
        assert copied(other) is other


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "None"),
        (NotAssigned(("model.py", 1)), "without a value"),
        ([1.0], "a list"),
        (1, "an int"),
        (np.zeros(1), "a ndarray"),
    ],
)
def test_an_error_says_what_a_name_is_on_each_side(value: Any, kind: str) -> None:
    assert of_two_kinds("x", [value, "a"]) == f"x is {kind} on one side and a str on the other"
    assert of_two_kinds("x", [value, value]) == f"x is {kind} on both sides, and no number or array"


def test_an_error_says_whether_a_traced_value_is_a_number() -> None:
    number = traced(3).sum()
    several = Either(traced(dtype="int64"), {0: None, 1: 5.0}, {1}, at=("model.py", 1), called="x")
    assert of_two_kinds("x", [traced(3), several]) == "x is an array on one side and one of several things on the other"
    assert of_two_kinds("x", [number, None]) == "x is a number on one side and None on the other"


def test_an_error_names_a_result_by_words() -> None:
    assert (label("x"), label(RESULT)) == ("x", "what it returns")


def test_values_are_the_same_where_python_cannot_tell_them_apart() -> None:
    one = [1.0]
    assert is_same(one, one)
    assert is_same(0.1, 0.1)
    assert is_same("ab", "".join("ab"))
    for first, second in ((one, [1.0]), (1, 1.0), (1, True), (0.0, -0.0), (np.float64(1.0), np.float64(1.0))):
        assert not is_same(first, second)


def test_values_are_of_one_type_if_class_dtype_and_shape_are_equal() -> None:
    assert are_of_one_type([traced(2), traced(2)])
    assert not are_of_one_type([traced(2), traced(3)])
    assert not are_of_one_type([traced(2), traced(2, 1)])
    assert not are_of_one_type([traced(2), traced(2, dtype="float32")])
    assert are_of_one_type([traced(2), np.zeros(2)])
    assert not are_of_one_type([traced(2), 1.0])
    assert are_of_one_type([a_complex(2), a_complex(2)])


def test_numbers_that_each_side_knows_are_not_of_one_type_unless_equal() -> None:
    assert are_of_one_type([1, 1])
    assert not are_of_one_type([1, 2])
    assert not are_of_one_type([np.zeros(2), np.zeros(2)])
    assert not are_of_one_type([as_array(np.zeros(2)), as_array(np.zeros(2))])


def test_tuples_are_of_one_type_if_each_pair_of_leaves_is() -> None:
    assert are_of_one_type([(traced(2), 1), (traced(2), 1)])
    assert not are_of_one_type([(traced(2), 1), (traced(2), 2)])
    assert not are_of_one_type([(traced(2), 1), (traced(2),)])
    assert not are_of_one_type([(traced(2),), (traced(2), 1)])
