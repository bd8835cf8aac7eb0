"""Tests of many branches that give names values behind `and` and `or`, where Python may not come to them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
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
    check_grads(function, POINTS[0], symbolic=False)
