"""A reverse rule of one's own: its cotangents fit, it is linear, and it may be of first order only."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError

X = np.array([0.3, -1.2, 0.8])


def test_a_cotangent_that_does_not_fit_is_told_at_the_rules_line() -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    rule = ps.rrule(f)(lambda x: (f(x), lambda dy: (np.sum(dy),)))
    with pytest.raises(RuleError, match="returned a cotangent of type float64 for input 0") as caught:
        ps.grad(lambda x: np.sum(f(x)))(X)
    assert caught.value.place is not None
    assert caught.value.place.line == rule.__code__.co_firstlineno


def in_a_corner(x: Any, d: Any) -> Any:
    """A direction in a block of a matrix, from which it is taken again, as Fréchet derivatives are."""
    first, second = np.kron(np.eye(2), np.diag(x)), np.kron(np.eye(2, k=1), np.diag(d))
    return np.diag((first + second)[:3, 3:])


LINEAR = [
    ("in a block", in_a_corner),
    ("behind what it captures", lambda x, d: np.concatenate([x, d])[3:]),
    ("beside what it captures", lambda x, d: np.stack([x, d])[1]),
    ("of a derivative", lambda x, d: ps.grad(lambda y: np.sum(y * d))(x)),
    ("step by step", lambda x, d: ps.scan(lambda c, row: (c, 1.0 * row), x[0], d)[1]),
    ("summed up in a loop", lambda x, d: ps.fori_loop(0, 2, lambda i, c: c + d / 2.0, np.zeros_like(x))),
    ("until it is done", lambda x, d: ps.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 1.0), (0, d))[1]),
]


@pytest.mark.parametrize("inner", [case[1] for case in LINEAR], ids=[case[0] for case in LINEAR])
def test_a_rule_that_is_linear_in_a_roundabout_way_is_taken(inner: Any) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="straight")
    ps.rrule(f)(lambda x: (f(x), lambda given: inner(x, given)))
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(f(x) * x))(X), 2.0 * X)


NOT_LINEAR = [
    ("clips", lambda dy: (np.clip(dy, -1.0, 1.0),), "the pullback of clips is not linear"),
    ("signs", lambda dy: (np.sign(dy),), "the pullback of signs is not linear: Sign"),
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
    assert "test_rrules.py" in str(caught.value)
