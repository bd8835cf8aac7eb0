"""Loops and indices during lowering: counts of turns, and ranges of values."""

import itertools

import pytest

from primsplit.frontends.loops.loopset import Axis, Linear
from primsplit.frontends.loops.lowering.space import Run, Space
from primsplit.frontends.loops.sizes import Sizes


def space() -> Space:
    runs = {"i": Run.between(2, 7), "j": Run.between(0, 3), "none": Run.between(4, 1)}
    return Space(Sizes({}, {"x": (9,)}, {"n": 3}), runs, {})


TURN, OTHER, NUMBER = Linear((("i", 1),)), Linear((("j", 1),)), Linear((("n", 1),))


def values(index: Linear) -> list[int]:
    """Of an index for all turns, without the length of x and the number n."""
    factors = dict(index.terms)
    constant = index.offset + 3 * factors.get("n", 0) + 9 * factors.get(Axis("x", 0), 0)
    turns = itertools.product(range(2, 7), range(3))
    return sorted({factors.get("i", 0) * i + factors.get("j", 0) * j + constant for i, j in turns})


@pytest.mark.parametrize(
    "index",
    [
        TURN,
        TURN + 2,
        TURN * 2 + OTHER - 1,
        OTHER * -1 + 5,
        NUMBER * 2 + TURN,
        Linear(((Axis("x", 0), 1),)) - TURN,
        NUMBER,
    ],
)
def test_the_range_of_an_index_is_that_of_its_values(index: Linear) -> None:
    here = space()
    course = here.course(index)
    found = values(index)
    assert here.lowest(course) == found[0]
    assert here.reach(course) == found[-1] - found[0] + 1
    assert here.lowest(course.shifted(4)) == found[0] + 4
    assert {*course.loops} == {s for s, _ in index.terms if s in ("i", "j")}


def test_loops_have_as_many_turns_as_lie_between_their_ends() -> None:
    here = space()
    assert here.counts(("i", "j", "none")) == (5, 3, 0)
    assert here.reach(here.course(Linear((("none", 1),)))) == 0
