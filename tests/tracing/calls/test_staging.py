"""A builder returns the rule, once for each call site and signature."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from tests.primitives import slope_of_tanh, staged

X = np.array([0.3, -1.2, 0.8])


def test_a_builder_that_makes_no_rule_is_told_at_its_line() -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.rrule(f, staged=True)(lambda x: None)
    with pytest.raises(RuleError, match="a NoneType, which is no rule") as caught:
        ps.grad(lambda x: np.sum(f(x)))(X)
    assert "test_staging.py" in str(caught.value)


def builds_in(call: Any) -> int:
    before = ps.counts()
    call()
    return ps.counts().since(before).builds


def test_a_builder_runs_once_for_each_call_site_and_signature() -> None:
    """Over a hundred calls of the gradient: a loop is one site, two calls on one line are two."""
    f = staged(lambda x, n: float(n))

    def many(x: Any, y: Any) -> Any:
        total: Any = 0.0
        for _ in range(10):
            total = total + np.sum(f(x, 2))
        total = total + np.sum(f(x, 2)) + np.sum(f(x, 2))
        return total + np.sum(f(y, 2)) + np.sum(f(x, 3))

    y = np.ones((2, 2))
    gradient = ps.grad(many, (0, 1))
    assert builds_in(lambda: gradient(X, y)) == 1 + 2 + 1 + 1
    assert builds_in(lambda: [gradient(X, y) for _ in range(99)]) == 0
    t = np.tanh(X)
    np.testing.assert_allclose(gradient(X, y)[0], (12.0 * 2.0 * t + 3.0 * t**2) * slope_of_tanh(X))


def test_a_site_is_built_anew_for_another_signature_alone() -> None:
    """Not for another transform, another order, or another function that leads to the same call."""
    f = staged(lambda x, n: float(n))

    def loss(x: Any, n: int = 2) -> Any:
        return np.sum(f(x, n))

    assert builds_in(lambda: ps.grad(loss)(X)) == 1
    for again in (
        lambda: ps.hessian(loss)(X),
        lambda: ps.jvp(loss, (X,), (X,)),
        lambda: ps.grad(lambda x: loss(x) * loss(2.0 * x))(X),
        lambda: ps.vmap(ps.grad(loss))(np.stack([X, X])),
        lambda: ps.split(loss, X),
    ):
        assert builds_in(again) == 0
    assert builds_in(lambda: ps.grad(loss)(X[:2])) == 1
    assert builds_in(lambda: ps.grad(loss)(X.astype(np.float32))) == 1
    assert builds_in(lambda: ps.grad(loss)(X, 3)) == 1


def test_what_a_builder_prepares_for_one_site_no_other_gets() -> None:
    """A builder with a state: each run counts on, and what it made keeps its number."""
    made: list[float] = []

    def build(x: Any, n: int) -> float:
        made.append(10.0 ** len(made))
        return made[-1]

    f = staged(build)

    def loss(x: Any) -> Any:
        first = f(x, 2)
        second = f(x, 2)
        return np.sum(first) + np.sum(second)

    gradient = ps.grad(loss)
    np.testing.assert_allclose(gradient(X), 11.0 * np.tanh(X) * slope_of_tanh(X))
    before = ps.counts()
    for _ in range(100):
        gradient(X)
    assert ps.counts() == before
    assert made == [1.0, 10.0]
    np.testing.assert_allclose(ps.grad(lambda x: 2.0 * loss(x))(X), 22.0 * np.tanh(X) * slope_of_tanh(X))
    assert made == [1.0, 10.0]


def test_a_builder_runs_again_where_what_it_reads_was_changed() -> None:
    held = {"factor": 2.0}
    f = staged(lambda x, n: held["factor"])
    gradient = ps.grad(lambda x: np.sum(f(x, 2)))
    for factor in (2.0, 3.0, 4.0):
        held["factor"] = factor
        assert builds_in(lambda: np.testing.assert_allclose(gradient(X), factor * np.tanh(X) * slope_of_tanh(X))) == 1  # noqa: B023
        assert builds_in(lambda: gradient(X)) == 0


def test_a_forward_rule_may_be_staged_too() -> None:
    f = ps.primitive(lambda x, n: np.tanh(x) ** n, name="power")

    @ps.frule(f, staged=True)
    def _(x: Any, n: int) -> Any:
        factor = float(n)
        assert x.shape == (3,)
        return lambda x, n: (f(x, n), lambda tx, _: factor * np.tanh(x) ** (n - 1) * slope_of_tanh(x) * tx)

    def loss(x: Any) -> Any:
        return np.sum(f(x, 2))

    wanted = 2.0 * np.tanh(X) * slope_of_tanh(X)
    assert builds_in(lambda: [ps.jvp(loss, (X,), (X,)) for _ in range(100)]) == 1
    np.testing.assert_allclose(ps.jvp(loss, (X,), (X,))[1], np.sum(wanted * X))
    assert builds_in(lambda: np.testing.assert_allclose(ps.grad(loss)(X), wanted)) == 0
    with pytest.raises(RuleError, match="cannot be staged"):
        ps.frule("Softsign", staged=True)
