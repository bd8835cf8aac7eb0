"""The derivative of a loop: back over the steps, from what each kept or computes again."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir import walk


def test_a_carry_that_is_stacked_only_has_a_gradient_too() -> None:
    def f(x: Any) -> Any:
        return (ps.scan(lambda c, _: (c * x, c), 1.0, None, 4)[1] * np.arange(4.0)).sum()

    np.testing.assert_allclose(ps.grad(f)(np.float64(1.5)), 1.0 + 2.0 * 2.0 * 1.5 + 3.0 * 3.0 * 1.5**2)


def test_a_linear_loop_stores_no_carries() -> None:
    made = ps.split(lambda x: ps.scan(lambda c, x: (c + 2.0 * x, None), x[0], x)[0], ps.spec("float64", [4, 3]), wrt=0)
    assert all(made.split.kind(c) in {"shape", "input"} for c in made.split.captures)
    assert "Loop" not in {o.kind for o in walk(made.split.pullback)}
