"""A registration that would never be used, or would be used wrongly, is refused at the user's line."""

from collections.abc import Callable
from typing import Any

import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.rules import table
from primsplit.rules.table import FRULES, RULES
from primsplit.tracing.registering import check_takes_inputs
from primsplit.transforms.batching import table as batching
from primsplit.transforms.batching.table import BATCHING


def function_of(module: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one of this module."""
    function.__module__ = module
    return function


def rule(x: Any) -> Any:
    return x, lambda dy: dy


@pytest.mark.parametrize(
    "register",
    [table.rrule, table.frule, batching.batching, ps.rrule, ps.frule],
    ids=["table.rrule", "table.frule", "batching", "ps.rrule", "ps.frule"],
)
def test_an_unknown_name_is_refused_at_the_users_line_with_near_ones(register: Any) -> None:
    with pytest.raises(RuleError, match=r"Tahn is no operator(.|\n)*Did you mean .*Tanh") as caught:
        register("Tahn")
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


TABLES: list[Any] = [(table.rrule, RULES), (table.frule, FRULES), (batching.batching, BATCHING)]


@pytest.mark.parametrize(("register", "entries"), TABLES, ids=["rrule", "frule", "batching"])
def test_a_rule_of_another_module_is_replaced_only_where_that_is_said(
    register: Any, entries: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(entries, "Selu", None)
    monkeypatch.delitem(entries, "Selu")

    def one(x: Any, *, alpha: float = 0.0, gamma: float = 0.0) -> Any:
        return x

    first, again = (function_of("mine", lambda x, **_: one(x)) for _ in range(2))
    other = function_of("theirs", lambda x, **_: one(x))
    register("Selu")(first)
    register("Selu")(again)
    kept = entries["Selu"]
    with pytest.raises(RuleError, match=r"Selu has a .*rule already, from mine") as caught:
        register("Selu")(other)
    assert caught.value.place is not None
    assert "replace=True" in str(caught.value)
    assert entries["Selu"] is kept
    register("Selu", replace=True)(other)
    assert entries["Selu"] is not kept


@pytest.mark.parametrize(("register", "entries"), TABLES, ids=["rrule", "frule", "batching"])
def test_a_users_rule_takes_the_place_of_the_packages_own(
    register: Any, entries: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(entries, "Selu", None)
    monkeypatch.delitem(entries, "Selu")

    def users(x: Any, *, alpha: float = 0.0, gamma: float = 0.0) -> Any:
        return x

    own, another = (function_of(f"primsplit.{name}", lambda x, **_: users(x)) for name in ("one", "two"))
    register("Selu")(own)
    with pytest.raises(RuleError, match=r"Selu has a .*rule already, from primsplit.one"):
        register("Selu")(another)
    kept = entries["Selu"]
    register("Selu")(users)
    assert entries["Selu"] is not kept
    with pytest.raises(RuleError, match=r"Selu has a .*rule already"):
        register("Selu")(own)


def test_the_rule_of_a_primitive_is_another_modules_too() -> None:
    @ps.primitive
    def same(x: Any) -> Any:
        return x * 1.0

    ps.rrule(same)(function_of("mine", lambda x: (same(x), lambda dy: dy)))
    with pytest.raises(RuleError, match="same has a rule already, from mine"):
        ps.rrule(same)(function_of("theirs", lambda x: (same(x), lambda dy: dy)))
    ps.rrule(same, replace=True)(function_of("theirs", lambda x: (same(x), lambda dy: 2.0 * dy)))
    assert ps.grad(same)(1.0) == 2.0
    ps.opt_out(same)
    ps.rrule(same)(function_of("mine", lambda x: (same(x), lambda dy: 3.0 * dy)))
    assert ps.grad(same)(1.0) == 3.0


@pytest.mark.parametrize(
    ("kind", "wrong", "told"),
    [
        ("Tanh", lambda x, y: rule(x), "missing a required argument: 'y'"),
        ("Tanh", lambda: None, "too many positional arguments"),
        ("LeakyRelu", rule, "got an unexpected keyword argument 'alpha'"),
        ("Concat", lambda *xs: rule(xs), "got an unexpected keyword argument 'axis'"),
    ],
)
@pytest.mark.parametrize("register", [ps.rrule, ps.frule])
def test_a_rule_of_other_arguments_is_refused_where_it_is_registered(
    register: Any, kind: str, wrong: Any, told: str
) -> None:
    before = dict(RULES), dict(FRULES)
    with pytest.raises(RuleError, match=told) as caught:
        register(kind, replace=True)(wrong)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__
    assert (dict(RULES), dict(FRULES)) == before


def test_a_rule_may_leave_out_inputs_that_are_optional() -> None:
    check_takes_inputs("Clip", lambda x: rule(x), "rule")
    check_takes_inputs("Clip", lambda x, low, high: rule(x), "rule")
    with pytest.raises(RuleError, match=r"(?s)missing.*It takes the inputs input, min, max\."):
        check_takes_inputs("Clip", lambda x, low, high, more: rule(x), "rule")


def test_a_batching_rule_takes_one_site() -> None:
    with pytest.raises(RuleError, match="the batching rule of Tanh takes other arguments"):
        batching.batching("Tanh", replace=True)(lambda x, batched: x)


@pytest.mark.parametrize(
    ("functions", "told"),
    [
        ((lambda x, y: y, lambda x, y: y), "Tanh has the inputs input, and 2 partial derivatives"),
        ((lambda x: x,), "partial derivative 0 of Tanh takes other arguments"),
        ((lambda x, z, dz: x,), "missing a required argument: 'dz'"),
    ],
)
def test_there_is_a_partial_derivative_for_each_input_of_inputs_and_output(functions: Any, told: str) -> None:
    with pytest.raises(RuleError, match=told):
        table.partials("Tanh", *functions, replace=True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda x: x, "too many positional arguments"),
        (lambda x, y, z, dz: x, "missing a required argument: 'z'"),
        (lambda x, y: x, "got an unexpected keyword argument 'by'"),
    ],
)
def test_the_rule_of_a_primitive_takes_its_arguments(wrong: Any, told: str) -> None:
    @ps.primitive
    def scaled(x: Any, y: Any, *, by: float) -> Any:
        return x * y * by

    for register in (ps.rrule, ps.frule):
        with pytest.raises(RuleError, match=told):
            register(scaled)(wrong)
    assert scaled.rule is None


OWN = [
    *((kind, entry.rule, "rule") for kind, entry in RULES.items() if entry.form == "rule"),
    *((kind, entry.rule, "forward rule") for kind, entry in FRULES.items() if kind not in {"Max", "Min"}),
]
"""The rules of the package. The forward rules of Max and Min admit two inputs, among any number."""


def test_the_packages_own_rules_take_their_operators_inputs() -> None:
    assert len(OWN) > 100
    for kind, own, what in OWN:
        check_takes_inputs(kind, own, what, is_checked=True)


def test_a_wrong_rule_of_the_package_is_found_where_its_rules_are_checked() -> None:
    wrong = function_of("primsplit.rules.elementwise", lambda x: x)
    with pytest.raises(RuleError, match="the rule of Mul takes other arguments"):
        check_takes_inputs("Mul", wrong, "rule", is_checked=True)
