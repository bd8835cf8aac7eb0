"""A function is followed along each of its paths, those that part first before the others."""

from typing import Any

import numpy as np
import pytest

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.errors import TraceError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.following import Exploration, Recorded

NUMBER = Type(np.dtype("float64"), ())


def three_ways(x: Any) -> Any:
    if x > 1:
        return x + 1.0
    return x * 2.0 if x > 0 else x - 3.0


def exploration_of(function: Any, into: tracing.Recording) -> Exploration:
    x = into.param(NUMBER)

    def run() -> Recorded:
        leaves, spec = trees.in_parts(function(Array(x)))
        return [*leaves], spec

    return Exploration(run, into.snapshot())


def kinds(exploration: Exploration) -> list[list[str]]:
    return [[made.kind for made in path.ops] for path in exploration.paths]


def test_the_first_path_answers_true_and_the_others_are_pending() -> None:
    with tracing.recording() as into:
        exploration = exploration_of(three_ways, into)
        exploration.follow(1)
        assert kinds(exploration) == [["Greater", "Add"]]
        assert exploration.pending == [(False,)]
        assert len(exploration.asked()) == 1


def test_all_paths_become_one_tree_of_ifs() -> None:
    with tracing.recording() as into:
        exploration = exploration_of(three_ways, into)
        exploration.follow(64)
        assert kinds(exploration) == [["Greater", "Add"], ["Greater", "Greater", "Mul"], ["Greater", "Greater", "Sub"]]
        results, _ = exploration.recorded()
        assert [made.kind for made in into.ops] == ["Greater", "If"]
        assert [r.type for r in results] == [NUMBER]


def test_a_path_that_raises_is_no_result() -> None:
    def failing(x: Any) -> Any:
        if x > 1:
            raise ValueError("too large")
        return x

    with tracing.recording() as into:
        exploration = exploration_of(failing, into)
        exploration.follow(64)
        assert [type(path.failure) for path in exploration.paths] == [ValueError, type(None)]


def test_results_of_other_structures_are_refused() -> None:
    with tracing.recording() as into:
        exploration = exploration_of(lambda x: x if x > 0 else (x, x), into)
        exploration.follow(64)
        with pytest.raises(TraceError, match="another structure"):
            exploration.recorded()
