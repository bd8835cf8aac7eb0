"""Branches and loops of a batch: shared conditions stay, those that differ between examples become masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError

X = np.random.default_rng(0).normal(size=(5, 3))
COUNTS = np.array([0, 1, 2, 5, 3])


def same(found: Any, wanted: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def check(function: Callable[..., Any], *batch: Any, axes: Any = 0) -> list[str]:
    """The batch is the stack of what the function gives outside of a trace; returns the batch's operators."""
    mapped = ps.vmap(function, in_axes=axes)
    given = axes if isinstance(axes, tuple) else (0,) * len(batch)
    for size in (5, 1):
        arrays = [x if a is None else x[:size] for x, a in zip(batch, given, strict=True)]
        wanted = [
            function(*(x if a is None else x[i] for x, a in zip(arrays, given, strict=True))) for i in range(size)
        ]
        same(mapped(*arrays), np.stack(wanted))
    return [o.kind for o in mapped.program(*batch).block.ops]


def halved_or_squared(x: Any, flag: Any) -> Any:
    return ps.cond(flag > 0, lambda v: v / 2, lambda v: v**2 + X[0], x)


def grown(x: Any) -> Any:
    return ps.while_loop(lambda c: (c**2).sum() < 50, lambda c: c * 1.5, x)


def turned(x: Any, count: Any) -> Any:
    return ps.fori_loop(0, count, lambda i, c: np.sin(c) + i, x)


def recurrence(x: Any, rate: Any) -> Any:
    carry, outputs = ps.scan(lambda c, e: (c * rate + e, c * e), x[0], x)
    return carry + outputs


def backwards(x: Any) -> Any:
    return ps.scan(lambda c, e: (c + 1.0, e * c), np.float64(0.0), x, reverse=True)[1]


def test_a_condition_that_all_examples_share_runs_one_branch() -> None:
    assert "If" in check(halved_or_squared, X, np.float64(1.0), axes=(0, None))
    assert "If" in check(halved_or_squared, X, np.float64(-1.0), axes=(0, None))


def test_a_condition_that_differs_chooses_between_both_branches() -> None:
    assert check(halved_or_squared, X, X[:, 0]).count("If") == 2
    check(halved_or_squared, X[0], X[:, 0], axes=(None, 0))


def test_a_loop_whose_condition_differs_runs_until_the_last_example_is_done() -> None:
    assert check(grown, X).count("Loop") == 1


def test_a_loop_may_have_a_number_of_steps_for_each_example() -> None:
    check(turned, X, COUNTS)
    check(turned, X[0], COUNTS, axes=(None, 0))
    check(turned, X, np.int64(3), axes=(0, None))


def test_a_carry_becomes_batched_where_a_step_makes_it_so() -> None:
    def mixed(x: Any) -> Any:
        return ps.fori_loop(0, 3, lambda i, c: (c[1], c[2] * 2, x + c[0] * i), (X[0], X[1], X[2]))[0]

    check(mixed, X)


def test_a_scan_walks_behind_the_batch_axis() -> None:
    assert "Scan" in check(recurrence, X, np.float64(0.5), axes=(0, None))
    check(recurrence, X, X[:, 1])
    check(recurrence, X[0], X[:, 1], axes=(None, 0))
    check(backwards, X)


def test_a_batch_inside_of_a_scan_inside_of_a_batch() -> None:
    def states(x: Any) -> Any:
        def step(c: Any, e: Any) -> Any:
            c = ps.vmap(lambda v, w: np.tanh(v * 0.5 + w), in_axes=(0, None))(c, e)
            return c, c.sum()

        return ps.scan(step, np.arange(2.0), x)[1]

    def plain(x: Any) -> Any:
        c, rows = np.arange(2.0), []
        for e in x:
            c = np.tanh(c * 0.5 + e)
            rows.append(c.sum())
        return np.array(rows)

    same(ps.trace(ps.vmap(states), ps.spec("float64", ["B", "T"]))(X), np.stack([plain(x) for x in X]))


def test_loops_in_branches_in_loops() -> None:
    def nested(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            return ps.cond(c.sum() > i, lambda v: ps.fori_loop(0, 2, lambda _, w: w * 0.9, v), lambda v: v + x, c)

        return ps.fori_loop(0, 3, step, x)

    check(nested, X)


def test_a_batch_of_none_takes_no_step() -> None:
    for function in (grown, backwards):
        program = ps.trace(ps.vmap(function), ps.spec("float64", ["B", 3]))
        assert program(X[:0]).shape == (0, 3)
        same(program(X), np.stack([function(x) for x in X]))


@pytest.mark.parametrize(
    ("function", "batch"),
    [(halved_or_squared, (X, X[:, 0])), (recurrence, (X, X[:, 1])), (backwards, (X,)), (turned, (X, np.full(5, 3)))],
)
def test_gradients_of_a_batch_are_those_of_each_example(function: Callable[..., Any], batch: tuple[Any, ...]) -> None:
    def total(*arguments: Any) -> Any:
        return (function(*arguments) ** 2).sum()

    one = ps.grad(total)
    wanted = np.stack([one(*example) for example in zip(*batch, strict=True)])
    same(ps.grad(lambda *xs: ps.vmap(total)(*xs).sum())(*batch), wanted)
    same(ps.vmap(one)(*batch), wanted)


def test_the_gradient_of_a_batch_goes_back_over_the_steps_of_each_example() -> None:
    one = ps.grad(lambda x: (grown(x) ** 2).sum())
    found = ps.grad(lambda x: (ps.vmap(grown)(x) ** 2).sum())(X)
    same(found, np.stack([one(x) for x in X]))


def test_what_a_loop_keeps_of_a_number_of_steps_for_each_example_stays_with_the_example() -> None:
    one = ps.grad(lambda x: (grown(x) ** 2).sum())
    same(ps.vmap(one)(X), np.stack([one(x) for x in X]))
    counted = ps.grad(lambda x, count: (turned(x, count) ** 2).sum())
    same(ps.vmap(counted)(X, COUNTS), np.stack([counted(x, n) for x, n in zip(X, COUNTS, strict=True)]))


def test_steps_that_differ_between_examples_and_between_the_steps_around_them_are_each_examples_own() -> None:
    def grows(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:

            def scaled(d: Any) -> Any:
                return ps.map(lambda e: e * (1.2 + 0.1 * i), d)

            return ps.while_loop(lambda d: (d**2).sum() < 20, scaled, c * 0.5)

        return np.sin(ps.fori_loop(0, 3, step, x)).sum()

    one = ps.grad(grows)
    wanted = np.stack([one(x) for x in X])
    same(ps.vmap(one)(X), wanted)
    same(ps.grad(lambda x: ps.vmap(grows)(x).sum())(X), wanted)
    same(ps.vmap(lambda x: ps.jvp(grows, (x,), (x,))[1])(X), (wanted * X).sum(axis=1))


def test_a_loop_of_its_own_number_of_steps_in_a_branch_is_each_examples_own() -> None:
    def loss(x: Any) -> Any:

        def fixed(v: Any) -> Any:
            return ps.scan(lambda c, e: (c * 0.5 + e, c * e), v[0], v)[1]

        return np.sin(ps.cond(x[0] > 0, grown, fixed, x)).sum() + ps.cond(x[1] > 0, grown, lambda v: v, x)[0]

    one = ps.grad(loss)
    same(ps.vmap(one)(X), np.stack([one(x) for x in X]))


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return np.exp(x) if x[0] > 0 else x * 3
    return x**2


def checked(x: Any) -> Any:
    if x.sum() > 4.0:
        raise ValueError("too large")
    return np.sqrt(4.0 - x.sum()) * x


def test_pythons_branches_are_taken_by_each_example() -> None:
    check(branching, X)
    one = ps.grad(lambda x: branching(x).sum())
    wanted = np.stack([one(x) for x in X])
    same(ps.vmap(one)(X), wanted)
    same(ps.grad(lambda x: ps.vmap(branching)(x).sum())(X), wanted)


def test_a_branch_that_raises_is_taken_where_any_example_takes_it() -> None:
    check(checked, X)
    with pytest.raises(RunError, match="too large"):
        ps.vmap(checked)(np.concatenate([X, X + 10]))


def test_branches_of_two_sizes_are_reduced_example_by_example() -> None:
    def either(x: Any) -> Any:
        return ps.cond(x.sum() > 0, lambda v: v[:1] * 3, lambda v: v[:2], x).sum()

    def empty(x: Any) -> Any:
        return ps.cond(x.sum() > 0, lambda v: v, lambda v: np.zeros(0), x).sum()

    assert "If" not in check(either, X)
    check(empty, X)
    same(ps.vmap(ps.grad(either))(X), np.stack([ps.grad(either)(x) for x in X]))
    with pytest.raises(ShapeError, match="would differ between examples") as caught:
        ps.vmap(lambda x: ps.cond(x.sum() > 0, lambda v: v[:1], lambda v: v[:2], x))(X)
    assert "test_loops.py" in str(caught.value)


def test_what_an_example_does_not_take_neither_fails_nor_spoils_its_gradient() -> None:
    def rooted(x: Any) -> Any:
        return ps.cond(x.sum() > 0, lambda v: np.sqrt(v.sum()) * v, lambda v: np.log(-v.sum()) * v, x).sum()

    one = ps.grad(rooted)

    def slopes(x: Any) -> Any:
        through = ps.grad(lambda v: ps.vmap(rooted)(v).sum())(x)
        return through, ps.vmap(one)(x), ps.grad(lambda v: (ps.vmap(one)(v) ** 2).sum())(x)

    program = ps.trace(slopes, ps.spec("float64", ["B", 3]))
    for batch in (X, np.abs(X), -np.abs(X), X[:0]):
        wanted = np.stack([one(x) for x in batch]) if len(batch) else batch
        through, each, second = program(batch)
        same(through, wanted)
        same(each, wanted)
        assert np.isfinite(second).all()


def test_a_loop_in_a_branch_ends_for_the_examples_that_take_it() -> None:
    def halved(x: Any) -> Any:

        def small(v: Any) -> Any:
            return ps.while_loop(lambda c: c.sum() > 0.1, lambda c: c / 2, v)

        return ps.cond(np.isfinite(x).all(), small, lambda v: np.ones(3), x)

    batch = X.copy()
    batch[1, 1] = np.inf
    check(halved, np.abs(batch))


def test_an_example_that_is_done_takes_no_step_that_spoils_its_gradient() -> None:
    def drained(x: Any, limit: Any) -> Any:
        return ps.while_loop(lambda c: c < limit, lambda c: c + np.sqrt(limit - c), x)

    starts, limits = np.array([0.0, 0.5, 3.0, -2.0]), np.array([1.0, 1.5, 1.0, 2.25])
    same(ps.vmap(drained)(starts, limits), [drained(x, y) for x, y in zip(starts, limits, strict=True)])
    one = ps.grad(drained, wrt=(0, 1))
    wanted = np.array([one(x, y) for x, y in zip(starts, limits, strict=True)])
    found = ps.grad(lambda x, y: ps.vmap(drained)(x, y).sum(), wrt=(0, 1))(starts, limits)
    same(np.stack(found, axis=1), wanted)
    assert np.isfinite(wanted).all()


@ps.cached
def softened(x: Any) -> Any:
    return np.log1p(np.exp(x))


@ps.primitive(inline=False)
def grown_while_small(x: Any) -> Any:
    def step(carry: Any) -> Any:
        return carry[0] + 1, carry[1] * 1.5 + np.sin(carry[1])

    return ps.while_loop(lambda c: np.logical_and(c[0] < 5, c[1] < 3.0), step, (np.int64(0), x))[1]


def one_of_three(index: Any, x: Any) -> Any:
    first, last = (lambda v: softened(v) * grown_while_small(v), lambda v: softened(grown_while_small(v)))
    return ps.switch(index, [first, lambda v: v**3, last], x)


def differences(function: Callable[..., Any], x: Any, step: float = 1e-5) -> Any:
    """Central differences along each element of x."""
    moved = step * np.eye(len(x))
    return np.stack([(np.asarray(function(x + d)) - np.asarray(function(x - d))) / (2 * step) for d in moved], -1)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("index", [0, 1, 2])
def test_calls_that_stay_calls_have_hessians_in_a_batch_in_a_branch(index: int) -> None:
    """Each example's own number of steps is kept by the masked loop of the batch, not example by example."""

    def of_all(i: Any, x: Any) -> Any:
        return np.sum(ps.vmap(lambda v: one_of_three(i, v))(x))

    def in_branch(i: Any, x: Any) -> Any:
        return ps.switch(i, [lambda v: of_all(0, v), lambda v: of_all(1, v), lambda v: of_all(2, v)], x)

    x = np.array([0.5, 1.2, 0.1])
    gradient = ps.grad(in_branch, wrt=1)
    np.testing.assert_allclose(gradient(index, x), differences(lambda v: in_branch(index, v), x), rtol=1e-7)
    hessian = differences(lambda v: gradient(index, v), x)
    np.testing.assert_allclose(ps.hessian(in_branch, wrt=1)(index, x), hessian, rtol=1e-6, atol=1e-9)


def test_a_batch_of_known_indices_takes_its_branches_when_it_is_written() -> None:
    """onnxruntime folds Ifs of constant conditions when it loads a file, and ended the process at these."""

    def f(x: Any) -> Any:
        return np.sum(ps.vmap(one_of_three)(np.array([0, 1, 2]), x))

    x = np.array([0.5, 1.2, 0.1])
    np.testing.assert_allclose(ps.grad(f)(x), differences(f, x), rtol=1e-7)
    hessian = np.diag([ps.hessian(one_of_three, wrt=1)(i, x[i]) for i in range(3)])
    np.testing.assert_allclose(ps.hessian(f)(x), hessian, rtol=1e-9)
    assert not any(o.op_type == "If" for o in ps.trace(f, x).to_onnx().graph.node)
