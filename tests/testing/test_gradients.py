"""check_grads passes right functions and fails those whose value or gradient is not NumPy's."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import GradientMismatch, check_grads

X = np.array([[0.3, -0.7, 1.1], [0.2, 0.5, -1.4]])
V = np.array([1.0, -0.5, 0.25])


def test_nested_arguments_and_results_are_checked() -> None:
    def model(params: dict[str, Any], x: Any) -> dict[str, Any]:
        return {"y": np.tanh(x @ params["w"]) + params["b"], "same": x}

    check_grads(model, {"w": V, "b": 0.5}, X)


def test_a_static_argument_is_passed_through() -> None:
    check_grads(lambda x, times: np.sin(x) * times, X, 3)


def test_a_rule_of_another_function_fails() -> None:
    @ps.primitive
    def cube(x: Any) -> Any:
        return x * x * x

    ps.rrule(cube)(lambda x: (cube(x), lambda dy: (dy * 2.0 * x * x,)))
    with pytest.raises(GradientMismatch, match="central differences"):
        check_grads(cube, V)


def test_a_rule_whose_second_derivative_is_wrong_fails_at_order_two_only() -> None:
    @ps.primitive
    def sine(x: Any) -> Any:
        return np.sin(x)

    @ps.primitive
    def cosine(x: Any) -> Any:
        return np.cos(x)

    ps.rrule(sine)(lambda x: (sine(x), lambda dy: (dy * cosine(x),)))
    ps.rrule(cosine)(lambda x: (cosine(x), lambda dy: (dy * np.sin(x),)))
    check_grads(sine, V, order=1)
    with pytest.raises(GradientMismatch):
        check_grads(sine, V, order=2)


def test_a_value_that_is_not_numpys_fails() -> None:
    def differs(x: Any) -> Any:
        return x * (1.0 + 1e-9 if isinstance(x, ps.Array) else 1.0)

    with pytest.raises(GradientMismatch, match="differs from NumPy"):
        check_grads(differs, V)


def test_another_dtype_or_shape_fails() -> None:
    def narrow(x: Any) -> Any:
        return x.astype(np.float32) if isinstance(x, ps.Array) else x

    with pytest.raises(GradientMismatch, match="float32"):
        check_grads(narrow, V)


def test_a_size_that_the_trace_froze_fails_with_symbols() -> None:
    def frozen(x: Any) -> Any:
        return x * 3.0 if not isinstance(x, ps.Array) and len(x) == 1 else x * 1.0

    check_grads(frozen, V, symbolic=False)
    with pytest.raises(GradientMismatch):
        check_grads(frozen, V)


@pytest.mark.parametrize("order", [1, 2])
def test_a_gradient_that_is_wrong_at_other_arguments_alone_fails_where_these_are_checked_too(order: int) -> None:
    @ps.primitive
    def square(x: Any) -> Any:
        return x * x

    ps.rrule(square)(lambda x: (square(x), lambda dy: (dy * np.where(x > -2.0, 2.0 * x, x),)))
    check_grads(square, V, also_at=[(2.0 * V,)], order=order)
    with pytest.raises(GradientMismatch, match="central differences"):
        check_grads(square, V, also_at=[(2.0 * V,), (-5.0 * V,)], order=order)


def test_what_bends_within_a_step_is_checked_with_shorter_ones() -> None:
    check_grads(lambda x: np.arctan(300.0 * x), np.array([0.002, 0.7]))


def test_the_second_derivatives_are_of_what_is_asked_alone() -> None:
    """The function jumps where the keys, which nobody differentiates, change their order."""
    check_grads(lambda x, keys: np.sum(x[np.argsort(keys)] ** 3 * V), V, np.array([1.0, 1.0 + 1e-9, 2.0]), wrt=0)


def test_a_function_that_needs_its_sizes_is_told_how_to_be_checked() -> None:
    def steps(x: Any) -> Any:
        return sum(x[i] ** 2 for i in range(len(x)))

    check_grads(steps, V, symbolic=False)
    with pytest.raises(ps.PrimsplitError, match="pass symbolic=False"):
        check_grads(steps, V)


def test_differences_of_float32_are_told_to_have_few_digits() -> None:
    with pytest.raises(GradientMismatch, match="float32 have few digits"):
        check_grads(lambda x: np.sin(x), V.astype(np.float32), value_tolerance=1e-6)
