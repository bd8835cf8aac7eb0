"""Forward rules of one's own, rules that are built once, and what is told where they break their contract."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
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
    ("a wider shape", lambda x: (x * 1.0, lambda tx: tx * np.ones((2, 1))), "returned a tangent of type float64[2,3]"),
    ("a tangent too many", lambda x: (x * 1.0, lambda tx, ty: tx), "missing a required argument: 'ty'"),
]


def test_none_is_zero_for_a_part_of_an_argument_or_result_in_a_rule() -> None:
    @ps.primitive
    def scaled(p: Any) -> Any:
        return {"u": p["a"] * p["b"]["c"], "v": [p["a"]]}

    @ps.rrule(scaled)
    def scaled_rule(p: Any) -> Any:
        def pullback(dy: Any) -> Any:
            return ({"a": dy["u"] * p["b"]["c"] + dy["v"][0], "b": None},)

        return scaled(p), pullback

    @ps.frule(scaled)
    def scaled_forward(p: Any) -> Any:
        return scaled(p), lambda t: {"u": t["a"] * p["b"]["c"], "v": None}

    x = np.array([1.0, 2.0])
    point = {"a": x, "b": {"c": 3 * x}}
    gradient = ps.grad(lambda p: np.sum(scaled(p)["u"] + scaled(p)["v"][0]))(point)
    np.testing.assert_array_equal(gradient["a"], [4.0, 7.0])
    np.testing.assert_array_equal(gradient["b"]["c"], [0.0, 0.0])
    _, tangent = ps.jvp(scaled, (point,), (point,))
    np.testing.assert_array_equal(tangent["u"], [3.0, 12.0])
    np.testing.assert_array_equal(tangent["v"][0], [0.0, 0.0])


@pytest.mark.parametrize(("rule", "told"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_forward_rule_that_breaks_its_contract_is_told(rule: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.frule(f)(rule)
    for derivative in (lambda: ps.jvp(f, (X,), (X,)), lambda: ps.grad(lambda x: np.sum(f(x)))(X)):
        with pytest.raises(RuleError) as caught:
            derivative()
        assert told in str(caught.value)
        assert "test_frules.py" in str(caught.value)


TAKING_OTHERS = [
    ("no cotangent", lambda x: (x * 1.0, lambda: (x,)), "too many positional arguments"),
    ("a cotangent an argument", lambda x: (x * 1.0, lambda dx, dy: (dx,)), "missing a required argument: 'dy'"),
]


@pytest.mark.parametrize(("rule", "told"), [t[1:] for t in TAKING_OTHERS], ids=[t[0] for t in TAKING_OTHERS])
def test_a_rule_that_takes_other_arguments_is_told_at_its_line(rule: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.rrule(f)(rule)
    with pytest.raises(RuleError) as caught:
        ps.grad(lambda x: np.sum(f(x)))(X)
    assert told in str(caught.value)
    assert "test_frules.py" in str(caught.value)


OTHER_OUTPUTS = [
    ("another shape", lambda x: np.sum(x), "has float64 as its output, where broken has float64[3]"),
    ("another dtype", lambda x: (x * 1.0).astype(np.float32), "has float32[3] as its output"),
    ("two arrays", lambda x: (x, x), "has 2 arrays as its output, where broken has 1"),
    ("nothing", lambda x: None, "has 0 arrays as its output"),
]


@pytest.mark.parametrize(("output", "told"), [b[1:] for b in OTHER_OUTPUTS], ids=[b[0] for b in OTHER_OUTPUTS])
@pytest.mark.parametrize("register", [ps.rrule, ps.frule])
def test_a_rule_whose_output_is_not_its_primitives_is_told_at_its_line(register: Any, output: Any, told: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    register(f)(lambda x: (output(x), lambda given: given))
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


@pytest.mark.parametrize("register", [ps.rrule, ps.frule])
def test_a_rule_has_no_derivative_by_an_array_given_by_keyword(register: Any) -> None:
    """It would be 0, whatever the function: the rule speaks of positional arguments."""
    f = ps.primitive(lambda x, *, by: x * by, name="times")
    register(f)(lambda x, *, by: (f(x, by=by), lambda given: by * given))
    np.testing.assert_allclose(ps.grad(lambda x, by: np.sum(f(x, by=by)))(X, 2.0), np.full(3, 2.0))
    np.testing.assert_allclose(ps.jvp(lambda x: f(x, by=np.array(2.0)), (X,), (X,))[1], 2.0 * X)
    for derivative in (
        lambda: ps.grad(lambda by: np.sum(f(X, by=by)))(2.0),
        lambda: ps.jvp(lambda by: f(X, by=by), (2.0,), (1.0,)),
    ):
        with pytest.raises(RuleError, match="for an array that is given by keyword") as caught:
            derivative()
        assert "test_frules.py" in str(caught.value)


@pytest.mark.parametrize(("pushforward", "kind"), [(lambda tx: abs(tx), "call::sign"), (lambda tx: np.sin(tx), "Cos")])
def test_a_pushforward_that_is_not_linear_has_no_transpose(pushforward: Any, kind: str) -> None:
    f = ps.primitive(lambda x: x * 1.0, name="bent")
    ps.frule(f)(lambda x: (f(x), pushforward))
    with pytest.raises(RuleError, match=f"the pushforward of bent is not linear: {kind}"):
        ps.grad(lambda x: np.sum(f(x)))(X)


def test_a_builder_that_makes_no_rule_is_told_at_its_line() -> None:
    f = ps.primitive(lambda x: x * 1.0, name="broken")
    ps.rrule(f, staged=True)(lambda x: None)
    with pytest.raises(RuleError, match="a NoneType, which is no rule") as caught:
        ps.grad(lambda x: np.sum(f(x)))(X)
    assert "test_frules.py" in str(caught.value)


def test_frule_takes_primitives_and_operators_alone() -> None:
    with pytest.raises(RuleError, match="frule takes a primitive"):
        ps.frule(np.sin)  # type: ignore[arg-type]


# Staged rules: built once.


def staged(build: Any, **options: Any) -> Any:
    """tanh(x)**n, with a rule that `build(x, n)` makes from a factor that it returns, which should be n."""

    @ps.primitive
    def f(x: Any, n: int) -> Any:
        return np.tanh(x) ** n

    @ps.rrule(f, staged=True, **options)
    def _(x: Any, n: int) -> Any:
        factor = build(x, n)

        def rule(x: Any, n: int) -> Any:
            t = np.tanh(x)
            return t**n, lambda dy: (factor * t ** (n - 1) * (1.0 - t * t) * dy, None)

        return rule

    return f


def slope(x: Any) -> Any:
    return 1.0 - np.tanh(x) ** 2


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
    np.testing.assert_allclose(gradient(X, y)[0], (12.0 * 2.0 * t + 3.0 * t**2) * slope(X))


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
    np.testing.assert_allclose(gradient(X), 11.0 * np.tanh(X) * slope(X))
    before = ps.counts()
    for _ in range(100):
        gradient(X)
    assert ps.counts() == before
    assert made == [1.0, 10.0]
    np.testing.assert_allclose(ps.grad(lambda x: 2.0 * loss(x))(X), 22.0 * np.tanh(X) * slope(X))
    assert made == [1.0, 10.0]


def test_a_builder_runs_again_where_what_it_reads_was_changed() -> None:
    held = {"factor": 2.0}
    f = staged(lambda x, n: held["factor"])
    gradient = ps.grad(lambda x: np.sum(f(x, 2)))
    for factor in (2.0, 3.0, 4.0):
        held["factor"] = factor
        assert builds_in(lambda: np.testing.assert_allclose(gradient(X), factor * np.tanh(X) * slope(X))) == 1  # noqa: B023
        assert builds_in(lambda: gradient(X)) == 0


def test_a_forward_rule_may_be_staged_too() -> None:
    f = ps.primitive(lambda x, n: np.tanh(x) ** n, name="power")

    @ps.frule(f, staged=True)
    def _(x: Any, n: int) -> Any:
        factor = float(n)
        assert x.shape == (3,)
        return lambda x, n: (f(x, n), lambda tx, _: factor * np.tanh(x) ** (n - 1) * slope(x) * tx)

    def loss(x: Any) -> Any:
        return np.sum(f(x, 2))

    wanted = 2.0 * np.tanh(X) * slope(X)
    assert builds_in(lambda: [ps.jvp(loss, (X,), (X,)) for _ in range(100)]) == 1
    np.testing.assert_allclose(ps.jvp(loss, (X,), (X,))[1], np.sum(wanted * X))
    assert builds_in(lambda: np.testing.assert_allclose(ps.grad(loss)(X), wanted)) == 0
    with pytest.raises(RuleError, match="cannot be staged"):
        ps.frule("Softsign", staged=True)


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
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(f(x, 2)))(X), 2.0 * np.tanh(X) * slope(X))
    with pytest.raises(RuleError, match="no second derivative"):
        ps.hessian(lambda x: np.sum(f(x, 2)))(X)
