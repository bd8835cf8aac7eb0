"""Branches that are always taken become part of what is around them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import optimize
from tests.recording import record, sub_block


def kinds(program: ps.Program) -> set[str]:
    return {op.kind for op in walk(optimize(program.block))}


def test_a_branch_of_a_known_condition_is_taken_with_the_sizes_that_it_tells() -> None:
    """A branch's captures have sizes that only the run knows, until it is known which branch is run."""

    def f(x):
        first = ps.cond(np.array([1, 2]).sum() > 2, np.exp, np.sin, x)
        return np.sum(ps.cond(np.bool_(False), np.cos, lambda v: v**3, first))

    x = np.array([0.2, 0.7])
    value, gradient = ps.trace(ps.value_and_grad(f), x)(x)
    np.testing.assert_allclose(value, np.sum(np.exp(3 * x)))
    np.testing.assert_allclose(gradient, 3 * np.exp(3 * x))
    assert "If" not in kinds(ps.trace(ps.value_and_grad(f), x))


def test_a_branch_that_is_always_taken_joins_the_block() -> None:
    def program(x: Any) -> Any:
        branches = [sub_block(lambda: op.Exp(op.Neg(x))), sub_block(lambda: op.Log(x))]
        (y,) = op.If(np.array(True), then_branch=branches[0], else_branch=branches[1], types=[x.type])
        return op.Mul(y, y)

    after = optimize(record(program, "float32[N]"))
    check_types(after)
    assert [op.kind for op in after.ops] == ["Neg", "Exp", "Mul"]


def test_a_branch_in_a_branch_is_taken_where_both_conditions_are_known() -> None:
    def inner(x, flag):
        return ps.cond(flag, np.sin, np.cos, x)

    def f(x, flag):
        return ps.cond(np.logical_not(flag), lambda v: inner(v, flag), lambda v: v * inner(v, flag), x)

    x = np.array(0.5)
    program = ps.trace(lambda v: f(v, ps.map(lambda i: i > 0, np.array([1]))[0] * True), x)
    np.testing.assert_allclose(program(x), 0.5 * np.sin(0.5))
    known = ps.trace(lambda v: ps.grad(lambda u: f(u, np.bool_(True)))(v), x)
    np.testing.assert_allclose(known(x), np.sin(0.5) + 0.5 * np.cos(0.5))
    assert "If" not in kinds(known)


def test_a_condition_that_another_branch_keeps_is_known_in_the_pullback() -> None:
    """The carry is found to stay 0 when the split is made: the pullback reads what was kept of the test in a branch."""

    def f(x):
        k, _ = ps.scan(lambda k, v: (k, None), 0, x)
        return ps.cond(np.sum(x) > 0, lambda v: ps.cond(k % 3 > 0, np.exp, lambda u: np.sin(u) ** 2, v), np.cos, x[0])

    program = ps.trace(ps.grad(f), ps.spec("float64", ["N"]))
    assert [op.kind for op in walk(optimize(program.block))].count("If") == 2
    for sign in (1, -1):
        x = sign * np.array([0.3, 0.4])
        wanted = np.sin(2 * x[0]) if sign > 0 else -np.sin(x[0])
        np.testing.assert_allclose(program(x), [wanted, 0.0], rtol=1e-14)


def test_a_size_that_a_constant_tells_decides_a_branch() -> None:
    """The operator does not tell the length of the range: onnxruntime takes the branch, and may end its process."""

    def f(x):
        rows, columns = op.Shape(x, start=0, end=1), op.Shape(x, start=1, end=2)
        count = op.Squeeze(op.Where(op.Less(rows, columns), rows, columns), [0])
        length = op.Size(op.Range(np.int64(0), count, np.int64(1)))
        return ps.cond(op.Equal(length, np.int64(0)), np.exp, np.sin, x)

    program = ps.trace(f, np.ones((5, 3)))
    assert kinds(program) == {"Sin"}
    np.testing.assert_allclose(program(np.ones((5, 3))), np.full((5, 3), np.sin(1.0)))
    assert "If" in kinds(ps.trace(f, ps.spec("float64", ["N", 3])))


@pytest.mark.parametrize("first", [0.3, -0.3])
def test_a_size_that_a_constant_tells_inside_of_a_branch_holds_there_alone(first: float) -> None:
    """A capture of one branch has a size that is 0 in the other: the derivative of u**2 keeps a constant."""

    def second(x):
        return ps.grad(ps.grad(lambda s: ps.cond(s > 0, lambda u: np.sin(u * x[0]), lambda u: u**2, s)))(x[0])

    a = first
    wanted = -2 * a * np.sin(a * a) - 2 * a**3 * np.cos(a * a) if a > 0 else 0.0
    np.testing.assert_allclose(ps.grad(second)(np.array([a, -0.7])), [wanted, 0.0], rtol=1e-14)


def test_a_branch_that_only_the_run_knows_stays() -> None:
    program = ps.trace(lambda x: ps.cond(x > 0, np.sin, np.cos, x), np.array(0.5))
    assert "If" in kinds(program)
    np.testing.assert_allclose([program(v) for v in (0.5, -0.5)], [np.sin(0.5), np.cos(0.5)])


SIZED: dict[str, Callable[[Any], Any]] = {
    "branch": lambda x: ps.cond(x[0] > 0, lambda x: x[:2], lambda x: x[:3], x),
    "slice": lambda x: x[: 3 - (x > 0).sum()],
    "range": lambda x: np.arange(3 - (x > 0).sum()) * x[1],
    "mask": lambda x: x[np.arange(4) < 3 - (x > 0).sum()],
}
READ: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda v: v.reshape(2).sum(),
    "mean": lambda v: np.mean(v.reshape(2)),
    "dot": lambda v: np.dot(np.ones(2), v),
    "matmul": lambda v: v @ np.array([2.0, 3.0]),
    "constant": lambda v: (v.reshape(2) * 0.0 + 1.0).sum(),
}


@pytest.mark.parametrize("made", SIZED)
@pytest.mark.parametrize("read", READ)
def test_a_size_that_a_gradient_claims_is_still_checked(made: str, read: str) -> None:
    """A gradient of two elements claims that its value has two: in other runs the value must still be refused."""

    def f(x: Any) -> Any:
        return READ[read](SIZED[made](x))

    program = ps.split(f, ps.spec("float64", [4])).joint()
    two, three = np.array([0.5, -1.0, -2.0, -3.0]), np.array([-0.5, -1.0, -2.0, -3.0])
    elements = np.arange(2) * -1.0 if made == "range" else two[:2]
    np.testing.assert_allclose(program(two)[0], READ[read](elements), rtol=1e-12)
    with pytest.raises(ps.PrimsplitError):
        program(three)
