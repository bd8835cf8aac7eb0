"""The ops around the guards of the loops inside of a step go into one guard."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op, Type, Var, walk
from primsplit.rewrites.loops.joined_ifs import _with_readers_inside, join_ifs
from primsplit.targets.finish import finish
from tests.recording import kinds

COUNTS = {"some": [2, 1, 3], "none in some": [0, 2, 0], "none": [0, 0], "no steps": []}
ROWS = np.array([[0.3, -0.2], [0.1, 0.7], [-0.5, 0.2]])
W = np.array([0.9, 1.1])


def walked(w: Any, rows: Any, counts: Any) -> Any:
    """A loop of as many steps as the row's number tells, in a step of another."""

    def step(carry: Any, given: Any) -> Any:
        row, count = given
        inner = ps.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, np.sin(s[1] * w) + row), (count, carry))[1]
        return inner, np.sum(inner**2)

    last, sums = ps.scan(step, np.array([0.5, 1.5]), (rows, counts))
    return np.sum(last * w) + np.sum(sums)


def plain(w: Any, rows: Any, counts: Any) -> Any:
    total, carry = 0.0, np.array([0.5, 1.5])
    for row, count in zip(rows, counts, strict=True):
        for _ in range(count):
            carry = np.sin(carry * w) + row
        total = total + np.sum(carry**2)
    return np.sum(carry * w) + total


def slope(function: Callable[[Any], Any], at: Any, along: Any, step: float = 1e-5) -> Any:
    return (function(at + step * along) - function(at - step * along)) / (2 * step)


@pytest.mark.parametrize("counts", COUNTS.values(), ids=list(COUNTS))
def test_derivatives_of_loops_in_a_step_are_right_for_any_numbers_of_steps(counts: list[int]) -> None:
    specs = (W, ps.spec("float64", ["N", 2]), ps.spec("int64", ["N"]))
    given = (W, ROWS[: len(counts)], np.array(counts, np.int64))
    along = np.array([0.3, -0.8])
    gradient, product = ps.grad(walked), ps.hvp(walked)
    numeric = [slope(lambda w: plain(w, *given[1:]), W, unit) for unit in np.eye(2)]
    found = ps.trace(gradient, *specs).session()(*given)
    np.testing.assert_allclose(found[0], numeric, rtol=1e-8, atol=1e-9)
    curved = slope(lambda w: gradient(w, *given[1:]), W, along)
    found = ps.trace(lambda *a: product(*a, along), *specs).session()(*given)
    np.testing.assert_allclose(found[0], curved, rtol=1e-7, atol=1e-8)


def test_a_step_of_a_product_has_one_guard_and_nearly_nothing_in_it_where_there_are_no_steps() -> None:
    specs = (W, ps.spec("float64", ["N", 2]), ps.spec("int64", ["N"]))
    made = ps.trace(lambda *a: ps.hvp(walked)(*a, W), *specs)
    (step,) = [op.blocks()[0] for op in walk(finish(made.block)) if op.kind == "Scan" and has(op, "Loop", "If")]
    assert kinds(step).count("If") == 1
    (guard,) = [op for op in step.ops if op.kind == "If"]
    empty, steps = sorted(guard.blocks(), key=lambda side: len(side.ops))
    assert kinds(steps).count("Scan") == 3
    assert set(kinds(empty)) <= {"Add", "Identity", "Mul"}
    assert len(empty.ops) < 10


def chosen(w: Any, rows: Any, counts: Any, zs: Any) -> Any:
    """A loop on one side of a branch of the user's, which does not ask how many steps it has."""

    def step(carry: Any, given: Any) -> Any:
        row, count = given
        last, passed = ps.cond(
            count > 1,
            lambda: ps.scan(lambda s, z: (np.sin(s * w) + z, s * z), carry, zs),
            lambda: (carry * w, zs * w),
        )
        return last + row + np.sum(passed * zs, axis=0), np.sum(passed)

    last, sums = ps.scan(step, np.array([0.5, 1.5]), (rows, counts))
    return np.sum(last * w) + np.sum(sums)


def plainly_chosen(w: Any, rows: Any, counts: Any, zs: Any) -> Any:
    total, carry = 0.0, np.array([0.5, 1.5])
    for row, count in zip(rows, counts, strict=True):
        last, passed = carry * w, [z * w for z in zs]
        if count > 1:
            last, passed = carry, []
            for z in zs:
                passed.append(last * z)
                last = np.sin(last * w) + z
        carry = last + row + sum(p * z for p, z in zip(passed, zs, strict=True))
        total = total + sum(np.sum(p) for p in passed)
    return np.sum(carry * w) + total


@pytest.mark.parametrize("many", [0, 2, 3])
def test_a_branch_of_the_users_around_a_loop_keeps_its_rows(many: int) -> None:
    specs = (W, ps.spec("float64", ["N", 2]), ps.spec("int64", ["N"]), ps.spec("float64", ["M", 2]))
    given = (W, 0.3 * ROWS, np.array([2, 0, 3]), ROWS[:many])
    numeric = [slope(lambda w: plainly_chosen(w, *given[1:]), W, unit) for unit in np.eye(2)]
    value, gradient = ps.trace(ps.value_and_grad(chosen), *specs).session()(*given)
    np.testing.assert_allclose(value, plainly_chosen(*given), rtol=1e-12)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-7, atol=1e-9)


def test_a_step_whose_carry_grows_is_left() -> None:
    """The step's own ops tell which blocks are cut out of a carry when the file is loaded and differentiated."""
    block = finish(ps.trace(lambda a: np.sum(np.linalg.inv(a) ** 2), ps.spec("float64", ["N", "N"])).block)
    assert join_ifs(block) is block
    assert any(has(op, "If", "Scan") for op in walk(block) if op.kind == "Loop")


def has(op: Op, *inner: str) -> bool:
    """Whether the blocks of an op have all these kinds."""
    return any(side.kinds.issuperset(inner) for side in op.blocks())


def test_what_depends_on_another_branch_behind_the_guard_stays_behind_it() -> None:
    one, other, x = Var(Type(np.bool_, ())), Var(Type(np.bool_, ())), Var(Type(np.float64, (3,)))

    def chosen(condition: Var, value: Var) -> Op:
        sides = {name: Block(name, (), (), (value,)) for name in ("then_branch", "else_branch")}
        return Op("If", (condition,), (Var(value.type),), sides)

    guard = chosen(one, x)
    doubled = Op("Add", guard.outputs * 2, (Var(x.type),))
    branch = chosen(other, doubled.outputs[0])
    read = Op("Exp", branch.outputs, (Var(x.type),))
    apart = Op("Neg", (x,), (Var(x.type),))
    again = chosen(one, doubled.outputs[0])
    found = _with_readers_inside([], guard, [doubled, branch, read, apart, again])
    assert found.before == [apart]
    assert found.inside == [guard, doubled, again]
    assert found.behind == [branch, read]
