"""Forward rules of one's own, rules that are built once, and what is told where they break their contract."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.errors import RuleError
from primsplit.rules.table import FRULES
from primsplit.testing import check_rrule

X = np.array([0.3, -1.2, 0.8])


def product_with_forward_rule() -> Any:
    """sin(x) y, with a forward rule and no reverse rule; each of its lists is marked by a factor of exactly 1."""

    @ps.primitive
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y

    @ps.frule(f)
    def _(x: Any, y: Any) -> Any:
        def pushforward(tx: Any, ty: Any) -> Any:
            total: Any = 0.0
            if tx is not None:
                total = total + np.cos(x) * y * tx
            return total if ty is None else total + np.sin(x) * ty

        return f(x, y), pushforward

    return f


def test_a_forward_rule_is_used_in_forward_mode() -> None:
    f = product_with_forward_rule()
    _, tangent = ps.jvp(f, (X, 3.0), (np.ones(3), None))
    np.testing.assert_allclose(tangent, np.cos(X) * 3.0)
    _, tangent = ps.jvp(f, (X, 3.0), (None, 2.0))
    np.testing.assert_allclose(tangent, np.sin(X) * 2.0)


def test_a_function_with_a_forward_rule_alone_is_transposed_in_reverse() -> None:
    f = product_with_forward_rule()
    gradient = ps.grad(lambda x, y: np.sum(f(x, y)), (0, 1))(X, np.array(3.0))
    np.testing.assert_allclose(gradient[0], np.cos(X) * 3.0)
    np.testing.assert_allclose(gradient[1], np.sum(np.sin(X)))
    np.testing.assert_allclose(ps.hessian(lambda x: np.sum(f(x, 2.0)))(X), np.diag(-2.0 * np.sin(X)))


def test_a_forward_rule_goes_before_the_pullback_transposed() -> None:
    @ps.primitive
    def f(x: Any) -> Any:
        return x * x

    ps.rrule(f)(lambda x: (f(x), lambda dy: (2.0 * x * dy,)))
    ps.frule(f)(lambda x: (f(x), lambda tx: 100.0 * tx))
    assert ps.grad(f)(3.0) == 6.0
    assert ps.jvp(f, (3.0,), (1.0,))[1] == 100.0
    ps.opt_out(f)
    assert ps.jvp(f, (3.0,), (1.0,))[1] == 6.0


def test_a_forward_rule_takes_nested_arguments_and_gives_nested_results() -> None:
    @ps.primitive
    def f(p: Any, n: int) -> Any:
        return {"a": p["w"] ** n, "b": p["c"] * 1.0}

    @ps.frule(f)
    def _(p: Any, n: int) -> Any:
        return f(p, n), lambda t, _: {"a": n * p["w"] ** (n - 1) * t["w"], "b": None}

    p, t = {"w": X, "c": X}, {"w": np.ones(3), "c": None}
    _, tangent = ps.jvp(lambda p: f(p, 3), (p,), (t,))
    np.testing.assert_allclose(tangent["a"], 3.0 * X**2)
    assert tangent["b"].tolist() == [0.0, 0.0, 0.0]


def test_an_operator_gets_a_forward_rule_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRULES, "Softsign", None)
    monkeypatch.delitem(FRULES, "Softsign")
    op = ps.ops.op

    @ps.frule("Softsign")
    def _(x: Any) -> Any:
        y = op.Softsign(x)
        return y, lambda tx: op.Mul(tx, (1.0 - op.Abs(y)) ** 2)

    check_rrule("Softsign", np.array([0.5, -2.0, 1.0]), only=["forward"])
    assert FRULES["Softsign"].rule is _


BROKEN = [
    ("no pair", lambda x: x, "must return its output and a function, the pushforward"),
    ("two tangents", lambda x: (x * 1.0, lambda tx: (tx, tx)), "returned 2 tangents for 1 results"),
    ("another shape", lambda x: (x * 1.0, lambda tx: np.sum(tx)), "returned a tangent of type float64"),
]


@pytest.mark.parametrize(("rule", "told"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_forward_rule_that_breaks_its_contract_is_told(rule: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.frule(f)(rule)
    with pytest.raises(RuleError) as caught:
        ps.jvp(f, (X,), (X,))
    assert told in str(caught.value)


NOT_LINEAR = [
    ("clips", lambda dy: (np.clip(dy, -1.0, 1.0),), "the pullback of clips is not linear"),
    ("signs", lambda dy: (np.sign(dy),), "the pullback of signs is not linear: Sign"),
    ("squares", lambda dy: (dy * dy,), "the pullback of squares is not linear: Mul"),
    ("rounds", lambda dy: (np.floor(dy),), "the pullback of rounds is not linear: Floor"),
    ("counts", lambda dy: (dy.astype(np.int64).astype(np.float64),), "the pullback of counts is not linear: Cast"),
]


@pytest.mark.parametrize(("name", "pullback", "told"), NOT_LINEAR, ids=[n[0] for n in NOT_LINEAR])
def test_a_pullback_that_is_not_linear_has_no_transpose(name: str, pullback: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name=name)
    ps.rrule(f)(lambda x: (f(x), pullback))
    ps.grad(lambda x: np.sum(f(x)))(X)
    with pytest.raises(RuleError) as caught:
        ps.jvp(f, (X,), (X,))
    assert told in str(caught.value)
    assert "test_frules.py" in str(caught.value)


def test_a_pushforward_that_is_not_linear_has_no_transpose() -> None:
    f = ps.primitive(lambda x: x * 1.0, name="squared")
    ps.frule(f)(lambda x: (f(x), lambda tx: tx * tx))
    with pytest.raises(RuleError, match="the pushforward of squared is not linear: Mul"):
        ps.grad(lambda x: np.sum(f(x)))(X)


def test_frule_takes_primitives_and_operators_alone() -> None:
    with pytest.raises(RuleError, match="frule takes a primitive"):
        ps.frule(np.sin)  # type: ignore[arg-type]


# Staged rules: built once.


def staged(builds: Iterator[int]) -> Any:
    """tanh(x)**n, whose rule is made by a builder that counts."""

    @ps.primitive
    def f(x: Any, n: int) -> Any:
        return np.tanh(x) ** n

    def build(x: Any, n: int) -> Any:
        next(builds)
        factor = float(n)

        def rule(x: Any, n: int) -> Any:
            t = np.tanh(x)
            return t**n, lambda dy: (factor * t ** (n - 1) * (1.0 - t * t) * dy, None)

        return rule

    ps.rrule(f, staged=True)(build)
    return f


def test_the_builder_of_a_staged_rule_runs_once_for_each_signature() -> None:
    """Of a counter, only what it is counts among what a function reads."""
    builds = itertools.count()
    f = staged(builds)

    def many(x: Any, y: Any) -> Any:
        total: Any = 0.0
        for _ in range(100):
            total = total + np.sum(f(x, 2))
        return total + np.sum(f(y, 2)) + np.sum(f(x, 3))

    y = np.ones((2, 2))
    gradient = ps.grad(many, (0, 1))
    for _ in range(3):
        found, _ = gradient(X, y)
    t = np.tanh(X)
    np.testing.assert_allclose(found, 100.0 * 2.0 * t * (1.0 - t * t) + 3.0 * t**2 * (1.0 - t * t))
    ps.hessian(lambda x: np.sum(f(x, 2)))(X)
    assert next(builds) == 3
