"""Forward mode: tangents along the arguments, and the linear part of a function."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RuleError
from tests.primitives import first_order_only


def planes(x: Any) -> Any:
    return np.stack([x[0] ** 2 + x[1], x[0] * x[1]])


def test_perturbations_of_forward_in_reverse_and_reverse_in_forward_are_not_confused() -> None:
    for outer, inner in ((ps.derivative, ps.grad), (ps.grad, ps.derivative)):
        assert outer(lambda x: x * inner(lambda y: x * y)(1.0))(4.0) == 8.0  # noqa: B023
        assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0  # noqa: B023


def test_jvp_gives_the_value_and_the_derivative_along_the_tangent() -> None:
    x, t = np.array([0.3, 1.0]), np.array([2.0, -1.0])
    value, tangent = ps.jvp(np.sin, (x,), (t,))
    np.testing.assert_allclose(value, np.sin(x))
    np.testing.assert_allclose(tangent, np.cos(x) * t)


def test_jvp_takes_nested_arguments_and_leaves_out_what_has_no_tangent() -> None:
    def f(params: Any, x: Any, n: Any) -> Any:
        return {"y": np.sum(params["w"] * x) + params["b"], "n": n + 1}

    params = {"w": np.array([1.0, 2.0]), "b": np.array(3.0)}
    x, n = np.array([4.0, 5.0]), np.array(7)
    value, tangent = ps.jvp(f, (params, x, n), ({"w": np.array([1.0, 1.0]), "b": None}, None, None))
    assert (value["y"], value["n"], tangent["y"], tangent["n"]) == (17.0, 8, 9.0, None)
    _, tangent = ps.jvp(f, (params, x, n), (None, np.array([0.0, 1.0]), None))
    assert tangent["y"] == 2.0


def test_a_result_that_does_not_depend_on_the_input_has_a_zero_tangent() -> None:
    _, tangent = ps.jvp(lambda x, y: (x * 2.0, y * 1.0), (np.ones(2), np.ones(3)), (np.ones(2), None))
    assert tangent[0].tolist() == [2.0, 2.0]
    assert tangent[1].tolist() == [0.0, 0.0, 0.0]


def test_linearize_computes_the_value_once_and_is_linear() -> None:
    value, linear = ps.linearize(planes, np.array([2.0, 3.0]))
    assert value.tolist() == [7.0, 6.0]
    assert linear(np.array([1.0, 0.0])).tolist() == [4.0, 3.0]
    prepared = ps.counts()
    assert linear(np.array([0.0, 1.0])).tolist() == [1.0, 2.0]
    assert linear(None).tolist() == [0.0, 0.0]
    value, linear = ps.linearize(planes, np.array([1.0, 1.0]))
    assert linear(np.array([1.0, 0.0])).tolist() == [2.0, 1.0]
    assert ps.counts() == prepared


def test_linearize_inside_a_traced_function_becomes_part_of_it() -> None:
    def f(x: Any) -> Any:
        _, linear = ps.linearize(np.sin, x)
        return np.sum(linear(np.ones_like(x)) * linear(x))

    x = np.array([0.4, 1.1])
    np.testing.assert_allclose(ps.trace(f, x)(x), np.sum(np.cos(x) ** 2 * x))
    wanted = np.cos(x) ** 2 - 2.0 * np.cos(x) * np.sin(x) * x
    np.testing.assert_allclose(ps.grad(f)(x), wanted)


def test_a_rule_of_first_order_is_refused_at_the_second() -> None:
    soft = first_order_only()
    x = np.array([0.2, 0.4])
    wanted = 1.0 - np.tanh(x) ** 2
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(soft(x)))(x), wanted)
    np.testing.assert_allclose(ps.jvp(soft, (x,), (np.ones(2),))[1], wanted)
    for twice in (
        ps.hessian(lambda x: np.sum(soft(x))),
        ps.grad(lambda x: np.sum(ps.grad(lambda z: np.sum(soft(z)))(x))),
    ):
        with pytest.raises(RuleError, match="soft has no second derivative"):
            twice(x)
