"""A value that leaves its trace, or an error in it, is reported where it happened, and leaves nothing behind."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule, RuleError
from primsplit.rules.table import RULES

X = np.array([1.0, 2.0, 3.0])


def total(x: Any) -> Any:
    return np.sum(x)


def test_a_failed_trace_is_not_kept() -> None:
    broken = [True]

    def f(x: Any) -> Any:
        if broken[0]:
            raise ValueError("not yet")
        return total(x)

    gradient = ps.grad(f)
    with pytest.raises(ValueError, match="not yet"):
        gradient(X)
    broken[0] = False
    assert gradient(X).tolist() == [1.0, 1.0, 1.0]


def test_an_operator_without_a_rule_is_told_with_its_types_its_line_and_a_stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "Asinh")

    def f(x: Any) -> Any:
        bent = np.tanh(x)
        return total(np.arcsinh(bent))

    with pytest.raises(MissingRule) as caught:
        ps.split(f, X.reshape(1, 3, 1))
    told = str(caught.value)
    for part in ("Asinh", "float64[1,3,1]", "total(np.arcsinh(bent))", "depends on x", "@ps.rrule(f) def rule(x)"):
        assert part in told
    assert len(told.splitlines()) < 10
    assert "Tanh(" in str(caught.value.tape)


def test_a_rule_that_returns_something_else_is_refused() -> None:
    @ps.primitive
    def double(x: Any) -> Any:
        return x * 2.0

    ps.rrule(double)(lambda x: double(x))
    with pytest.raises(RuleError, match="must return its output and a function"):
        ps.grad(lambda x: total(double(x)))(X)


def test_an_error_of_a_rules_own_code_tells_whose_rule_it_is_and_for_what() -> None:
    @ps.primitive
    def looked_up(x: Any) -> Any:
        return x * 2.0

    ps.rrule(looked_up)(lambda x: (looked_up(x), lambda dy: {}["scale"] * dy))
    with pytest.raises(KeyError) as caught:
        ps.grad(lambda x: total(looked_up(x)))(X)
    (note,) = caught.value.__notes__
    assert "in the rule of looked_up, for float64[3], at " in note
    assert "test_failures.py" in note
