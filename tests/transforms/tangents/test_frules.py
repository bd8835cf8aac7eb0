"""Forward rules of one's own, rules that are built once, and what is told where they break their contract."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from primsplit.rules.table import FRULES
from primsplit.testing import check_rrule
from tests.primitives import slope_of_tanh, staged

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
    ("a wider shape", lambda x: (x * 1.0, lambda tx: tx * np.ones((2, 1))), "returned a tangent of type float64[2,3]"),
    ("a tangent too many", lambda x: (x * 1.0, lambda tx, ty: tx), "missing a required argument: 'ty'"),
]


@pytest.mark.parametrize(("rule", "told"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_forward_rule_that_breaks_its_contract_is_told(rule: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.frule(f)(rule)
    for derivative in (lambda: ps.jvp(f, (X,), (X,)), lambda: ps.grad(lambda x: np.sum(f(x)))(X)):
        with pytest.raises(RuleError) as caught:
            derivative()
        assert told in str(caught.value)
        assert "test_frules.py" in str(caught.value)


NEVER_LINEAR = [
    ("leaves it out", lambda x, d: np.cos(x), "is not 0 where"),
    ("gives a constant", lambda x, d: np.full_like(x, np.nan), "is not 0 where"),
    ("adds a number", lambda x, d: d * x + 1.0, "is not 0 where"),
    ("adds what it captures", lambda x, d: d * np.cos(x) - x, "is not 0 where"),
    ("adds it in a branch", lambda x, d: ps.cond(x[0] > 0, lambda: d + x, lambda: 2.0 * d + x), "is not 0 where"),
    ("adds it in a loop", lambda x, d: ps.fori_loop(0, 3, lambda i, c: c + x, d), "is not 0 where"),
    ("adds it step by step", lambda x, d: ps.scan(lambda c, row: (c, row + c), x[0], d)[1], "is not 0 where"),
    ("multiplies it in a loop", lambda x, d: ps.scan(lambda c, row: (c, row * row), x[0], d)[1], "multiplies"),
    ("takes its exponential", lambda x, d: np.exp(d) * x, "is not 0 where"),
    ("squares", lambda x, d: d * d * x, "multiplies"),
    ("multiplies its sum with it", lambda x, d: np.sum(d * x) * (d / x), "multiplies"),
]


@pytest.mark.parametrize(("inner", "told"), [n[1:] for n in NEVER_LINEAR], ids=[n[0] for n in NEVER_LINEAR])
@pytest.mark.parametrize("register", [ps.rrule, ps.frule])
def test_a_rule_that_is_surely_not_linear_is_refused_at_its_line(register: Any, inner: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="bent")
    register(f)(lambda x: (f(x), lambda given: inner(x, given)))
    for derivative in (lambda: ps.jvp(f, (X,), (X,)), lambda: ps.grad(lambda x: np.sum(f(x)))(X)):
        with pytest.raises(RuleError, match="rule of bent is not linear") as caught:
            derivative()
        assert told in str(caught.value)
        assert "test_frules.py" in str(caught.value)


ZEROS = [
    ("zeros", lambda x, d: np.zeros_like(x)),
    ("zeros of NumPy", lambda x, d: np.zeros(3)),
    ("a product with zero", lambda x, d: 0.0 * x),
    ("a difference of equals", lambda x, d: x - x),
    ("a product with a sum of zeros", lambda x, d: d * (np.zeros_like(x) + 0.0)),
]


@pytest.mark.parametrize("inner", [z[1] for z in ZEROS], ids=[z[0] for z in ZEROS])
@pytest.mark.parametrize("register", [ps.rrule, ps.frule])
def test_a_rule_may_spell_zero(register: Any, inner: Any) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="flat")
    register(f)(lambda x: (f(x), lambda given: inner(x, given)))
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(f(x)))(X), np.zeros(3))
    np.testing.assert_array_equal(ps.jvp(f, (X,), (X,))[1], np.zeros(3))


@pytest.mark.parametrize(("pushforward", "kind"), [(lambda tx: abs(tx), "call::sign"), (lambda tx: np.sin(tx), "Cos")])
def test_a_pushforward_that_is_not_linear_has_no_transpose(pushforward: Any, kind: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="bent")
    ps.frule(f)(lambda x: (f(x), pushforward))
    with pytest.raises(RuleError, match=f"the pushforward of bent is not linear: {kind}"):
        ps.grad(lambda x: np.sum(f(x)))(X)


def test_frule_takes_primitives_and_operators_alone() -> None:
    with pytest.raises(RuleError, match="frule takes a primitive"):
        ps.frule(np.sin)  # type: ignore[arg-type]


# Staged rules: built once.


# What rules read.


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_change_of_what_a_rule_reads_is_seen_every_time(times: int) -> None:
    held = {"scale": 0.0}
    reverse, forward = (ps.primitive(lambda x: x * 1.0, name=n) for n in ("reverse", "forward"))
    ps.rrule(reverse)(lambda x: (reverse(x), lambda dy: (dy * held["scale"],)))
    ps.frule(forward)(lambda x: (forward(x), lambda tx: tx * held["scale"]))
    both = [ps.grad(lambda x, f=f: np.sum(f(x))) for f in (reverse, forward)]
    for scale in range(times):
        held["scale"] = float(scale)
        for gradient in both:
            assert gradient(X).tolist() == [scale] * 3
        assert ps.jvp(forward, (X,), (np.ones(3),))[1].tolist() == [scale] * 3


def test_a_staged_rule_may_be_of_first_order_only() -> None:
    f = staged(lambda x, n: float(n), first_order_only=True)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(f(x, 2)))(X), 2.0 * np.tanh(X) * slope_of_tanh(X))
    with pytest.raises(RuleError, match="no second derivative"):
        ps.hessian(lambda x: np.sum(f(x, 2)))(X)
