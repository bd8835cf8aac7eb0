"""The order of gradients: last in the file, first in onnxruntime's search from the last sink."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import gradients_last, optimize
from primsplit.rewrites.order import results_apart
from primsplit.targets.finish import finish
from tests.random_programs import run
from tests.recording import kinds, record


def _layers(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = op.Tanh(op.MatMul(x, w))
    return op.ReduceSum(op.Mul(x, x), keepdims=0)


def _gradient() -> Any:
    specs = [ps.spec("float32", ["N", 4])] + [ps.spec("float32", [4, 4])] * 3
    return optimize(ps.split(_layers, *specs).joint().block)


def test_weight_gradients_come_last_and_that_of_the_last_layer_at_the_very_end() -> None:
    block = _gradient()
    ordered = gradients_last(block, [2, 3, 4])
    check_types(ordered)
    made = {v: i for i, op in enumerate(ordered.ops) for v in op.outputs}
    positions = [made[r] for r in ordered.results]
    assert positions[4] == len(ordered.ops) - 1
    assert positions[2] < positions[3] < positions[4]
    assert positions[1] < positions[2]


def test_only_the_order_changes() -> None:
    block = _gradient()
    ordered = gradients_last(block, [2, 3, 4])
    assert sorted(map(id, ordered.ops)) == sorted(map(id, block.ops))
    assert ordered.results == block.results
    random = np.random.default_rng(0)
    inputs = [random.standard_normal([5, 4]).astype(np.float32)]
    inputs += [random.standard_normal([4, 4]).astype(np.float32) for _ in range(3)]
    for before, after in zip(run(block, inputs), run(ordered, inputs), strict=True):
        assert np.array_equal(before, after)


def test_an_op_that_two_gradients_need_is_not_moved() -> None:
    def program(x: Any) -> Any:
        shared = op.Exp(x)
        return op.Sin(x), op.Neg(shared), op.Abs(shared), op.Cos(op.Sin(x))

    block = record(program, "float32[N]")
    assert kinds(block) == ["Exp", "Sin", "Neg", "Abs", "Sin", "Cos"]
    assert kinds(gradients_last(block, [1, 2])) == ["Exp", "Sin", "Sin", "Cos", "Neg", "Abs"]


def test_a_gradient_that_is_two_results_or_a_parameter_stays() -> None:
    def program(x: Any) -> Any:
        y = op.Exp(x)
        return y, y, x

    block = record(program, "float32[N]")
    assert gradients_last(block, [0, 2]).ops == block.ops


def _joint(width: int, rows: int | str) -> Any:
    specs = [ps.spec("float32", [rows, width])] + [ps.spec("float32", [width, width])] * 3
    return optimize(ps.split(_layers, *specs).joint().block)


def _places(block: Any) -> list[int]:
    made = {v: i for i, op in enumerate(block.ops) for v in op.outputs}
    return [made[r] for r in block.results]


@pytest.mark.parametrize(("width", "rows", "is_put_off"), [(64, 8, True), (8, 64, False), (64, "N", False)])
def test_gradients_larger_than_what_they_read_come_first_and_that_of_the_last_layer_before_them(
    width: int, rows: int | str, is_put_off: bool
) -> None:
    """onnxruntime begins at the end: with the value, the first layer's gradient, then those that can wait."""
    block = gradients_last(_joint(width, rows), range(5))
    check_types(block)
    first, second, third = _places(block)[2:]
    assert (third < second < first) if is_put_off else (first < second < third)


def test_a_value_of_two_results_is_copied_where_it_is_made() -> None:
    def program(x: Any) -> Any:
        y = op.Exp(x)
        return y, y, x, y

    block = record(program, "float32[N]")
    apart = results_apart(block)
    check_types(apart)
    assert kinds(apart) == ["Exp", "Identity", "Identity"]
    assert len(set(apart.results)) == 4
    assert results_apart(apart) is apart


@pytest.mark.parametrize("gradients", [[], [0], [0, 1]])
def test_a_value_read_inside_a_branch_is_ready_before_it(gradients: list[int]) -> None:
    from tests.recording import sub_block

    def program(x: Any, c: Any) -> Any:
        y = op.Exp(x)
        bodies = [sub_block(lambda: op.Neg(y)), sub_block(lambda: op.Abs(y))]
        (z,) = op.If(c, then_branch=bodies[0], else_branch=bodies[1], types=[x.type])
        return z, op.Sin(x)

    check_types(gradients_last(record(program, "float32[N]", "bool"), gradients))


def test_the_value_is_computed_before_any_gradient() -> None:
    """At the very end of the file, that is: what the value alone reads is free before the backward pass."""
    block = _finished()
    made = {v: i for i, op in enumerate(block.ops) for v in op.outputs}
    assert made[block.results[0]] == len(block.ops) - 1


def _finished() -> Any:
    specs = [ps.spec("float32", ["N", 4])] + [ps.spec("float32", [4, 4])] * 3
    named = ps.split(_layers, *specs).joint().named
    return finish(named.block, named.gradients)
