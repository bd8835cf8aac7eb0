"""The conditions of a path: each is asked once, and too many paths are refused with the ways out."""

import itertools
import math

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.testing import check_grads
from primsplit.tracing.branching import paths
from primsplit.tracing.hooks import HOOKS


def test_the_same_condition_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)

    def f(x):
        a = np.sin(x) if x > 0 else x
        return a * 2 if x > 0 else a

    program = ps.trace(f, 1.0)
    assert [op.kind for op in program.block.ops].count("If") == 1
    check_grads(f, 0.3)
    check_grads(f, -0.3)


def test_the_same_condition_is_asked_once_where_an_operand_is_converted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HOOKS, "join_branches", lambda *_, **__: None)
    runs = itertools.count()  # the elements that a run takes are not given back

    def f(s, x):
        next(runs)
        a = np.sin(s) if s > x[0] else np.cos(s)
        return a * x[1] if s > x[0] else a

    ps.trace(f, 0.5, np.zeros(2, np.float32))
    assert next(runs) == 3  # two paths, and one of them once more


def test_an_endless_tree_is_refused_with_the_ways_out() -> None:
    def endless(x):
        while x > 1:
            x = 0.5 * x
        return x

    with pytest.raises(ConcretizationError) as caught:
        ps.grad(endless)(9.0)
    told = str(caught.value)
    assert "while x > 1" in told
    assert all(way in told for way in ("ps.cond", "ps.while_loop", "ps.scan", "np.where", "static"))
    assert len(told.splitlines()) < 10


def test_many_branches_one_after_another_are_recorded_once_each() -> None:
    def split_sum(x):
        total = 0.0
        for i in range(7):
            total = total + np.exp(x[i]) if x[i] > 0 else total - np.sin(x[i])
        return total * total

    program = ps.trace(split_sum, ps.spec("float64", [7]))
    assert len(program.block.ops) < 40
    for seed in range(4):
        x = np.random.default_rng(seed).standard_normal(7)
        np.testing.assert_allclose(program(x), split_sum(x), rtol=1e-14)
        slope = np.where(x > 0, np.exp(x), -np.cos(x))
        total = np.where(x > 0, np.exp(x), -np.sin(x)).sum()
        np.testing.assert_allclose(ps.grad(program)(x), 2 * total * slope, rtol=1e-13)


def test_more_paths_than_are_recorded_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST", 100)

    def split_sum(x):
        taken = []
        for i in range(12):
            if x[i] > 0:
                taken += [np.exp(x[i])]
        return sum(taken, 0.0)

    with pytest.raises(ConcretizationError, match="more than 100 paths"):
        ps.trace(split_sum, ps.spec("float64", [12]))


def test_paths_without_end_are_told_rather_than_the_number_that_the_first_run_asked_for() -> None:
    def sine_or_steps(x):
        if x > 0.5:
            y = x
            for _ in range(300):
                y = 1.01 * y
            return math.sin(y)
        while x < 0.4:
            x = x + 0.001
        return x

    with pytest.raises(ConcretizationError, match=r"(?s)without end.*while x < 0\.4") as caught:
        ps.trace(sine_or_steps, 0.2)
    assert "float()" not in str(caught.value)
