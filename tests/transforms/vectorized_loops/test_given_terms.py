"""Terms that a step of a Scan is given are added up in front of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import optimize
from primsplit.transforms.vectorized_loops.fission import split_up_scans
from primsplit.transforms.vectorized_loops.given_terms import given_terms_first
from tests.random_programs import run
from tests.recording import derivative, kinds

Step = Callable[..., Any]
BEFORE: dict[str, tuple[Step, int]] = {
    "two elements": (lambda c, x, y, f: op.Add(op.Add(c * 0.5, x), y), 1),
    "one in each operand": (lambda c, x, y, f: op.Add(op.Add(c * 0.5, x), op.Add(c * c, y)), 2),
    "an element and what is the same in all steps": (lambda c, x, y, f: op.Add(op.Add(x * y, c * 0.5), f), 1),
    "and a row of it": (lambda c, x, y, f: op.Add(op.Add(f[:1], c * 0.5), x), 1),
    "through a view": (lambda c, x, y, f: op.Add(op.Neg(op.Add(c * 0.5, x)), y), 1),
    "through two": (lambda c, x, y, f: op.Add(op.Neg(op.Add(op.Neg(op.Add(c * 0.5, x)), y)), op.Add(x, f)), 1),
}
LEFT: dict[str, Step] = {
    "one": lambda c, x, y, f: op.Add(op.Add(c * 0.5, x), c * c),
    "read twice": lambda c, x, y, f: op.Mul(op.Add(z := op.Add(c * 0.5, x), y), z),
    "the same in all steps": lambda c, x, y, f: op.Add(op.Add(c * 0.5, f), 2.0),
    "smaller than the sum": lambda c, x, y, f: op.Add(op.Add(c * 0.5, x[:1]), y[:1]),
    "a view of a smaller one": lambda c, x, y, f: op.Add(op.Neg(op.Add(c * 0.5, f[:1])), x),
}


def walked(step: Step) -> Callable[..., Any]:
    def function(start: Any, xs: Any, ys: Any, f: Any) -> Any:
        return op.Identity(ps.scan(lambda c, row: (step(c, *row, f), None), start, (xs, ys))[0])

    return function


def body_of(block: Block) -> Block:
    (found,) = [b for op in block.ops for b in op.blocks()]
    return found


def recorded(step: Step) -> Block:
    return optimize(derivative(walked(step), "float64[3]", "float64[N,3]", "float64[N,3]", "float64[3]"))


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_step_is_given_is_added_in_front(name: str) -> None:
    step, adds = BEFORE[name]
    block = recorded(step)
    after = given_terms_first(block, [0])
    check_types(after)
    assert kinds(body_of(split_up_scans(after))).count("Add") == adds
    random = np.random.default_rng(1)
    inputs = [random.standard_normal(s) for s in ((3,), (4, 3), (4, 3), (3,))]
    np.testing.assert_allclose(run(after, inputs)[0], run(block, inputs)[0], rtol=1e-13)


@pytest.mark.parametrize("name", LEFT)
def test_other_sums_are_left(name: str) -> None:
    block = recorded(LEFT[name])
    assert given_terms_first(block, [0]) is block


def test_a_value_is_left_as_it_rounds() -> None:
    block = recorded(BEFORE["two elements"][0])
    assert given_terms_first(block, []) is block
