"""A loop does not carry what no step changes."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls
from primsplit.testing import check_grads


def loops_of(program: ps.Program) -> list[tuple[str, int]]:
    """Each loop and how many results it has, after the passes."""
    ops = walk(optimize(inline_calls(program.block)))
    return [(op.kind, len(op.outputs)) for op in ops if op.kind in {"Scan", "Loop"}]


def scanned(w, xs):
    def step(carry, x):
        w, h = carry
        return (w, np.tanh(w @ h + x)), None

    (w, h), _ = ps.scan(step, (w, np.zeros(3)), xs)
    return (h * (w @ h)).sum()


def looped(w, xs):
    def step(carry):
        w, h, n = carry
        return w, np.tanh(w @ h + xs[0]), n + 1

    w, h, _ = ps.while_loop(lambda c: c[2] < 3, step, (w, np.zeros(3), 0))
    return (h * (w @ h)).sum()


W, XS = np.random.default_rng(0).normal(size=(3, 3)), np.random.default_rng(1).normal(size=(4, 3))
SPECS = (ps.spec("float64", [3, 3]), ps.spec("float64", ["N", 3]))


def test_a_matrix_in_the_carry_of_a_scan_is_read_from_around_it() -> None:
    assert loops_of(ps.trace(scanned, *SPECS)) == [("Scan", 1)]


def test_a_matrix_in_the_carry_of_a_loop_is_read_from_around_it() -> None:
    assert loops_of(ps.trace(looped, *SPECS)) == [("Loop", 2)]


def test_the_tangent_of_a_matrix_is_not_carried() -> None:
    program = ps.trace(lambda w, xs, t: ps.jvp(lambda a: scanned(a, xs), (w,), (t,)), *SPECS, SPECS[0])
    assert [results for kind, results in loops_of(program) if kind == "Scan"] == [2, 1, 1]


@pytest.mark.parametrize("function", [scanned, looped])
def test_the_derivatives_stay(function) -> None:
    check_grads(function, W, XS, order=2, symbolic=False)


@pytest.mark.parametrize("n", [0, 1])
def test_no_step_gives_back_the_matrix(n) -> None:
    joint = ps.split(lambda w, xs: ps.scan(lambda c, x: (c, x), w, xs)[0].sum(), *SPECS, wrt="w").joint()
    value, gradient = joint(W, XS[:n])
    np.testing.assert_allclose(value, W.sum())
    np.testing.assert_array_equal(gradient, np.ones((3, 3)))


def test_a_loop_that_changes_nothing_is_gone() -> None:
    assert loops_of(ps.trace(lambda w, xs: ps.scan(lambda c, x: (c, None), w, xs)[0], *SPECS)) == []


def test_carries_that_change_places_are_carried() -> None:
    def f(a, b, xs):
        return ps.scan(lambda c, x: ((c[1], c[0]), None), (a, b), xs)[0]

    program = ps.trace(f, *(ps.spec("float64", [2]) for _ in range(2)), ps.spec("float64", ["N"]))
    assert loops_of(program) == [("Scan", 2)]
    np.testing.assert_array_equal(program(np.zeros(2), np.ones(2), np.ones(3))[0], np.ones(2))
