"""The check of forward mode fails rules that are wrong, not linear or without a transpose."""

from collections.abc import Callable
from typing import Any

import pytest

from primsplit.ops import op
from primsplit.rules.table import FRULES, Forward
from primsplit.testing import check_rrule
from primsplit.tracing.registering import Epoch
from tests.testing.breaking import EPOCHS, F, fails, product


def forward_rule(monkeypatch: pytest.MonkeyPatch, pushforward: Callable[..., Any]) -> None:
    """Gives Mul this forward rule."""
    entry = Forward(lambda x, y: (op.Mul(x, y), lambda tx, ty: pushforward(tx, ty, x, y)), lambda op, wrt: True)
    monkeypatch.setitem(FRULES, "Mul", entry)
    monkeypatch.setattr(Epoch, "count", next(EPOCHS))


def test_a_wrong_forward_rule_fails_against_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rule(monkeypatch, lambda tx, ty, x, y: tx * y * 1.001 + x * ty)
    assert "along a direction" in fails("forward", "Mul", F, F)


def test_a_forward_rule_that_is_not_linear_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    forward_rule(monkeypatch, lambda tx, ty, x, y: tx * y + x * ty + tx * ty)
    assert "not linear" in fails("forward", "Mul", F, F)


def test_a_pullback_that_has_no_transpose_fails_in_forward_mode_unless_it_is_for_reverse_alone(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken("Mul", product(lambda dz, x, y: op.Clip(dz, -1e9, 1e9) * y))
    monkeypatch.delitem(FRULES, "Mul")
    assert "is not linear" in fails("forward", "Mul", F, F, only=["forward"])
    check_rrule("Mul", F, F, only=["forward"], reverse_only=True)
