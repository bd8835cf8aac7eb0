"""Generators with many branches, whose sides all give a value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

POINTS = np.random.default_rng(4).normal(size=(10, 9))


def two_sides(x):
    def values():
        for value in x:
            if value > 0.2:
                yield value**2
            else:
                yield -value

    return sum(values())


def of_tuples(x):
    def walk():
        size = 1.0
        for value in x:
            if value > 0.5:
                size = size * 1.1
                yield value, size
            elif value > 0:
                yield value * 2, size
            else:
                size = size - value
                yield 0.0, -size

    total = 0.0
    for a, b in walk():
        total = total + (a * b if a > b else -b)
    return total


class Simulation:
    def __init__(self):
        self.state = 0.0

    def run(self, x):
        for value in x:
            if value > self.state:
                self.state = self.state + 0.5 * value
                yield self.state
            else:
                yield self.state * value


def of_an_object(x):
    return sum(k * value for k, value in enumerate(Simulation().run(x)))


def upper(values):
    for value in values:
        if value > 0.2:
            yield value
        else:
            yield value * 0.1


def one_through_another(x):
    def both():
        yield from upper(upper(x))
        yield from upper(x)

    return sum(value**2 * k for k, value in enumerate(both()))


@pytest.mark.parametrize("function", [two_sides, of_tuples, of_an_object, one_through_another])
def test_what_is_given_is_the_side_that_is_taken(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine numbers are hundreds of paths; sixteen are recorded."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    check_grads(function, POINTS[0], symbolic=False, order=1)
