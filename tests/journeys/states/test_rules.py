"""Rules that keep something: slots of a call site, builders that prepare once, and what is checked of any rule."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, SpecError

Array = np.ndarray[Any, Any]


# What a rule prepares once.


def test_a_primitive_without_a_builder_is_differentiated_as_before() -> None:
    @ps.primitive
    def tripled(x: Array) -> Array:
        return 3.0 * x

    before = ps.counts()
    ps.grad(lambda x: np.sum(tripled(x)))(np.ones(2))
    assert tripled.rule is None
    assert ps.counts().since(before).builds == 0


def test_a_rule_holds_the_prepared_derivative_of_another_function() -> None:
    """The builder splits `inner` once for each call site and signature, however often the rule is used."""
    split: list[Any] = []

    def inner(x: Any) -> Any:
        return np.sum(np.sin(x) * x)

    @ps.primitive
    def outer(x: Any) -> Any:
        return inner(x)

    @ps.rrule(outer, staged=True)
    def build(x: Any) -> Any:
        joint = ps.split(inner, x).joint()
        split.append(joint)

        def rule(x: Any) -> Any:
            value, slope = joint(x)
            return value, lambda dy: (dy * slope,)

        return rule

    gradient = ps.grad(lambda x: 2.0 * outer(x))
    x = np.array([0.3, 1.2])
    before = ps.counts()
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), 2 * (np.cos(x) * x + np.sin(x)))
    ps.hessian(lambda x: outer(x) + 0.0)(x)
    assert ps.counts().since(before).builds == len(split) == 2


# What is checked of a rule, at trace time.


@pytest.mark.parametrize(
    ("cotangent", "error", "told"),
    [
        (np.ones(3), DtypeError, r"the cotangent of a float32\[3\] cannot be float64\[3\]"),
        (np.ones(4, np.float32), ShapeError, r"the cotangent of a float32\[3\] cannot be float32\[4\]"),
        ((np.ones(3, np.float32),) * 2, SpecError, "another structure than the result"),
    ],
)
def test_a_cotangent_is_checked_where_it_enters(cotangent: Any, error: type[Exception], told: str) -> None:
    _, pullback = ps.vjp(np.sin, np.ones(3, np.float32))
    with pytest.raises(error, match=told):
        pullback(cotangent)
