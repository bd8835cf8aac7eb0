"""Lines of a nest under construction: each once, and none that no result needs."""

import numpy as np
import pytest

from primsplit.frontends.loops.builder import NestBuilder
from primsplit.frontends.loops.building import is_one_to_one, loops_of
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.loopset import Linear
from primsplit.frontends.loops.notation import parse_notation


def test_loops_of_an_index_are_those_in_it_and_in_what_it_is_read_from() -> None:
    nest = NestBuilder()
    x, rows = nest.arrays("x", "rows")
    i, j = nest.loop("i", x.length(0)), nest.loop("j", 4)
    assert {*loops_of(i * 2 + j - 1)} == {"i", "j"}
    assert {*loops_of(x.reference(rows.picked(i), j))} == {"i", "j"}
    assert not [*loops_of(x.length(0))]


def test_an_element_is_written_by_one_turn_where_each_loop_is_an_index() -> None:
    i, j = Linear((("i", 1),)), Linear((("j", 1),))
    assert is_one_to_one((i, j), ("i", "j"))
    assert is_one_to_one((i + 1, j * 2), ("i", "j"))
    assert not is_one_to_one((i,), ("i", "j"))
    assert not is_one_to_one((i + j,), ("i", "j"))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("y[i] := x[i]*x[i]", ["load", "compute", "store"]),
        ("s[i] := exp(x[i]); y[i] := x[i]", ["load", "compute", "store", "store"]),
        ("y[i] := exp(x[i]) + exp(x[i])", ["load", "compute", "compute", "store"]),
    ],
)
def test_an_expression_that_occurs_twice_is_one_line(text: str, kinds: list[str]) -> None:
    assert [line.kind for line in parse_notation(text).operations] == kinds


def test_what_no_result_needs_is_left_out() -> None:
    nest = NestBuilder()
    (x,) = nest.arrays("x")
    y = nest.made("y")
    i = nest.loop("i", x.length(0))
    unused = (x[i] * 3.0).apply("exp")
    y[i] = x[i] + 1.0
    assert unused.loops == ("i",)
    found = nest.finished()
    assert [line.function for line in found.operations if line.kind == "compute"] == ["add"]
    np.testing.assert_array_equal(interpret(found, {"x": np.array([1.0, 2.0])})["y"], [2.0, 3.0])
