"""A function becomes a program: its inputs, results and constants have names."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.programs.trace_program import check_option, trace_program

X = ps.spec("float64", [3])


def test_the_fields_of_a_named_tuple_name_the_inputs_and_gradients() -> None:
    class Gains(NamedTuple):
        damping: Any
        rate: Any

    def function(gains: Gains) -> Any:
        return np.sum(gains.damping * gains.rate)

    made = ps.split(function, Gains(ps.spec("float64", [2]), ps.spec("float64", [])))
    assert made.joint().inputs == ("gains.damping", "gains.rate")
    assert made.joint().outputs == ("y", "d_gains.damping", "d_gains.rate")


def test_the_fields_of_a_named_tuple_name_the_results_too() -> None:
    class Moments(NamedTuple):
        mean: Any
        square: Any

    def function(moments: Moments, x: Any) -> Any:
        return {"new": Moments(moments.mean + x, moments.square + x**2)}

    program = ps.trace(function, Moments(0.0, 1.0), 2.0)
    assert program.inputs == ("moments.mean", "moments.square", "x")
    assert program.outputs == ("new.mean", "new.square")
    assert ps.trace(lambda x: Moments(x, x**2), 2.0).outputs == ("mean", "square")


def test_an_input_has_the_name_of_its_parameter_or_of_a_function_that_it_is_like() -> None:
    program = trace_program(lambda x, w: {"sum": x + w, "twice": 2 * x}, (X, X), {})
    assert program.inputs == ("x", "w")
    np.testing.assert_array_equal(program(np.ones(3), np.full(3, 2.0))["sum"], [3, 3, 3])
    like = trace_program(lambda *arrays: arrays[0] - arrays[1], (X, X), {}, named_like=lambda a, b: a)
    assert like.inputs == ("a", "b")
    np.testing.assert_array_equal(like(np.ones(3), np.zeros(3)), [1, 1, 1])


def test_other_leaves_are_static_arguments() -> None:
    program = trace_program(lambda x, how, by=2: x * by if how == "times" else x + by, (X, "times"), {"by": 3})
    assert program.inputs == ("x",)
    np.testing.assert_array_equal(program(np.ones(3), "times", by=3), [3, 3, 3])


def test_an_array_that_is_frozen_is_an_error_where_that_is_asked() -> None:
    weights = np.arange(3.0)
    np.testing.assert_array_equal(trace_program(lambda x: x * weights, (X,), {})(np.ones(3)), weights)
    with pytest.raises(SpecError, match=r"test_trace_program\.py"):
        trace_program(lambda x: x * weights, (X,), {}, freeze="error")


def test_a_text_that_is_no_option_is_told_with_those_that_are() -> None:
    check_option("branches", "guard", ("explore", "guard"))
    with pytest.raises(SpecError, match="branches='ask' is none of 'explore', 'guard'"):
        check_option("branches", "ask", ("explore", "guard"))
