"""Copies of a user's file in which both sides of statements are functions; the file's own functions stay."""

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from tests.numpy.agreement import check_grads

rng = np.random.default_rng(5)


def sines_or_squares(x):
    total, scale = 0.0, 1.0
    for value in x:
        if value > 0:
            total = total + value**2
        else:
            total, scale = total - np.sin(value) * scale, 0.9 * scale
    return total


NINE = rng.standard_normal(9)


def test_functions_that_call_one_another_are_looked_through_once() -> None:
    """Each is read and called: of twenty that call one another there are a million ways to the last."""
    lines = ["def called_0(x):", "    return np.sin(x)"]
    for k in range(20):
        lines += [f"def called_{k + 1}(x):", f"    return called_{k}(x) * 0.9"]
    lines += ["def bounded(x):", "    for _ in range(20):"]
    lines += ["        x = called_20(x) + 0.3 if np.sum(x) > 1 else x + 0.4", "    return np.sum(x)"]
    source, name, found = "\n".join(lines) + "\n", "<functions that call one another>", {"np": np}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), found)
    bounded = found["bounded"]
    x = np.array([0.4, 0.1])
    np.testing.assert_allclose(ps.trace(bounded, ps.spec("float64", [2]))(x), bounded(x), rtol=1e-12)


def test_a_function_has_its_own_code_afterwards() -> None:
    code, names = sines_or_squares.__code__, set(sines_or_squares.__globals__)
    ps.trace(sines_or_squares, np.ones(12))
    assert sines_or_squares.__code__ is code
    assert set(sines_or_squares.__globals__) == names


def names_in_tests(x):
    """A name that a test assigns has its value behind it, also in an `elif` and in the test of a `while`."""
    total, steps = 0.0, 0
    while abs(excess := np.sum(x) - 1) > 0.3 and (steps := steps + 1) < 20:
        x = x - 0.2 * excess / len(x)
    for k in range(14):
        wave = np.sin(x[k % 9] * (k + 1))
        if wave < -0.5:
            total = total - 1
        elif (double := 2 * wave) > 0.5 and double < 1.5:
            total = total + double
        elif not (shifted := wave + 1) > 1:
            total = total * shifted
        if 0.1 < (half := wave / 2) <= 1 or half < -0.2:
            total = total + half
        elif 1 - (third := wave / 3) > 1.1:
            total = total - third
    return total + excess


def sums_of_some(x):
    waves = np.sin(np.outer(x[:3], np.arange(1, 5))).ravel()
    some = sum([w for w in waves if w > 0]) + sum(np.log(w) for w in waves if w > 0.2)
    many = sum(1 for w in waves if 0.2 < w < 0.8) + 0.1 * len([w for w in waves if w > 0.4 or w < -0.7])
    return some + sum(k * w for k, w in enumerate(waves) if k % 2 if w < 0.5) * many


@pytest.mark.parametrize("function", [pytest.param(names_in_tests, marks=pytest.mark.slow), sums_of_some])
def test_tests_that_give_names_and_sums_with_tests_are_joined(function: Callable[..., Any]) -> None:
    check_grads(function, NINE, symbolic=False, order=1)
    program = ps.trace(function, NINE)
    for x in (-NINE, NINE[::-1].copy(), 0.3 * NINE, 2 * NINE):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-10)


def test_a_sum_that_is_not_pythons_is_left_alone() -> None:
    source = "\n".join([
        "def sum(terms):",
        "    return max(0.0, *terms)",
        "def largest(x):",
        "    return sum(v - 1 for v in np.tile(x, 5) if v > 0)",
    ])  # fmt: skip
    name, found = "<a sum of its own>", {"np": np}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), found)
    with pytest.raises(ConcretizationError, match="without end"):
        ps.trace(found["largest"], np.array([0.4, 2.0, 1.5]))
