"""A user's rule at a call: its arguments and results are nested, and what breaks its contract is told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError

X = np.array([0.3, -1.2, 0.8])


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
    assert "test_flat_rules.py" in str(caught.value)


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
        assert "test_flat_rules.py" in str(caught.value)


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
        assert "test_flat_rules.py" in str(caught.value)


@ps.primitive
def leaky(x: Any, slope: Any = 0.25) -> Any:
    return np.where(x > 0, x, slope * x)


@ps.rrule(leaky)
def _leaky(x: Any, slope: Any = 0.25) -> Any:
    return leaky(x, slope), lambda dz: (np.where(x > 0, dz, slope * dz), np.sum(np.where(x > 0, 0.0, x * dz)))


@ps.primitive
def scaled(x: Any, factor: Any = 0.5) -> Any:
    return x * factor


@ps.frule(scaled)
def _scaled(x: Any, factor: Any = 0.5) -> Any:
    def pushforward(tx: Any, tf: Any = None) -> Any:
        return (0.0 if tx is None else tx * factor) + (0.0 if tf is None else x * tf)

    return scaled(x, factor), pushforward


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_speaks_of_arguments_that_are_left_to_their_defaults(dtype: type) -> None:
    x = np.array([1.0, -2.0], dtype)
    for call, wanted in (
        (lambda x: leaky(x), [1.0, 0.25]),
        (lambda x: leaky(x, 0.125), [1.0, 0.125]),
        (lambda x: leaky(x, slope=0.125), [1.0, 0.125]),
        (lambda x: scaled(x), [0.5, 0.5]),
        (lambda x: scaled(x, 0.125), [0.125, 0.125]),
    ):
        gradient = ps.grad(lambda x, call=call: np.sum(call(x)))(x)
        assert gradient.dtype == dtype
        np.testing.assert_array_equal(gradient, wanted)
        np.testing.assert_array_equal(ps.jvp(call, (x,), (np.ones_like(x),))[1], wanted)


@pytest.mark.parametrize("function", [leaky, scaled, ps.forward(lambda x, a: a * x)], ids=str)
def test_the_derivative_by_a_python_number_beside_float32_has_the_numbers_dtype(function: Any) -> None:
    x = np.array([-1.0, -2.0], np.float32)
    by_x, by_number = ps.grad(lambda x, a: np.sum(function(x, a)), wrt=(0, 1))(x, 0.5)
    assert (by_x.dtype, by_x.tolist()) == (np.float32, [0.5, 0.5])
    assert (by_number.dtype, float(by_number)) == (np.float64, -3.0)
    assert float(ps.jvp(lambda x, a: np.sum(function(x, a)), (x, 0.5), (None, 1.0))[1]) == -3.0


def test_forward_brings_its_cotangents_to_the_dtype_of_their_arrays() -> None:
    product = ps.forward(lambda x, y: x * y)
    by_x, by_y = ps.grad(lambda x, y: np.sum(product(x, y)), wrt=(0, 1))(np.ones(2, np.float32), np.full(2, 3.0))
    assert (by_x.dtype, by_x.tolist(), by_y.dtype, by_y.tolist()) == (np.float32, [3.0, 3.0], np.float64, [1.0, 1.0])


def test_a_rule_of_more_cotangents_than_its_primitive_has_arguments_is_refused() -> None:
    @ps.primitive
    def doubled(x: Any) -> Any:
        return 2.0 * x

    ps.rrule(doubled)(lambda x: (doubled(x), lambda dz: (2.0 * dz, None)))
    with pytest.raises(RuleError, match="returned 2 cotangents for 1 arguments"):
        ps.grad(lambda x: np.sum(doubled(x)))(np.ones(2))


@ps.primitive
def square(x: Any) -> Any:
    copy = x
    copy += 1.0
    return x * x


@ps.rrule(square)
def _square(x: Any) -> Any:
    copy = x
    copy += 1.0
    return x * x, lambda dz: (2.0 * x * dz,)


def test_what_adds_to_a_number_makes_another_and_what_adds_to_an_array_changes_it() -> None:
    """The array first, so that nothing recorded for it serves the numbers."""
    x = np.array([3.0, 1.0])
    for get, value, slope in (
        (lambda x: x[0, ...], 16.0, 8.0),
        (lambda x: x[0], 9.0, 6.0),
        (lambda x: x[0] + 0.0 * np.float64(2.0), 9.0, 6.0),
    ):
        found, gradient = ps.value_and_grad(lambda x, get=get: square(get(x)))(x)
        assert found == value
        np.testing.assert_array_equal(gradient, [slope, 0.0])
        assert ps.jvp(lambda x, get=get: square(get(x)), (x,), (np.ones(2),))[1] == slope
    for number in (3.0, np.float64(3.0)):
        assert ps.trace(lambda x, number=number: x * square(number), 1.0)(1.0) == 9.0


@pytest.mark.parametrize("staged", [False, True])
def test_a_nested_cotangent_may_be_put_off_in_part_in_a_rule_of_first_order(staged: bool) -> None:
    @ps.primitive
    def scaled(p: Any, x: Any) -> Any:
        return p["a"] * x + p["b"]

    def rule(p: Any, x: Any) -> Any:
        return scaled(p, x), lambda dz: ({"a": lambda: dz * x, "b": dz}, lambda: dz * p["a"])

    ps.rrule(scaled, staged=staged, first_order_only=True)((lambda *_: rule) if staged else rule)
    p = {"a": np.array([2.0, 3.0]), "b": np.array([1.0, 1.0])}
    d_p, d_x = ps.grad(lambda p, x: scaled(p, x).sum(), (0, 1))(p, np.array([5.0, 7.0]))
    assert [d_p["a"].tolist(), d_p["b"].tolist(), d_x.tolist()] == [[5.0, 7.0], [1.0, 1.0], [2.0, 3.0]]


Array = np.ndarray[Any, Any]


def halving(pull: Callable[[Any], Any]) -> Callable[[Array], Any]:
    @ps.primitive
    def halve(x: Any) -> Any:
        return x * np.float32(0.5)

    @ps.rrule(halve)
    def halve_rule(x: Any) -> Any:
        return halve(x), pull

    return lambda x: np.sum(halve(x))


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a wider dtype": (lambda dy: (dy.astype(np.float64) * 0.5,), r"a cotangent of type float64\[3\] for input 0"),
    "another shape": (lambda dy: (np.sum(dy),), "a cotangent of type float32 for input 0"),
    "two for one": (lambda dy: (dy, dy), "2 cotangents for 1 arguments"),
    "another structure": (lambda dy: ({"a": dy, "b": dy},), "a cotangent of another structure"),
    "no array": (lambda dy: ("none",), "a cotangent that is no array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_rule_is_blamed_by_name_for_a_cotangent_that_does_not_fit(name: str) -> None:
    pull, told = WRONG[name]
    with pytest.raises(RuleError, match=f"the rule of halve returned {told}"):
        ps.grad(halving(pull))(np.ones(3, np.float32))


def test_a_cotangent_with_other_names_than_its_argument_is_refused() -> None:
    @ps.primitive
    def affine(p: Any, x: Any) -> Any:
        return p["w"] * x + p["b"]

    @ps.rrule(affine)
    def affine_rule(p: Any, x: Any) -> Any:
        return affine(p, x), lambda dy: ({"a": dy, "w": dy * x}, dy * p["w"])

    with pytest.raises(RuleError, match="the rule of affine returned a cotangent of another structure"):
        ps.grad(lambda p, x: np.sum(affine(p, x)))({"w": np.ones(2), "b": np.ones(2)}, np.ones(2))


def test_a_forward_rule_is_blamed_by_name_too() -> None:
    @ps.primitive
    def halve(x: Any) -> Any:
        return x * np.float32(0.5)

    @ps.frule(halve)
    def forward(x: Any) -> Any:
        return x * np.float32(0.5), lambda t: t.astype(np.float64)

    x = np.ones(3, np.float32)
    with pytest.raises(RuleError, match="the forward rule of halve returned a tangent of type float64"):
        ps.jvp(halve, (x,), (x,))
