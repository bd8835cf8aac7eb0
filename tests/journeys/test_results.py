"""Results that a function may return: no array, numbers that depend on nothing, integers, None among arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError, SpecError

X = np.array([0.5, 1.5, -2.0])
Returns = Callable[[Any], Any]

EMPTY: list[Any] = [None, (), {}, [None], {"a": None, "b": ()}]

TAKE_ANY: dict[str, Callable[[Returns], Any]] = {
    "trace": lambda f: ps.trace(f, X)(X),
    "cached": lambda f: ps.cached(f)(X),
    "vmap": lambda f: ps.vmap(f)(np.ones((4, 3))),
    "jvp": lambda f: ps.jvp(f, (X,), (X,))[0],
    "jvp's tangent": lambda f: ps.jvp(f, (X,), (X,))[1],
    "linearize": lambda f: ps.linearize(f, X)[0],
    "linearize's tangent": lambda f: ps.linearize(f, X)[1](X),
    "vjp": lambda f: ps.vjp(f, X)[0],
    "jit of vmap": lambda f: ps.trace(ps.vmap(f), np.ones((4, 3)))(np.ones((4, 3))),
}

WANT_NUMBERS: dict[str, Callable[[Returns], Any]] = {
    "grad": lambda f: ps.grad(f)(X),
    "value_and_grad": lambda f: ps.value_and_grad(f)(X),
    "has_aux": lambda f: ps.value_and_grad(f, has_aux=True)(X),
    "hvp": lambda f: ps.hvp(f)(X, X),
    "value_grad_and_hvp": lambda f: ps.value_grad_and_hvp(f)(X, X),
    "jacobian": lambda f: ps.jacobian(f)(X),
    "value_and_jacobian": lambda f: ps.value_and_jacobian(f)(X),
    "hessian": lambda f: ps.hessian(f)(X),
    "value_grad_and_hessian": lambda f: ps.value_grad_and_hessian(f)(X),
    "laplacian": lambda f: ps.laplacian(f)(X),
    "derivative": lambda f: ps.derivative(f)(0.5),
    "value_and_derivative": lambda f: ps.value_and_derivative(f)(0.5),
    "split": lambda f: ps.split(f, X),
}


@pytest.mark.parametrize("transform", TAKE_ANY)
@pytest.mark.parametrize("empty", EMPTY, ids=str)
def test_a_function_without_array_results_gives_its_own_structure(transform: str, empty: Any) -> None:
    found = TAKE_ANY[transform](lambda x: empty)
    assert found == empty
    assert type(found) is type(empty)


def test_the_pullback_of_a_function_without_array_results_is_zero() -> None:
    _, pullback = ps.vjp(lambda x: None, X)
    np.testing.assert_array_equal(pullback(None)[0], np.zeros(3))


@pytest.mark.parametrize("transform", WANT_NUMBERS)
@pytest.mark.parametrize("result", [None, {"a": None}, 3, (1, True)], ids=str)
def test_what_has_no_derivative_is_refused_with_a_few_lines(transform: str, result: Any) -> None:
    with pytest.raises((ShapeError, DtypeError, SpecError)) as caught:
        WANT_NUMBERS[transform](lambda x: result)
    told = str(caught.value)
    assert "onnxruntime" not in told
    assert "result" in told or "returns a pair" in told
    assert len(told.splitlines()) < 6


@pytest.mark.parametrize("result", [2.0, {"y": 2.0, "nothing": None}, (2.0,)], ids=str)
def test_results_that_depend_on_nothing_have_derivatives_of_zero(result: Any) -> None:
    def function(x: Any) -> Any:
        return result

    zeros = np.zeros(3)
    np.testing.assert_array_equal(ps.grad(function)(X), zeros)
    np.testing.assert_array_equal(ps.hvp(function)(X, X), zeros)
    np.testing.assert_array_equal(ps.hessian(function)(X), np.zeros((3, 3)))
    assert float(ps.laplacian(function)(X)) == 0.0


@pytest.mark.parametrize("order", ["jvp", "linearize", "jacobian"])
def test_integers_beside_floats_have_no_tangent(order: str) -> None:
    def function(x: Any) -> Any:
        return {"s": np.sum(x * x), "i": np.argmax(x), "none": None, "b": (x > 0, x.shape[0])}

    found = {
        "jvp": lambda: ps.jvp(function, (X,), (np.ones(3),))[1],
        "linearize": lambda: ps.linearize(function, X)[1](np.ones(3)),
        "jacobian": lambda: ps.jacobian(function)(X),
    }[order]()
    assert found["i"] is None
    assert found["none"] is None
    assert found["b"] == (None, None)
    np.testing.assert_allclose(np.sum(found["s"]), 2 * np.sum(X))


def test_linearize_of_integers_gives_no_tangent() -> None:
    value, linear = ps.linearize(lambda x: np.argsort(x), X)
    np.testing.assert_array_equal(value, [2, 0, 1])
    assert linear(X) is None


def test_aux_is_the_second_of_a_pair() -> None:
    (value, aux), gradient = ps.value_and_grad(lambda x: (np.sum(x * x), None), has_aux=True)(X)
    assert aux is None
    np.testing.assert_allclose(value, 6.5)
    np.testing.assert_allclose(gradient, 2 * X)
    for returned in (lambda x: np.sum(x), lambda x: {"a": np.sum(x), "b": 1.0}, lambda x: (x.sum(), 1.0, 2.0)):
        with pytest.raises(SpecError, match="returns a pair"):
            ps.grad(returned, has_aux=True)(X)


def test_aux_is_not_differentiated() -> None:
    """It may have a size that only its data tell, also inside of what is differentiated again, or no derivative."""
    f = ps.primitive(lambda x: x * 1.0, name="without")
    ps.rrule(f, first_order_only=True)(lambda x: (f(x), lambda dy: dy * 1.0))

    def loss(x: Any) -> Any:
        return np.sum(x[x > 0] ** 3), {"kept": 2.0 * x[x > 0], "rest": ps.grad(lambda x: np.sum(f(x)))(x)}

    wanted = 3 * np.maximum(X, 0.0) ** 2
    for made in (ps.value_and_grad(loss, has_aux=True), ps.trace(ps.value_and_grad(loss, has_aux=True), X)):
        (value, aux), gradient = made(X)
        np.testing.assert_allclose(value, 0.5**3 + 1.5**3)
        np.testing.assert_array_equal(aux["kept"], [1.0, 3.0])
        np.testing.assert_array_equal(aux["rest"], np.ones(3))
        np.testing.assert_allclose(gradient, wanted)

    def again(x: Any) -> Any:
        gradient, aux = ps.grad(lambda x: (np.sum(x**3), x[x > 0]), has_aux=True)(x)
        return np.sum(gradient) + np.sum(aux)

    np.testing.assert_allclose(ps.grad(again)(X), 6 * X + (X > 0))


def test_a_program_without_results_is_no_file(tmp_path: Any) -> None:
    program = ps.trace(lambda x: None, X)
    with pytest.raises(SpecError, match="an ONNX graph needs a result"):
        program.save(str(tmp_path / "none.onnx"))
    assert not list(tmp_path.iterdir())
    assert program.run_into(None, X) is None


def test_arguments_of_a_program_without_results_are_checked() -> None:
    program = ps.trace(lambda x: None, X)
    with pytest.raises(ShapeError, match="size 4"):
        program(np.ones(4))


def test_an_error_that_no_result_would_show_is_refused() -> None:
    def check(x: Any) -> None:
        if x[0] > 0:
            raise ValueError("too large")

    with pytest.raises(PrimsplitError, match="raises ValueError: too large"):
        ps.trace(check, X)(X)
