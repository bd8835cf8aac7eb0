"""Gradients and pullbacks of traced functions: which arguments, which structure, and which cotangents fit."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError

rng = np.random.default_rng(7)


@pytest.mark.parametrize("wrt", ["x", 0])
def test_an_argument_is_named_by_position_or_name_however_it_is_passed(wrt: Any) -> None:
    def f(x: Any, scale: Any) -> Any:
        return np.sum(x * x) * scale

    x = np.array([1.0, 2.0])
    for transform in (ps.grad, lambda f, wrt: lambda *a, **n: ps.value_and_grad(f, wrt)(*a, **n)[1]):
        np.testing.assert_array_equal(transform(f, wrt=wrt)(x, 3.0), 6.0 * x)
        np.testing.assert_array_equal(transform(f, wrt=wrt)(x=x, scale=3.0), 6.0 * x)
    np.testing.assert_array_equal(ps.hessian(f, wrt=wrt)(x, 3.0), 6.0 * np.eye(2))
    np.testing.assert_array_equal(ps.jacobian(f, wrt=wrt)(x, scale=3.0), 6.0 * x)


def test_an_unused_input_has_a_zero_gradient_or_none_as_asked() -> None:
    first, second = ps.grad(lambda x, y: x * 1.0, wrt=(0, 1))(42.0, 54.0)
    assert (first, second) == (1.0, 0.0)
    made = ps.split(lambda x, y: x * 1.0, 42.0, 54.0, zeros="omit")
    assert made.gradient_names == ["d_x"]
    with pytest.raises(ps.PrimsplitError, match="do not depend on y"):
        ps.split(lambda x, y: x * 1.0, 42.0, 54.0, zeros="error")


def test_a_constant_function_has_a_zero_gradient() -> None:
    assert ps.grad(lambda x: 1.0 + 0.0 * ps.stop_gradient(x))(3.0) == 0.0


def test_a_vector_result_needs_a_cotangent() -> None:
    with pytest.raises(ps.PrimsplitError, match="scalar result"):
        ps.grad(lambda x: 2 * x)(np.array([1.0, 2.0, 3.0]))
    made = ps.split(lambda x: 2 * x, ps.spec("f64", ["N"]))
    assert made.joint().inputs == ("x", "d_y")
    np.testing.assert_array_equal(made.joint()(np.arange(3.0), np.ones(3))[1], [2, 2, 2])


@dataclasses.dataclass
class Linear:
    W: Any
    b: Any

    def __call__(self, x: Any) -> Any:
        return x @ self.W + self.b


def test_gradients_have_the_structure_of_their_arguments() -> None:
    layer = Linear(np.ones((3, 2)), np.zeros(2))
    x = rng.standard_normal((4, 3))
    gradient = ps.grad(lambda m, x: np.sum(m(x) ** 2))(layer, x)
    assert isinstance(gradient, Linear)
    np.testing.assert_allclose(gradient.W, 2 * x.T @ layer(x), rtol=1e-12)
    np.testing.assert_allclose(gradient.b, 2 * layer(x).sum(axis=0), rtol=1e-12)


def test_unpacking_a_tuple_of_named_tuples_reaches_one_leaf() -> None:
    class Pair(NamedTuple):
        a: Any
        b: Any

    pairs = (Pair(1.0, 2.0), Pair(13.0, 4.0))
    value, gradient = ps.value_and_grad(lambda x: x[1].a * 1.0)(pairs)
    assert value == 13.0
    assert gradient == (Pair(0.0, 0.0), Pair(1.0, 0.0))

    def twice(x: Any) -> Any:
        a, b = (x, x)
        return a + b

    assert ps.grad(twice)(1.0) == 2.0


def test_a_callable_dataclass_is_differentiated_in_its_fields() -> None:
    made = ps.split(Linear(np.ones((3, 2)), np.zeros(2)), ps.spec("f64", ["N", 3]))
    assert made.gradient_names == ["d_self.W", "d_self.b", "d_x"]


def test_keyword_and_variadic_arguments_are_differentiated() -> None:
    def total(*parts: Any, scale: Any) -> Any:
        return sum(np.sum(p) for p in parts) * scale

    gradient = ps.grad(total, wrt="scale")(np.ones(3), np.ones(2), scale=2.0)
    assert gradient == 5.0
    assert ps.split(total, np.ones(3), np.ones(2), scale=2.0).program.inputs == ("parts.0", "parts.1", "scale")


def test_a_pullback_is_called_repeatedly_with_other_cotangents() -> None:
    value, pullback = ps.vjp(lambda x: 2 * x + 1, 3.0)
    assert value == 7.0
    assert pullback(1.0) == (2.0,)
    assert pullback(5.0) == (10.0,)
    _, pullback = ps.vjp(lambda x: 2 * x + 1, np.ones(3))
    np.testing.assert_array_equal(pullback(np.array([1.0, 2.0, 3.0]))[0], [2, 4, 6])


def test_a_cotangent_that_reads_sizes_alone_has_its_inputs_symbols() -> None:
    def step(x: Any) -> Any:
        return ps.vjp(np.sum, x)[1](2.0)[0] * x

    program = ps.trace(step, ps.spec("float64", ["N"]))
    assert program.block.results[0].type == program.block.params[0].type


def pulled(cotangent: Any) -> Any:
    return ps.vjp(lambda x: (x * 2.0, np.sum(x)), np.ones(2))[1](cotangent)


def test_a_cotangent_that_is_not_there_is_zero() -> None:
    np.testing.assert_array_equal(pulled((np.ones(2), None))[0], [2.0, 2.0])
    np.testing.assert_array_equal(pulled((None, 3.0))[0], [3.0, 3.0])
    np.testing.assert_array_equal(pulled(None)[0], [0.0, 0.0])


def test_none_is_zero_for_all_of_a_container_too() -> None:
    """Also for one inside of others; of the other parts, each has its place by name."""
    x = np.array([1.0, 2.0])

    def nested(p: Any) -> Any:
        return {"a": p["w"] * p["b"]["c"], "b": [np.sum(p["w"]), None, (np.sum(p["b"]["c"]),)]}

    point = {"w": x, "b": {"c": x}}

    def pulled_at(p: Any, cotangent: Any) -> Any:
        return ps.vjp(nested, p)[1](cotangent)[0]

    cotangent = {"a": x, "b": None}
    for found in (pulled_at(point, cotangent), ps.trace(lambda p: pulled_at(p, cotangent), point)(point)):
        np.testing.assert_array_equal(found["w"], [1.0, 4.0])
    np.testing.assert_array_equal(pulled_at(point, {"a": None, "b": [2.0, None, None]})["w"], [2.0, 2.0])
    tangent = {"w": x, "b": None}
    np.testing.assert_array_equal(ps.jvp(nested, (point,), (tangent,))[1]["a"], [1.0, 4.0])
    np.testing.assert_array_equal(ps.linearize(nested, point)[1](tangent)["a"], [1.0, 4.0])
    product = ps.hvp(lambda p: np.sum(nested(p)["a"]))(point, tangent)
    np.testing.assert_array_equal(product["b"]["c"], x)
    with pytest.raises(SpecError, match="another structure"):
        pulled_at(point, {"a": None})
