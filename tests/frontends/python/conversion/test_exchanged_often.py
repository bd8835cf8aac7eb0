"""Loops whose branches exchange arrays and write to them: programs grow with the square of the steps, not beyond."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnrolledLoopWarning
from tests.numpy.agreement import check_grads

pytestmark = pytest.mark.filterwarnings(f"ignore::{UnrolledLoopWarning.__module__}.{UnrolledLoopWarning.__name__}")


def accumulated(x):
    total = None
    for k, value in enumerate(x):
        row = value * x[:2]
        if value > 0.2:
            if total is None:
                total = row
            else:
                total += row * k
    return np.sum(total) + x[0] if total is not None else x[0] - x[1]


def exchanged_shared_and_new(x):
    a, b = x[:2] * 1.0, x[2:4] * 1.0
    first = a
    for value in x:
        if value > 0.3:
            a, b = b, a
            a += value
        elif value < -0.3:
            b = a
            b *= 1.1
        else:
            a = value * x[4:6]
    return np.sum(a * 2 + b * 3 + first * first)


def momentum(x):
    speed, point = None, x[:3] * 1.0
    for k in range(len(x) - 3):
        slope = point - x[k : k + 3]
        if np.sum(slope * slope) > 1.5:
            if speed is None:
                speed = slope
            else:
                speed *= 0.5
                speed += slope
            point -= 0.1 * speed
        else:
            speed = None
    return np.sum(point**2)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", [accumulated, exchanged_shared_and_new, momentum])
def test_it_is_right_and_twice_the_steps_are_four_times_the_operators(function: Callable[..., Any]) -> None:
    points = np.random.default_rng(2).normal(size=(8, 9))
    program = ps.trace(function, points[0])
    for x in points:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    check_grads(function, points[0], symbolic=False, order=1)
    short, long = (len(ps.trace(function, ps.spec("float64", [n])).listing().splitlines()) for n in (12, 24))
    assert long < 5 * short
