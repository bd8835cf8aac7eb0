"""The derivatives of calls in a batch: a call's own rule is batched, and what examples share is summed."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.ops import op

RANDOM = np.random.default_rng(0)

X, W = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(3, 4))


def same(found: Any, wanted: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@ps.primitive
def _cube(x: Any, scale: Any) -> Any:
    return x**3 * scale


@ps.rrule(_cube)
def _cube_rule(x: Any, scale: Any) -> Any:
    return _cube(x, scale), lambda dy: (100 * dy * x, dy.sum())


def test_a_primitive_keeps_its_rule_in_a_batch() -> None:
    same(ps.vmap(_cube, in_axes=(0, None))(X, 2.0), X**3 * 2)

    def total(x: Any, scale: Any) -> Any:
        return ps.vmap(_cube, in_axes=(0, None))(x, scale).sum()

    dx, d_scale = ps.grad(total, wrt=(0, 1))(X, 2.0)
    same(dx, 100 * X)
    same(d_scale, 15.0)
    same(ps.vmap(ps.grad(lambda x: _cube(x, 2.0).sum()))(X), 100 * X)


def test_the_floor_is_differentiated_by_the_rule_of_what_it_loops_over() -> None:
    def layer(w: Any, x: Any) -> Any:
        sequence, *_ = op.LSTM(x, w, op.Concat(w, w, axis=2)[:, :, :2], hidden_size=2, outputs=3)
        return (sequence**2).sum()

    weights, data = RANDOM.normal(size=(4, 1, 8, 1)), RANDOM.normal(size=(3, 2, 1))
    program = ps.trace(ps.vmap(layer, in_axes=(0, None)), weights, data)
    assert [o.kind for o in program.block.ops if "LSTM" in o.kind] == ["call::each_LSTM"]
    one = ps.grad(layer, wrt=(0, 1))
    wanted = [one(w, data) for w in weights]
    total = ps.grad(lambda w, x: ps.vmap(layer, in_axes=(0, None))(w, x).sum(), wrt=(0, 1))
    dw, dx = total(weights, data)
    same(dw, np.stack([w for w, _ in wanted]))
    same(dx, sum(x for _, x in wanted))


def test_the_floor_has_derivatives_of_any_order() -> None:
    def cut(x: Any, k: Any) -> Any:
        return (op.Trilu(x, k) ** 3).sum()

    squares, diagonals = RANDOM.normal(size=(3, 4, 4)), np.array([-1, 0, 2])
    mapped = ps.vmap(cut)
    second = ps.grad(lambda x: (ps.grad(lambda v: mapped(v, diagonals).sum())(x) ** 2).sum())
    kept = np.stack([np.triu(x, k) for x, k in zip(squares, diagonals, strict=True)])
    same(second(squares), 36 * kept**3)


@ps.primitive
def _bent(x: Any) -> Any:
    return np.abs(x) * x


@ps.frule(_bent)
def _bent_forward(x: Any) -> Any:
    y = np.tanh(x)
    return _bent(x), lambda tx: 10 * y * tx


def test_a_primitive_keeps_its_forward_rule_in_a_batch() -> None:
    wanted = 10 * np.tanh(X) * (X + 1)
    same(ps.jvp(ps.vmap(_bent), (X,), (X + 1,))[1], wanted)
    same(ps.vmap(lambda x: ps.jvp(_bent, (x,), (x + 1,))[1])(X), wanted)
    same(ps.grad(lambda x: ps.vmap(_bent)(x).sum())(X), 10 * np.tanh(X))


@pytest.mark.parametrize("count", [2, 0])
@pytest.mark.parametrize("size", [3, 1, 0])
def test_the_gradient_of_a_call_in_a_batch_has_no_loop_over_the_examples(count: int, size: int) -> None:
    """The shapes that the call captures are those of one example, which all share."""
    energy = ps.cached(lambda x, t: np.sum(x * x) * t)
    specs = ps.spec("float64", ["B", "N"]), ps.spec("float64", ["B"])
    program = ps.trace(ps.vmap(ps.grad(energy, wrt=(0, 1))), *specs)
    assert not any(o.kind == "Loop" for o in walk(program.block))
    x, t = np.arange(1.0, count * size + 1).reshape(count, size), np.arange(1.0, count + 1)
    by_x, by_t = program(x, t)
    np.testing.assert_array_equal(by_x, 2.0 * x * t[:, None])
    np.testing.assert_array_equal(by_t, np.sum(x * x, axis=1))


def test_an_output_that_examples_share_stays_so_where_a_rule_makes_it_of_one_that_differs() -> None:
    @ps.primitive
    def with_size(x: Any) -> Any:
        return np.sum(x * x), np.int64(3)

    @ps.rrule(with_size)
    def rule(x: Any) -> Any:
        count = np.sum((x < np.inf).astype(np.int64))
        return (np.sum(x * x), count), lambda d: (2.0 * d[0] * x,)

    def f(x: Any) -> Any:
        value, count = with_size(x)
        return value * count

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ps.vmap(f)(x), 3.0 * np.sum(x * x, axis=1))
    np.testing.assert_array_equal(ps.vmap(ps.grad(f))(x), 6.0 * x)
    np.testing.assert_array_equal(ps.vmap(ps.hessian(f))(x), np.broadcast_to(6.0 * np.eye(3), (2, 3, 3)))
