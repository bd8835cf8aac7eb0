"""Joined branches whose sides call what is written in other files, where nothing is asked: it notes what it sets."""

import ast
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.harmless import what_does_more
from primsplit.frontends.python.conversion.statements import effects
from primsplit.ir import Block
from primsplit.ir.errors import ConcretizationError
from tests.frontends.python.conversion import elsewhere
from tests.frontends.python.conversion.elsewhere import slope
from tests.numpy.agreement import check_grads

X = np.array([0.3, 0.7, -0.2])


def by_names_of_a_module(x):
    for _ in range(16):
        found = elsewhere.slope(x)
        if np.linalg.norm(found) < 0.05:
            break
        size = 0.01
        if elsewhere.valley(x - size * found) > elsewhere.valley(x):
            size = size * 0.5
        x = x - size * found
    return np.sum(x)


def by_its_own_name(x):
    for _ in range(16):
        found = slope(x)
        if np.linalg.norm(found) < 0.05:
            return np.sum(x) * 2
        x = x - 0.01 * found
    return np.sum(x)


def by_an_object(x):
    steps = elsewhere.Momentum(x)
    for _ in range(16):
        if steps.step(slope(steps.x)) < 0.001:
            break
    return steps.x @ steps.speed


def of_known_numbers(x):
    total = 0.0
    for k in range(16):
        if x[k % 3] > total:
            total = total + 0.01 * np.sum((elsewhere.differences() @ x) ** 2)
        else:
            total = total - 0.1 * x[k % 2]
    return total


JOINED = [by_names_of_a_module, by_its_own_name, by_an_object, of_known_numbers]


def depth(block: Block) -> int:
    return max((1 + depth(inner) for made in block.ops for inner in made.blocks()), default=0)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", JOINED)
def test_what_other_files_do_is_joined(function: Callable[..., Any]) -> None:
    program = ps.trace(function, X)
    assert depth(program.block) <= 3
    for x in (X, -X, 2 * X[::-1]):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-10)
    check_grads(function, X, symbolic=False, order=1)


def counts_elsewhere(x):
    elsewhere.COUNTS[:] = 0
    total = 0.0
    for value in x:
        if value > 0:
            total = total + elsewhere.counted(value)
    return total


def writes_elsewhere_to_what_is_given(x):
    held, total = x[:3] * 1.0, 0.0
    shown = held
    for value in x:
        if value > 0:
            total = total + elsewhere.halved(held)
        total = total + value * shown[1]
    return total


@pytest.mark.parametrize("function", [counts_elsewhere, writes_elsewhere_to_what_is_given])
def test_what_other_files_write_to_is_right_or_refused(function: Callable[..., Any]) -> None:
    x = np.linspace(-0.9, 1.0, 16)
    try:
        program = ps.trace(function, x)
    except ConcretizationError:
        return
    for values in (x, -x, x[::-1] ** 2):
        np.testing.assert_allclose(program(values), function(values), rtol=1e-12)


@functools.lru_cache(None)
def kept(k: int) -> int:
    return k


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (kept, "held, a function whose results functools keeps in a cache"),
        ({"of": iter([1])}, "held, which holds an iterator"),
        ({"of": 1.0}, None),
    ],
)
def test_what_may_change_something_when_it_is_read_is_named(held: Any, reason: str | None) -> None:
    statements = ast.parse("y = held").body
    assert what_does_more(effects(statements), {"held": held}.__getitem__) == reason
