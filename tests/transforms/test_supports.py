"""Where a cotangent is 0 whatever a parameter is: by a mask, or in another element."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Op, Var
from primsplit.ops import op
from primsplit.transforms.supports import Support

X = np.array([-1.0, 0.0, 2.0])
MASK = np.array([1.0, 0.0, 1.0])


def support(function: Any) -> Any:
    """Return the support of the result of a function of an array that varies and a mask, 1 and 0; None if unknown."""

    def both(x: Any, mask: Any) -> Any:
        value = function(x, mask)
        ops: list[Op] = ps.tracing.current().ops
        made = {v: one for one in ops for v in one.outputs}
        varies: dict[Var, int] = {x.value: 1}
        for one in ops:
            bits = max((varies.get(v, 0) for v in one.inputs if isinstance(v, Var)), default=0)
            varies.update(dict.fromkeys(one.outputs, bits))
        found = Support(made, varies, 1, {}).of(value.value)
        return np.full(1, np.nan) if found is None else op.Expand(found, [3]) != 0

    return ps.trace(both, X, MASK)(X, MASK)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, mask: op.Mul(x, mask), [1, 0, 1]),
        (lambda x, mask: op.Neg(op.Mul(op.Sin(x), mask)), [1, 0, 1]),
        (lambda x, mask: op.Add(op.Mul(x, mask), op.Mul(x, op.Sub(1.0, mask))), [1, 1, 1]),
        (lambda x, mask: op.Where(op.Greater(mask, 0.0), x, 0.0), [1, 0, 1]),
    ],
)
def test_a_mask_is_where_a_value_is_zero_whatever_x_is(function: Any, expected: list[int]) -> None:
    np.testing.assert_array_equal(support(function), np.array(expected, bool))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, mask: op.Mul(x, op.Sin(x)),
        lambda x, mask: op.Mul(x, op.Sign(x)),
        lambda x, mask: op.Add(op.Mul(x, mask), op.Sin(x)),
    ],
)
def test_a_value_that_is_zero_by_chance_has_no_support(function: Any) -> None:
    assert np.isnan(support(function)).all()
