"""A tangent's Scan goes along with the loop that it is the tangent of, where that saves what the loop stacks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op, walk
from primsplit.programs.export import derive
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.loops.counted import scans_of_counted_loops
from primsplit.rewrites.loops.shared_loops import share_loops
from primsplit.rewrites.numbering import Parts
from primsplit.testing import check_grads
from primsplit.testing.reference import evaluate
from primsplit.transforms.vectorized_loops.taken_along import take_along

MUCH, LITTLE = np.linspace(0.1, 0.9, 1100), np.array([0.3, 0.8])
TIMES = np.array([0.5, 1.0, 0.2])


def step(u: Any, rate: Any) -> Any:
    return u + rate * np.sin(u[::-1] - u) * np.tanh(u)


def until(u: Any, rate: Any) -> Any:
    """As often as the numbers ask for."""
    return ps.while_loop(lambda u: np.sum(u * u) > 0.5, lambda u: 0.7 * step(u, rate), u)


def along(u: Any, rate: Any) -> Any:
    return ps.scan(lambda u, t: (step(u, rate * t), None), u, TIMES)[0]


def backwards(u: Any, rate: Any) -> Any:
    return ps.scan(lambda u, t: (step(u, rate * t), np.sum(u) * rate), u, TIMES, reverse=True)


def counted(u: Any, rate: Any) -> Any:
    return ps.fori_loop(0, 4, lambda i, u: step(u, rate * i), u)


def nested(u: Any, rate: Any) -> Any:
    return ps.scan(lambda u, t: (until(u + t, rate), None), u, TIMES)[0]


def sequence_of_its_own(u: Any, rate: Any) -> Any:
    """The tangents of the times are walked beside what the loop stacks."""
    return ps.scan(lambda u, t: (step(u, rate * t), None), u, rate * TIMES)[0]


def before(function: Callable[..., Any], *args: Any, mode: str = "jvp") -> Block:
    """The program as the pass meets it."""
    block = share_loops(optimize(inline_calls(derive(function, *args, mode=mode).joint().block)))
    return optimize(scans_of_counted_loops(block))


def after(block: Block) -> Block:
    return optimize(take_along(block))


def loops(block: Block) -> list[Op]:
    return [op for op in walk(block) if op.kind in {"Loop", "Scan"}]


SPARED: dict[str, tuple[Callable[..., Any], Any, int]] = {
    "an open end": (until, LITTLE, 1),
    "a scan of much": (along, MUCH, 1),
    "a scan from the end": (backwards, MUCH, 1),
    "a number of steps, of much": (counted, MUCH, 1),
    "an open end in a scan": (nested, LITTLE, 2),
    "a sequence of its own": (sequence_of_its_own, MUCH, 1),
}


@pytest.mark.parametrize("name", SPARED)
def test_a_tangent_stacks_nothing(name: str) -> None:
    function, u, count = SPARED[name]
    block = before(function, u, 0.3)
    found = after(block)
    assert len(loops(found)) == count < len(loops(block))
    assert sum(len(Parts(op).stacks) for op in loops(found)) == (2 if function is backwards else 0)
    given = (u, np.array(0.3), np.cos(u), np.array(0.7))
    for a, b in zip(evaluate(found, given), evaluate(block, given), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", [along, counted])
def test_a_scan_of_little_stays_by_itself(function: Callable[..., Any]) -> None:
    block = before(function, LITTLE, 0.3)
    assert take_along(block) is block


def test_a_product_stacks_what_the_way_back_walks_and_no_cotangents() -> None:
    block = before(lambda u, rate: np.sum(along(u, rate) ** 2), MUCH, 0.3, mode="hvp")
    found = after(block)
    ways = [{w.reverse for _, _, w in Parts(op).sequences} for op in loops(found) if Parts(op).count]
    assert ways == [{False}, {False}, {True}]
    assert [len(Parts(op).stacks) for op in loops(found) if Parts(op).count] == [3, 3, 0]
    given = (MUCH, np.array(0.3), np.cos(MUCH), np.array(0.7))
    for a, b in zip(evaluate(found, given), evaluate(block, given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_what_reads_the_last_carry_comes_after_the_loop() -> None:
    def f(u: Any, rate: Any) -> Any:
        first = until(u, rate)
        return ps.while_loop(lambda c: np.sum(c * c) > 0.1, lambda c: 0.6 * step(c, np.sum(first)), u + 0.0 * first)

    check_grads(f, LITTLE, 0.3, step=1e-3, modes=("forward",))


@pytest.mark.parametrize("name", ["an open end", "an open end in a scan"])
def test_the_derivatives_are_those_of_central_differences(name: str) -> None:
    function = SPARED[name][0]
    none_taken = np.array([0.01, 0.02])
    check_grads(function, LITTLE, 0.3, step=1e-3, modes=("reverse", "forward"), also_at=[(none_taken, 0.3)])
