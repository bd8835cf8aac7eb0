"""Inputs that act only through a comparison, a rounding or a choice are found, also inside of branches and loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.inline import inline_calls
from primsplit.transforms.smoothness import cut_inputs, smoothly_needed
from tests.recording import record

Function = Callable[..., Any]


def cut_of(function: Function) -> dict[int, list[str]]:
    """The inputs x and a of a function that are cut, and the ops that cut them."""
    spec = ps.spec("float64", [3])
    block = inline_calls(ps.trace(lambda x, a: function(x, a), spec, spec).block)
    found = cut_inputs(block, [0, 1], range(len(block.results)))
    return {position: [step.kind for step in ops] for position, ops in found.items()}


CUT: dict[str, tuple[Function, dict[int, list[str]]]] = {
    "a threshold": (lambda x, a: np.where(x < a, x, 0.0), {1: ["Less"]}),
    "both sides of a comparison": (lambda x, a: op.Cast(x < a, to=np.float64), {0: ["Less"], 1: ["Less"]}),
    "a count of the places found": (lambda x, a: a * np.nonzero(x)[0].size, {0: ["Cast"]}),
    "a number of the chosen": (lambda x, a: a * x[x > 0].shape[0], {0: ["Greater"]}),
    "a rounding": (lambda x, a: np.floor(x) * a, {0: ["Floor"]}),
    "two ways that are cut": (lambda x, a: np.floor(a) + np.where(a > 0, x, 1.0), {1: ["Floor", "Greater"]}),
    "in a branch": (lambda x, a: ps.cond(x[0] > 0, lambda: np.ceil(a) * x, lambda: x), {1: ["Ceil"]}),
    "the condition of a branch": (lambda x, a: ps.cond(a[0] > 0, lambda: x, lambda: 2.0 * x), {1: ["Greater"]}),
    "in a loop": (
        lambda x, a: ps.scan(lambda c, r: (c + np.where(r > 0, c, 1.0), None), x[0], a)[0], {1: ["Greater"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CUT)
def test_an_input_without_a_smooth_way_is_cut(name: str) -> None:
    function, wanted = CUT[name]
    assert cut_of(function) == wanted


WHOLE: dict[str, Function] = {
    "a smooth way beside one that is cut": lambda x, a: np.where(x < a, x, a),
    "an input that acts on nothing": lambda x, a: 2.0 * x,
    "an input whose size alone is read": lambda x, a: x * a.shape[0],
    "a gradient that is stopped": lambda x, a: x * ps.stop_gradient(a),
    "a carry that takes it on": lambda x, a: ps.scan(lambda c, r: (c + r, None), 0.0, a)[0] * x,
    "an element of one branch": lambda x, a: ps.cond(x[0] > 0, lambda: a, lambda: x),
}


@pytest.mark.parametrize("name", WHOLE)
def test_other_inputs_are_not(name: str) -> None:
    assert cut_of(WHOLE[name]) == {}


def test_only_inputs_and_results_that_are_asked_for_count() -> None:
    block = record(lambda x, a: (op.Floor(a), op.Mul(x, a)), "float64[3]", "float64[3]")
    assert cut_inputs(block, [0, 1], [0, 1]) == {}
    assert list(cut_inputs(block, [0, 1], [0])) == [1]
    assert cut_inputs(block, [0], [0]) == {}


def test_integers_have_no_derivative_that_could_be_missed() -> None:
    block = record(lambda n, x: op.Cast(op.Less(n, np.int64(3)), to=np.float64), "int64[3]", "float64[3]")
    assert cut_inputs(block, [0, 1], [0]) == {}


def test_a_carry_is_needed_smoothly_if_a_later_step_needs_it() -> None:
    def turns(x: Any, a: Any) -> Any:
        return ps.scan(lambda c, _: ((c[1], np.sin(c[0])), None), (x, a), None, 3)[0][0]

    spec = ps.spec("float64", [])
    block = inline_calls(ps.trace(turns, spec, spec).block)
    assert set(block.params) <= smoothly_needed(block.ops, block.results)
