"""A loop does not stack what its pullback makes again of what is stacked anyway."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing import check_grads

X = np.array([0.7, -0.4, 1.3])
ROWS = np.array([[0.4, 0.9, -0.2], [1.1, -0.3, 0.8], [0.7, 1.6, 0.1]])
Step = Callable[[Any, Any], Any]

STEPS: dict[str, tuple[int, Step]] = {
    # The carry before the step is read one step later in its own stack; the rest is what the step makes.
    "a part of what is kept": (2, lambda c, x: np.sin(np.tanh(c)[::-1] * np.tanh(c) * x)),
    "a choice between what is kept": (1, lambda c, x: np.maximum(c, x) * np.minimum(c, x) * x),
    "a sum of two products": (2, lambda c, x: np.tanh(c * x + 3.0) ** 2),
    "what takes long to make": (2, lambda c, x: np.exp(np.sin(c)) * x),
}


def stacked(step: Step) -> int:
    """Return the number of values that the forward loop of a gradient stacks, its own results aside."""
    program = ps.split(lambda c, xs: run(step, c, xs), ps.spec("float64", [3]), ps.spec("float64", ["N", 3])).joint()
    forward = next(op for op in walk(program.block) if op.kind == "Scan")
    return len(forward.outputs) - 1


def run(step: Step, c: Any, xs: Any) -> Any:
    return np.sum(ps.scan(lambda c, x: (step(c, x), None), c, xs)[0])


@pytest.mark.parametrize("name", STEPS)
def test_only_what_takes_long_is_stacked(name: str) -> None:
    most, step = STEPS[name]
    assert stacked(step) == most
    check_grads(lambda c, xs: run(step, c, xs), X, ROWS, step=1e-3)
