"""Checks of a rule's numbers: each fails a rule that is broken in just that way."""

from typing import Any

import numpy as np
import pytest

from primsplit.ops import op
from primsplit.rules.table import RULES
from primsplit.testing import check_rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to
from tests.testing.breaking import WIDE, F, fails, product


def test_a_wrong_factor_fails_against_differences(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: dz * y * 1.001))
    assert "derivative is" in fails("differences", "Mul", F, F)


def test_a_primal_that_is_not_the_operator_fails(broken: Any) -> None:
    broken("Mul", lambda x, y: (op.Add(x, y), lambda dz: (dz * y, dz * x)))
    assert "by the rule" in fails("primal", "Mul", F, F)


def test_a_value_that_is_not_numpys_fails() -> None:
    fails("primal", "Mul", F, F, numpy=lambda x, y: x * y + 1e-6)


def test_a_cotangent_of_another_dtype_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: op.Cast(dz * y, to=np.float32)))
    assert "float32" in fails("form", "Mul", F, F)


def test_a_missing_sum_over_a_broadcast_axis_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: sum_to(dz * y, x.shape), lambda dz, x, y: dz * x))
    fails("form", "Mul", WIDE, F)


def test_a_sum_that_is_missing_only_where_the_run_broadcasts_fails(broken: Any) -> None:
    broken(
        "Mul", product(lambda dz, x, y: op.Mul(dz, y, types=[x.type]), lambda dz, x, y: op.Mul(dz, x, types=[y.type]))
    )
    check_rrule("Mul", F, F, only=["form", "differences", "sizes"])
    fails("sizes", "Mul", F, F, separate=True, only=["sizes"])


def test_a_rule_that_is_wrong_in_float32_alone_fails(broken: Any) -> None:
    broken("Mul", product(lambda dz, x, y: dz * y * (1.01 if x.dtype == np.float32 else 1.0)))
    fails("dtypes", "Mul", F, F)


def test_a_wrong_rule_of_an_operator_in_the_pullback_fails_at_second_order(broken: Any) -> None:
    broken("Cos", lambda x: (op.Cos(x), lambda dy: dy * op.Sin(x)))
    fails("second_order", "Sin", F)
    check_rrule("Sin", F, first_order_only=True)


def test_a_pullback_through_an_operator_without_a_rule_fails_at_second_order(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(RULES, "Cos")
    broken("Sin", RULES["Sin"].rule)
    assert "Cos has no derivative" in fails("second_order", "Sin", F)


def test_a_kink_with_another_convention_fails(broken: Any) -> None:
    broken("Relu", lambda x: (op.Relu(x), lambda dy: op.Where(op.GreaterOrEqual(x, 0.0), dy, 0.0)))
    kink = ([np.array([-1.0, 0.0, 1.0])], [[0, 0, 1]])
    fails("kinks", "Relu", np.array([-1.0, 0.5, 1.0]), kinks=[kink])


def test_a_size_frozen_into_a_rule_fails(broken: Any) -> None:
    def frozen(dz: Array, x: Array, y: Array) -> Array:
        return op.Expand(op.ReduceSum(dz, [0], keepdims=1), [3], types=[x.type])

    broken("Identity", lambda x: (op.Identity(x), lambda dy: frozen(dy, x, x)))
    fails("sizes", "Identity", F, only=["sizes"])
