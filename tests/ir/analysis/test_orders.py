"""Refusals of higher derivatives: the operator, the order, whose pullback it is part of, and the user's line."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.analysis.orders import order_of, remark_of
from primsplit.ir.errors import MissingRule, RuleError
from primsplit.rules.table import RULES
from tests.primitives import first_order_only

X = np.array([0.2, 0.4])


@pytest.fixture(autouse=True)
def _arcsinh_has_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "Asinh")


def square(inner: Callable[[Any], Any], name: str) -> Any:
    """x**2, whose pullback goes through `inner`, which is x again."""
    f = ps.primitive(lambda x: x * x, name=name)
    ps.rrule(f)(lambda x: (f(x), lambda dy: (2.0 * dy * inner(x),)))
    return f


def arcsinh_of_sinh(x: Any) -> Any:
    return np.arcsinh(np.sinh(x))


def line_of(f: Any) -> Callable[[Any], Any]:
    def loss(x: Any) -> Any:
        z = x * 1.0
        return np.sum(f(z))  # the line that is told

    return loss


def twice_in_reverse(f: Any) -> Any:
    return ps.grad(lambda x: np.sum(ps.grad(f)(x)))(X)


def twice_forward(f: Any) -> Any:
    return ps.jvp(lambda x: ps.jvp(f, (x,), (X,))[1], (X,), (X,))


SECOND: list[tuple[str, Callable[[Any], Any], str]] = [
    ("hessian", lambda f: ps.hessian(f)(X), "pullback"),
    ("hvp", lambda f: ps.hvp(f)(X, X), "pullback"),
    ("reverse twice", twice_in_reverse, "pullback"),
    ("forward twice", twice_forward, "tangent"),
    ("a file", lambda f: ps.export(f, X, mode="hvp", path="/nowhere/f.onnx"), "pullback"),
]


@pytest.mark.parametrize(("twice", "part"), [s[1:] for s in SECOND], ids=[s[0] for s in SECOND])
def test_a_second_derivative_without_a_rule_is_refused(twice: Any, part: str) -> None:
    loss = line_of(square(arcsinh_of_sinh, "user"))
    np.testing.assert_allclose(ps.grad(loss)(X), 2.0 * X)
    with pytest.raises(MissingRule) as caught:
        twice(loss)
    told = str(caught.value)
    assert "Asinh has no derivative" in told
    assert f"needed for one of order 2: it is part of the {part} of user" in told
    assert "test_orders.py" in told
    assert "# the line that is told" in told
    assert "Write the rule of user with operators that have derivatives" in told
    assert len(told.splitlines()) < 10


@pytest.mark.parametrize(("twice", "part"), [s[1:] for s in SECOND], ids=[s[0] for s in SECOND])
def test_the_second_derivative_of_a_rule_of_first_order_is_refused(twice: Any, part: str) -> None:
    loss = line_of(first_order_only())
    np.testing.assert_allclose(ps.grad(loss)(X), 1.0 - np.tanh(X) ** 2)
    np.testing.assert_allclose(ps.jvp(loss, (X,), (X,))[1], np.sum(X * (1.0 - np.tanh(X) ** 2)))
    with pytest.raises(RuleError) as caught:
        twice(loss)
    told = str(caught.value)
    assert "soft has no second derivative" in told
    assert f"needed for one of order 2: it is part of the {part} of soft" in told
    assert "# the line that is told" in told
    assert len(told.splitlines()) < 10


def test_a_third_derivative_is_told_as_one() -> None:
    inner = square(arcsinh_of_sinh, "inner")
    outer = line_of(square(lambda x: inner(x) / x, "outer"))
    np.testing.assert_allclose(ps.hessian(outer)(X), 2.0 * np.eye(2), atol=1e-12)
    with pytest.raises(MissingRule) as caught:
        twice_in_reverse(lambda x: np.sum(ps.grad(outer)(x)))
    assert "order 3: it is part of the pullback of inner" in str(caught.value)
    assert "# the line that is told" in str(caught.value)


def test_a_first_derivative_is_told_without_an_order() -> None:
    with pytest.raises(MissingRule) as caught:
        ps.grad(line_of(np.arcsinh))(X)
    assert "of order" not in str(caught.value)


def test_the_parts_of_a_derivative_say_of_which_order_they_are() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    for transform, order in ((ps.grad, 1), (ps.hessian, 2)):
        ops = ps.trace(transform(f), X).block.ops
        assert max(order_of(op.remark) for op in ops) == order
    (op,) = (o for o in ps.trace(np.sin, X).block.ops if o.kind == "Sin")
    assert remark_of("pullback", op) == "pullback of Sin"
    assert order_of("raises ValueError: of something") == 0
