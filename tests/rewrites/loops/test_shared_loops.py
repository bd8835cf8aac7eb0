"""Loops that are run twice are run once, and loops that differ in anything stay apart."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import random
from primsplit.ir import Block, Var, walk
from primsplit.programs.export import derive
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.loops import shared_loops
from primsplit.rewrites.loops.shared_loops import share_loops
from primsplit.testing import check_grads
from primsplit.testing.reference import evaluate

LOOPS = ("Loop", "Scan")
X = np.array([0.9, 1.3])
ROWS = np.array([[0.4, 0.9], [1.1, 0.3], [0.7, 1.6]])


def before(program: ps.Program) -> Block:
    return optimize(inline_calls(program.block))


def count(block: Block) -> int:
    return sum(op.kind in LOOPS for op in walk(block))


def halved(x: Any, scale: float = 0.5, low: float = 0.1) -> Any:
    """As often as the numbers ask for, and how often that was."""
    return ps.while_loop(
        lambda c: np.sum(c[0]) > low, lambda c: (c[0] * scale + 0.01 * np.sin(c[0]), c[1] + 1.0), (x, 0.0)
    )


def stepped(total: Any, x: Any) -> tuple[Any, Any]:
    total = total + halved(x * total)[0]
    return total, total


def course(x: Any, rows: Any) -> Any:
    return np.sum(ps.scan(stepped, x, rows)[1] ** 2)


def with_another_sum(x: Any) -> Any:
    """The same loop, which sums something as well."""
    found = ps.while_loop(
        lambda c: np.sum(c[0]) > 0.1,
        lambda c: (c[0] * 0.5 + 0.01 * np.sin(c[0]), c[1] + 1.0, c[2] + c[0] ** 2),
        (x, 0.0, np.zeros(2)),
    )
    return np.sum(found[2]) + found[1]


def stacked(x: Any, weight: Any) -> Any:
    """A scan that stacks something of its own beside a running sum."""
    return ps.scan(lambda c, row: (c + np.sin(row), c * weight), np.zeros(2), x)[1]


def sines_of(told: Callable[[Any, Any], Any], start: Any) -> Any:
    """Sines of what is told of the number of a step and of that of a step inside of it, added up."""

    def step(i: Any, total: Any) -> Any:
        return ps.fori_loop(0, 3, lambda j, c: c + np.sin(told(i, j) * 1.0), 0.5 * total)

    return ps.fori_loop(0, 3, step, start)


def cosines_of(told: Callable[[Any, Any], Any], start: Any, rows: Any) -> Any:
    """The same of rows."""

    def step(total: Any, r: Any) -> tuple[Any, None]:
        return ps.scan(lambda c, s: (c + np.cos(told(r, s)), None), 0.5 * total, rows)[0], None

    return ps.scan(step, start, rows)[0]


def carried(told: Callable[[Any, Any], Any], start: Any) -> Any:
    """The same of a carry and of one inside, which starts and steps likewise."""

    def step(_: Any, c: Any) -> Any:
        inside = ps.fori_loop(0, 3, lambda _, d: (np.sin(d[0]), 0.5 * d[1] + told(c[0], d[0])), (start, c[1]))
        return np.sin(c[0]), inside[1]

    return ps.fori_loop(0, 3, step, (start, 0.0 * start))[1]


ONE: dict[str, tuple[int, Callable[..., Any]]] = {
    "the same loop": (1, lambda x, rows: np.sum(halved(x)[0]) * np.sum(halved(x)[0] ** 2)),
    "one with another carry": (1, lambda x, rows: with_another_sum(x) * np.sum(halved(x)[0])),
    "one with another carry, behind": (1, lambda x, rows: np.sum(halved(x)[0]) * with_another_sum(x)),
    "a scan that stacks something else": (1, lambda x, rows: np.sum(stacked(rows, x) + stacked(rows, x * x))),
    "one whose start is computed again": (1, lambda x, rows: np.sum(halved(x + 0.0 * x)[0] + halved(x + 0.0 * x)[0])),
}
TWO: dict[str, Callable[..., Any]] = {
    "another start": lambda x, rows: np.sum(halved(x)[0] * halved(x + 1e-3)[0]),
    "another step": lambda x, rows: np.sum(halved(x)[0] * halved(x, scale=0.25)[0]),
    "another end": lambda x, rows: np.sum(halved(x)[0] * halved(x, low=0.2)[0]),
    "one that starts where the other ends": lambda x, rows: np.sum(halved(halved(x)[0] * 5.0)[0]),
    "a number of the loop around it": lambda x, rows: np.sum(sines_of(lambda i, j: i, x) * sines_of(lambda i, j: j, x)),
    "an element of the loop around it": lambda x, rows: np.sum(
        cosines_of(lambda r, s: r, x, rows) * cosines_of(lambda r, s: s, x, rows)
    ),
    "a carry of the loop around it": lambda x, rows: np.sum(carried(lambda c, d: c, x) * carried(lambda c, d: d, x)),
    "another sequence": lambda x, rows: np.sum(stacked(rows, x) + stacked(rows * 2.0, x)),
    "another length": lambda x, rows: np.sum(stacked(rows, x)) + np.sum(stacked(rows[1:], x)),
    "another direction": lambda x, rows: (
        np.sum(ps.scan(lambda c, r: (np.sin(c) + r, c), x, rows)[1])
        + np.sum(ps.scan(lambda c, r: (np.sin(c) + r, c), x, rows, reverse=True)[1])
    ),
}


@pytest.mark.parametrize(("loops", "f"), ONE.values(), ids=ONE)
def test_a_loop_that_is_there_twice_is_run_once(loops: int, f: Callable[..., Any]) -> None:
    block = before(ps.trace(f, ps.spec("float64", [2]), ps.spec("float64", ["N", 2])))
    assert count(block) > loops
    assert count(share_loops(block)) == loops
    check_grads(f, X, ROWS, step=1e-3, modes=("reverse", "forward"))


@pytest.mark.parametrize("f", TWO.values(), ids=TWO)
def test_loops_that_differ_stay_apart(f: Callable[..., Any]) -> None:
    block = before(ps.trace(f, X, ROWS))
    assert count(share_loops(block)) == count(block) >= 2
    check_grads(f, X, ROWS, order=1, step=1e-3)


def test_steps_that_draw_their_own_numbers_stay_apart() -> None:
    def f(rows: Any) -> Any:
        def drawn() -> Any:
            return ps.scan(lambda c, row: (c + row * random.normal(size=2), c), np.zeros(2), rows)[0]

        return drawn() + drawn()

    block = before(ps.trace(f, ROWS))
    assert count(share_loops(block)) == count(block) == 2


def test_a_body_that_draws_numbers_is_run_as_often_as_it_stands() -> None:
    def f(rows: Any) -> Any:
        return ps.scan(lambda c, row: (c + row * random.normal(size=2), c), np.zeros(2), rows)[0]

    block = before(ps.trace(f, ROWS))
    (scan,) = (op for op in block.ops if op.kind == "Scan")
    again = replace(scan, outputs=tuple(Var(v.type) for v in scan.outputs))
    both = replace(block, ops=(*block.ops, again), results=(*block.results, again.outputs[0]))
    assert count(share_loops(both)) == 2


@pytest.mark.parametrize(("mode", "expected"), [("jvp", (1, 1)), ("hvp", (2, 2))])
def test_a_loop_inside_of_a_scan_is_run_once_each_way(mode: str, expected: tuple[int, int]) -> None:
    """Without the pass the forward loop is run for the value and the tangent, and the one back for each gradient."""
    block = before(derive(course, X, ps.spec("float64", ["N", 2]), mode=mode, wrt="x").joint())
    found = share_loops(block)
    scans = [op for op in found.ops if op.kind == "Scan"]
    inner = [op.kind for scan in scans for op in scan.attributes["body"].ops]
    assert (len(scans), inner.count("Loop")) == expected
    assert sum(op.kind == "Scan" for op in block.ops) == 2 * expected[0]


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]])
def test_what_is_shared_has_the_same_bits(rows: Any) -> None:
    product = derive(course, X, ps.spec("float64", ["N", 2]), mode="hvp", wrt="x").joint()
    apart = before(product)
    together = share_loops(apart)
    given = (X, rows, *np.random.default_rng(0).standard_normal((len(apart.params) - 2, 2)))
    for a, b in zip(evaluate(apart, given), evaluate(together, given), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_derivatives_are_those_of_central_differences() -> None:
    check_grads(course, X, ROWS, step=1e-3, modes=("reverse", "forward"), resize=(1, 0))


def test_loops_that_have_nothing_in_common_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each starts from 0, and walks what the loop before it stacks."""

    def chain(x: Any) -> Any:
        for k in range(12):
            x = ps.scan(lambda total, e, k=k: (total + e, np.sin(total + (k + 1.0) * e)), 0.0, x)[1]
        return x

    compared = []
    original = shared_loops._joined

    def joined(*loops: Any) -> Any:
        compared.append(loops)
        return original(*loops)

    monkeypatch.setattr(shared_loops, "_joined", joined)
    block = before(ps.trace(chain, X))
    assert sum(op.kind in LOOPS for op in block.ops) == 12
    assert share_loops(block) is block
    assert compared == []
