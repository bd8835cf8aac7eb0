"""The first of several values that the same operators computed from the same values is found."""

from typing import Any

import numpy as np

from primsplit.ops import op
from primsplit.tracing.alike import Alike
from tests.recording import record


def test_an_op_on_equal_values_is_the_first_one() -> None:
    block = record(lambda x: (op.Exp(x), op.Sin(op.Exp(x)), op.Exp(x)), "float32[3]")
    first, sine, again = block.results
    alike = Alike()
    assert alike.made_by(block.ops, "Exp", block.params[0]) is first
    assert alike.made_by(block.ops, "Sin", first) is sine
    assert alike.made_by(block.ops, "Sin", again) is sine
    assert alike.made_by(block.ops, "Cos", first) is None
    assert alike.made_by(block.ops, "Exp", sine) is None


def test_small_constants_count_by_their_numbers_and_attributes_by_their_text() -> None:
    def program(x: Any) -> Any:
        sums = [op.Add(x, np.float32(2)), op.Add(x, np.float32(2)), op.Add(x, np.float32(3))]
        elus = [op.Elu(x, alpha=0.5), op.Elu(x, alpha=0.5), op.Elu(x, alpha=0.25)]
        return tuple(op.Neg(y) for y in (*sums, *elus))

    block = record(program, "float32[3]")
    alike = Alike()
    negated = [alike.made_by(block.ops, "Neg", step.inputs[0]) for step in block.ops if step.kind == "Neg"]
    assert [negated.index(v) for v in negated] == [0, 0, 2, 3, 3, 5]


def test_draws_and_ops_of_several_results_are_never_alike() -> None:
    def program(x: Any) -> Any:
        noise = [op.RandomNormalLike(x, seed=1.0), op.RandomNormalLike(x, seed=1.0)]
        parts = [op.Split(x, [1, 2], outputs=2)[0], op.Split(x, [1, 2], outputs=2)[0]]
        return tuple(op.Neg(y) for y in (*noise, *parts))

    block = record(program, "float32[3]")
    alike = Alike()
    assert all(
        alike.made_by(block.ops, "Neg", step.inputs[0]) is step.outputs[0] for step in block.ops if step.kind == "Neg"
    )


def test_a_recording_that_was_cut_is_read_again() -> None:
    block = record(lambda x: (op.Exp(x), op.Exp(x)), "float32[3]")
    ops, alike = [*block.ops], Alike()
    assert alike.made_by(ops, "Exp", block.params[0]) is block.results[0]
    del ops[:]
    assert alike.made_by(ops, "Exp", block.params[0]) is None
    ops.append(block.ops[1])
    assert alike.made_by(ops, "Exp", block.params[0]) is block.results[1]
