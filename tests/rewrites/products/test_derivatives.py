"""Rewrites of derivatives alone: of a loop that takes values and tangents along, the tangents."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Op, walk
from primsplit.ir.analysis.orders import AGAIN
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites.products.factors import factors_behind_sums
from tests.random_programs import run
from tests.recording import record


def both(loop: Any, carries: int = 2) -> Any:
    """A loop of two carries, each multiplied by two numbers, and of two conditions or none."""

    def step(c: Any) -> Any:
        return tuple(op.Mul(op.Mul(x, 3.0), 0.5) for x in c)

    def f(x: Any, t: Any) -> Any:
        found = loop(step, (x, t))
        return tuple(op.Identity(v) for v in found)

    return f


LOOPS = {
    "Scan": lambda step, start: ps.scan(lambda c, _: (step(c), None), start, None, length=3)[0],
    "Loop": lambda step, start: ps.while_loop(lambda c: c[0] < 9.0, step, start),
    "If": lambda step, start: ps.cond(start[0] > 0.0, lambda: step(start), lambda: start),
}


def loop_of(block: Block) -> Op:
    return next(op for op in walk(block) if op.kind in {"Scan", "Loop", "If"})


@pytest.mark.parametrize("kind", LOOPS)
def test_the_tangents_of_a_loop_are_rewritten_and_its_values_are_left(kind: str) -> None:
    block = record(both(LOOPS[kind]), "float64", "float64")
    after = factors_behind_sums(block, [1])
    check_types(after)
    body = loop_of(after).blocks()[0]
    products = [op for op in body.ops if op.kind == "Mul"]
    assert len(products) == 3
    for a, b in zip(
        run(block, [np.array(0.7), np.array(1.1)]), run(after, [np.array(0.7), np.array(1.1)]), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-15)


def test_what_ends_a_loop_is_a_value() -> None:
    block = record(both(LOOPS["Loop"]), "float64", "float64")
    after = factors_behind_sums(block, [0])
    assert after is block


def test_what_computes_values_again_is_left() -> None:
    block = record(both(LOOPS["Scan"]), "float64", "float64")
    again = [Op(o.kind, o.inputs, o.outputs, o.attributes, o.place, AGAIN) for o in block.ops]
    block = Block(block.name, block.params, tuple(again), block.results)
    assert factors_behind_sums(block, [0, 1]) is block


def test_a_function_that_computes_with_derivatives_of_its_own_reads_what_they_are_rewritten_to() -> None:
    def jacobian(x: Any) -> Any:
        _, pullback = ps.vjp(lambda y: np.stack([y[0] * y[1], np.sin(y[2]), y @ y]), x)
        return np.stack([pullback(np.asarray([float(i == j) for j in range(3)]))[0] for i in range(3)])

    def total(x: Any) -> Any:
        return np.sum(np.cos(jacobian(x)))

    xs = np.random.default_rng(0).standard_normal((4, 3))
    through = ps.trace(ps.grad(lambda xs: np.sum(ps.vmap(total)(xs))), xs)
    x, y, z = xs.T
    expected = [-np.sin(x) - 2 * np.sin(2 * x), -np.sin(y) - 2 * np.sin(2 * y), np.sin(z) * np.sin(np.cos(z))]
    expected[2] -= 2 * np.sin(2 * z)
    np.testing.assert_allclose(through(xs), np.stack(expected, axis=1), rtol=1e-12)
