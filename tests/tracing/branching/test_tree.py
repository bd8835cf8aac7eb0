"""Recorded paths become one program: what they share is there once, and what they return must fit."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import BranchError, DtypeError, TraceError
from primsplit.testing import check_grads
from tests.tracing.branching.differences import slopes


def thread_example(x):
    """Fixture F5 as its thread writes it; the frozen branch would answer 1.08 each at the first point."""
    t = x.sum()
    return t**3 if t > 1 else t**2


def signs(x):
    y = 0.0
    for i in range(2):
        if x[i] > 0 and x[i] < 2:
            y = y + np.sin(x[i])
        elif not x[i] < -1:
            y = y - x[i] * x[i]
    return max(y, x[0])


def test_many_branches_become_a_tree() -> None:
    points = ([0.1, -0.2], [-0.1, -2.2], [2.5, 0.4], [-3.0, -3.0])
    first, *others = ((np.array(x),) for x in points)
    check_grads(signs, *first, also_at=others)


def test_what_the_paths_share_is_recorded_once() -> None:
    program = ps.trace(thread_example, ps.spec("float64", [3]))
    assert [op.kind for op in program.block.ops] == ["ReduceSum", "Greater", "If"]


def test_paths_may_return_numbers_and_arrays() -> None:
    def f(x):
        return 1.0 if x.sum() > 0 else x.sum() ** 2

    assert ps.grad(f)(np.array([1.0]))[0] == 0.0
    assert ps.grad(f)(np.array([-3.0]))[0] == -6.0


def test_paths_that_return_other_structures_are_refused() -> None:
    with pytest.raises(TraceError, match="structure or number of axes"):
        ps.trace(lambda x: x if x.sum() > 0 else (x, x), ps.spec("float64", [2]))


def test_paths_that_return_other_dtypes_are_refused() -> None:
    with pytest.raises(DtypeError, match="float32 and float64"):
        ps.trace(lambda x: x if x.sum() > 0 else x.astype(np.float32), ps.spec("float64", [2]))


def test_paths_that_return_other_containers_are_told_apart() -> None:
    def either(x):
        return {"low": x} if x[0] > 1 else {"high": x}

    with pytest.raises(TraceError, match="return results of another structure") as caught:
        ps.trace(either, np.ones(2))
    assert [told[told.index("{") :] for told in caught.value.because] == ["{'low': *}", "{'high': *}"]


def test_a_path_that_returns_none_in_place_of_each_array_fails() -> None:
    """As a search does that found nothing."""

    def place_and_height(x: Any) -> Any:
        return (None, {"height": None}) if x < 0 else (x, {"height": x**2})

    program = ps.trace(place_and_height, 3.0)
    assert program(3.0) == (3.0, {"height": 9.0})
    with pytest.raises(ps.PrimsplitError, match="returns None"):
        program(-3.0)


def test_a_path_off_the_end_of_a_function_fails() -> None:
    """Two tests that are all the ways of numbers: only NaN takes neither."""

    def signed(x: Any) -> Any:
        if x > 0:
            return x**2
        if x <= 0:
            return -x
        return None

    slope = ps.grad(signed)
    assert [slope(x) for x in (3.0, -2.0)] == [6.0, -1.0]
    with pytest.raises(ps.PrimsplitError, match="returns None") as caught:
        slope(np.nan)
    assert "if x <= 0" in str(caught.value)


def test_each_condition_is_asked_also_where_nothing_depends_on_it() -> None:
    def function(x, y):
        first, second = x > 0, y > 0
        if first:
            x = x * 3.0
        if second:
            return y * 2.0
        return y * x

    program = ps.trace(function, 1.0, 1.0, branches="static")
    assert program(2.0, 3.0) == 6.0
    for x, y in ((-2.0, 3.0), (2.0, -3.0), (-2.0, -3.0)):
        with pytest.raises(BranchError):
            program(x, y)
    gradient = ps.grad(function, (0, 1), branches="guard")
    points = ((2.0, 3.0), (-2.0, 3.0), (2.0, -3.0), (-2.0, -3.0), (1.0, 1.0))
    wanted = [(0.0, 2.0), (0.0, 2.0), (-9.0, 6.0), (-3.0, -2.0), (0.0, 2.0)]
    assert [tuple(map(float, gradient(*p))) for p in points] == wanted
    assert gradient.statistics.misses == 4


def test_what_lies_between_two_conditions_may_have_sizes_of_its_own() -> None:
    def function(x):
        large = x[x > 0.5]
        if np.sum(large) > 1:
            large = np.concatenate([large, large[:1] * 2.0])
        squares = large**2
        if np.max(squares) > 4:
            return np.sum(squares[1:] * large[:-1])
        return np.sum(squares)

    gradient = ps.grad(function, branches="guard")
    for x in ([0.1, 0.6, 0.2], [0.7, 0.8, 0.1], [0.7, 2.5, 0.9], [0.9, 0.8, 0.7], [3.0, 0.1, 0.2]):
        np.testing.assert_allclose(gradient(np.array(x)), slopes(function, np.array(x))[0], rtol=1e-6, atol=1e-8)
    assert gradient.statistics.misses == 3
