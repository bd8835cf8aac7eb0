"""Writes to arrays in branches and in loops that end by a traced condition: each spelling is one If a step."""

import inspect
import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block

WRITES = (
    "y[0] += k",
    "np.add.at(y, [0, 1, 1], np.cos(y[[0, 1, 0]]) * k)",
    "np.subtract.at(y, [1, 1], k)",
    "np.negative.at(y, [0])",
    "y[:] = np.add.accumulate(y) * k",
    "y += 0.1 * np.add.reduceat(np.multiply.outer(y, y).ravel(), [0, 2])",
    "np.add(y, k, out=y)",
    "np.add(y, k, y)",
    "np.add(y, k, **{'out': y})",
    "np.cumsum(y * k, out=y)",
    "(y * k).cumsum(out=y)",
    "np.copyto(y, k * y)",
    "np.put(y, [0], k)",
    "y.put([1], k)",
    "y.fill(k)",
    "y.sort()",
    "np.place(y, y > 0.2, [k])",
    "np.put_along_axis(y, np.array([1]), k, 0)",
    "y[:] = np.sort(np.append(y[1:], k))",
)
FUNCTIONS = """
def branches(x):
    y, k = x[:2] * 0.5, x[2]
    for j in range(8):
        if np.sum(y) * k > 0.0213 * j:
            WRITE
        else:
            y = 0.8 * y
    return np.sum(y**2)

def of_a_callee(x):
    y, k, count = x[:2] * 0.5, x[2], 0.0
    def change(y):
        WRITE
    for j in range(8):
        if np.sum(y) * k > 0.0213 * j:
            change(y)
            count = count + 0.1 * k
    return np.sum(y**2) + count

def of_a_view(x):
    y, k, count = x[:2] * 0.5, x[2], 0.0
    row = y[:]
    for j in range(8):
        if np.sum(row) * k > 0.0213 * j:
            WRITE
            count = count + 0.1 * k
    return np.sum(row**2) + count

def a_loop(x):
    y, k, old = x[:2] * 0.5, x[2], x[2] + 2
    for j in range(12):
        if old * k < 0.1:
            break
        y = 0.7 * y
        old = np.sum(y)
        WRITE
    return np.sum(y**2) + old
"""
POINTS = (np.array([0.917, 0.433, 0.311]), np.array([0.223, 0.719, -0.437]), np.array([-0.613, 0.529, 1.127]))
numbers = itertools.count()


def functions(write: str) -> list[Callable[..., Any]]:
    text, filename = FUNCTIONS.replace("WRITE", write), f"<writes {next(numbers)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    names: dict[str, Any] = {"np": np}
    exec(compile(text, filename, "exec"), names)
    return [f for f in names.values() if inspect.isfunction(f)]


def depth(block: Block) -> int:
    """Return how deep Ifs lie in Ifs: as deep as the branches are many where each path is recorded by itself."""
    return max((1 + depth(inner) for made in block.ops for inner in made.blocks()), default=0)


def check(function: Callable[..., Any]) -> None:
    program = ps.trace(function, ps.spec("float64", [3]))
    assert depth(program.block) <= 3
    both = ps.split(program).joint()
    for x in POINTS:
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        slopes = [(function(x + h) - function(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-7)


@pytest.mark.sweep(20)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_joined_however_it_is_spelled(write: str) -> None:
    for function in functions(write):
        check(function)


def test_writes_to_known_arrays_are_no_writes_of_both_sides() -> None:
    for write in ("np.add.at(z, [0], 1.0)", "np.add(z, 1.0, z)", "np.cumsum(z + 1.0, 0, None, z)", "z.fill(2.5)"):
        text = "def f(x):\n    z, s = np.zeros(2), x[0]\n    for j in range(6):\n        if s * x[1] > 0.1:\n"
        text += f"            {write}\n        s = 0.9 * s + 0.1 * z[0]\n    return s * x[2] + z[1]\n"
        filename = f"<writes {next(numbers)}>"
        linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
        names: dict[str, Any] = {"np": np}
        exec(compile(text, filename, "exec"), names)
        program = ps.trace(names["f"], ps.spec("float64", [3]))
        for x in POINTS:
            np.testing.assert_allclose(program(x), names["f"](x), rtol=1e-12)


class Filter:
    """A class with methods that are called as those of lists and dictionaries are."""

    def __init__(self) -> None:
        self.mean, self.spread = 0.0, 1.0

    def update(self, seen, noise):
        gain = self.spread / (self.spread + noise)
        self.mean = self.mean + gain * (seen - self.mean)
        self.spread = (1 - gain) * self.spread


def with_gaps(x):
    filtered, total = Filter(), 0.0
    for k in range(9):
        filtered.spread = filtered.spread + 0.1
        if x[k % 3] * (k - 4) > -0.5:
            filtered.update(x[k % 3] * k, 0.3)
        total = total + filtered.mean**2
    return total


def test_a_method_named_update_may_be_of_a_users_class() -> None:
    check(with_gaps)
