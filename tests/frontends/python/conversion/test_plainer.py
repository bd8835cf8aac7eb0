"""Tests of many branches that give names values behind `and` and `or`, where Python may not come to them."""

import ast
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.plainer import without_continues
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

POINTS = np.random.default_rng(4).normal(size=(10, 9))


def behind_or(x):
    total = 0.0
    for value in x:
        if value > 1 or (double := value * 2) > 0.4:
            total += value**2
        else:
            total += double
    return total


def behind_and_with_an_else(x):
    total = 0.0
    for value in x:
        if value > 0 and (double := value * 2) > 0.4:
            total += double
        else:
            total -= value**2
    return total


def one_behind_another(x):
    total = 0.0
    for k in range(1, len(x)):
        if x[k] > 1.2 or (step := x[k] - x[k - 1]) > 0.4 or (area := step * x[k]) < -0.5:
            total += x[k] ** 2
        elif step > 0 and area > 0.1:
            total += step * area
        else:
            total -= step
    return total


def given_before_too(x):
    total, held = 0.0, 0.0
    for value in x:
        if value > 0.5 or (held := held + value) > 0.2:
            total += held * value
        if held < -1 and value > -1 and (held := held * 0.5):
            total += held
    return total


def leaves_the_loop(x):
    total, held = 0.0, 0.0
    for value in x:
        if total > 3 or (held := held + value) > 1.0:
            break
        total += held * value
    return total + held


@pytest.mark.parametrize(
    "function", [behind_or, behind_and_with_an_else, one_behind_another, given_before_too, leaves_the_loop]
)
def test_a_name_has_the_value_that_its_test_came_to(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine numbers are hundreds of paths; sixteen are recorded."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    check_grads(function, POINTS[0], symbolic=False, order=1)


GOING_ON = {
    "at the end of the test": "if x > 1: continue\nfound.append(x)",
    "in the else": "if x > 1: found.append(0)\nelse: continue\nfound.append(x)",
    "in a branch of a branch": "if x > 0:\n    if x > 1: continue\n    found.append(1)\nfound.append(x)",
    "on both sides": "if x > 0:\n    if x > 1: continue\nelse:\n    x -= 1\n    if x < -1: continue\nfound.append(x)",
    "behind others": "found.append(2)\nif x > 1:\n    x += 1\n    continue\nif x < -1: continue\nfound.append(x)",
}


@pytest.mark.parametrize("body", GOING_ON.values(), ids=list(GOING_ON))
def test_a_continue_becomes_an_else_and_the_loop_does_what_it_did(body: str) -> None:
    source = "def f(xs):\n    found = []\n    for x in xs:\n" + textwrap.indent(body, " " * 8) + "\n    return found\n"
    tree = ast.parse(source)
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    without_continues(function, lambda _: True)
    assert not any(isinstance(node, ast.Continue) for node in ast.walk(tree))
    made: list[dict[str, Any]] = [{}, {}]
    for names, each in zip(made, (ast.parse(source), ast.fix_missing_locations(tree)), strict=True):
        exec(compile(each, __file__, "exec"), names)
    points = [-2.0, -0.5, 0.5, 2.0, 1.5, 0.0]
    assert made[1]["f"](points) == made[0]["f"](points)
