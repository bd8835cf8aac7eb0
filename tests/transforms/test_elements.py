"""A parameter is taken apart into the elements that a function reads, if it reads nothing else of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.transforms.elements import element_taken, in_elements
from tests.recording import record

APART: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "two": (lambda p: p[0] * p[2], ["[0]", "[2]"]),
    "one twice": (lambda p: p[1] + p[1], ["[1]"]),
    "from the end": (lambda p: p[-1] + p[2], ["[2]", "[3]"]),
    "slices": (lambda p: np.sum(p[:2]) + p[2] + np.sum(p[3:]), ["[0:2]", "[2]", "[3:4]"]),
    "in a branch": (lambda p: ps.cond(p[0] > 0, lambda: p[1], lambda: p[2]), ["[0]", "[1]", "[2]"]),
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "all": lambda p: np.sum(p) + p[0],
    "overlapping": lambda p: np.sum(p[:2]) + p[1],
    "by an index of the run": lambda p: p[np.argmax(p[0])],
    "every other": lambda p: np.sum(p[::2]),
    "none": lambda p: np.zeros(()) + p.shape[0],
    "itself": lambda p: p,
}


@pytest.mark.parametrize("name", APART)
def test_elements_become_parameters(name: str) -> None:
    function, wanted = APART[name]
    block = record(lambda p: function(p), "float64[4]")
    apart = in_elements(block, 0)
    assert apart is not None
    made, names = apart
    assert list(names.values()) == wanted
    assert list(names) == list(range(1, 1 + len(wanted)))
    assert len(made.params) == 1 + len(wanted)
    assert not any(made.params[0] in op.inputs for op in walk(made))


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_read_otherwise_stays_whole(name: str) -> None:
    assert in_elements(record(lambda p: WHOLE[name](p), "float64[4]"), 0) is None


TAKEN: dict[str, tuple[Callable[[Any], Any], str, int | None]] = {
    "an element": (lambda p: p[2], "float64[4]", 2),
    "an element from the end": (lambda p: p[-1], "float64[4]", 3),
    "a row": (lambda p: p[1], "float64[4, 3]", 1),
    "a column": (lambda p: op.Gather(p, 1, axis=1), "float64[4, 3]", None),
    "a row with its axis": (lambda p: op.Gather(p, [1]), "float64[4, 3]", None),
    "an element by an index of the run": (lambda p: op.Gather(p, op.ArgMax(p, keepdims=0)), "float64[4]", None),
    "an element of an unknown number": (lambda p: p[-1], "float64[N]", None),
    "an element of none": (lambda p: op.Gather(p, 0), "float64[0]", None),
    "an element behind the last": (lambda p: op.Gather(p, 4), "float64[4]", None),
    "another op": (lambda p: op.Sin(p), "float64[4]", None),
}


@pytest.mark.parametrize("name", TAKEN)
def test_the_index_of_a_taken_element_is_counted_from_the_front(name: str) -> None:
    function, spec, wanted = TAKEN[name]
    block = record(lambda p: function(p), spec)
    found = [element_taken(each, block.params[0]) for each in block.ops]
    assert [index for index in found if index is not None] == ([] if wanted is None else [wanted])


def test_a_parameter_of_unknown_size_stays_whole() -> None:
    assert in_elements(record(lambda p: p[0] * p[1], "float64[N]"), 0) is None


def test_a_gradient_of_an_element_of_none_fails_where_it_runs() -> None:
    program = ps.trace(lambda p: op.Gather(p, 0), ps.spec("float64", [0]))
    with pytest.raises(ps.errors.RunError, match="size 0"):
        ps.grad(program)(np.zeros(0))
