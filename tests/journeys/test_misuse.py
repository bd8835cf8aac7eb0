"""Uses that have broken other systems: aliased and returned arguments, nesting, threads, names."""

import threading
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.caching.counters import Counters
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from tests.threads import in_threads

X = np.array([1.0, 2.0, 3.0])


def total(x: Any) -> Any:
    return np.sum(x)


# Arguments and results.


def test_the_same_array_passed_twice_gets_a_gradient_for_each_place() -> None:
    left, right = ps.grad(lambda a, b: total(a * a * b), (0, 1))(X, X)
    np.testing.assert_allclose(left, 2 * X * X)
    np.testing.assert_allclose(right, X * X)


def test_the_same_traced_value_passed_twice_adds_up() -> None:
    inner = ps.grad(lambda a, b: total(a * b), (0, 1))
    left, right = ps.trace(lambda x: inner(x, x), X)(X)
    np.testing.assert_allclose((left, right), (X, X))
    np.testing.assert_allclose(ps.grad(lambda x: total(x * x))(X), 2 * X)


def test_an_argument_returned_as_result_has_the_cotangent_as_gradient() -> None:
    value, pullback = ps.vjp(lambda x: x, X)
    assert value.tolist() == X.tolist()
    assert pullback(2 * X)[0].tolist() == (2 * X).tolist()
    assert ps.trace(lambda x, y: (y, x, x), X, X)(X, 2 * X)[0].tolist() == (2 * X).tolist()


def test_a_result_that_is_an_argument_does_not_alias_it() -> None:
    mine = X.copy()
    (result,) = ps.trace(lambda x: (x,), mine)(mine)
    mine[:] = 0.0
    assert result.tolist() == X.tolist()


def test_a_result_is_not_changed_by_the_next_call() -> None:
    gradient = ps.grad(lambda x: total(x * x))
    first = gradient(X)
    gradient(10 * X)
    assert first.tolist() == (2 * X).tolist()


def test_a_result_independent_of_an_argument_has_a_zero_gradient() -> None:
    left, right = ps.grad(lambda x, y: total(x), (0, 1))(X, np.ones((2, 2)))
    assert left.tolist() == [1.0, 1.0, 1.0]
    assert right.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert ps.grad(lambda x: np.float64(3.0))(X).tolist() == [0.0, 0.0, 0.0]


def test_nested_containers_with_a_shared_leaf_get_a_gradient_at_each_place() -> None:
    shared = X.copy()
    params = {"a": [shared, {"b": shared}], "c": (shared,)}

    def loss(p: Any) -> Any:
        return total(p["a"][0]) + 2.0 * total(p["a"][1]["b"]) + 3.0 * total(p["c"][0])

    gradient = ps.grad(loss)(params)
    assert gradient["a"][0].tolist() == [1.0] * 3
    assert gradient["a"][1]["b"].tolist() == [2.0] * 3
    assert gradient["c"][0].tolist() == [3.0] * 3


def test_inputs_are_not_written_to() -> None:
    def changes(x: Any) -> Any:
        x[0] = 5.0
        x *= 2.0
        return total(x * x)

    mine = X.copy()
    ps.grad(changes)(mine)
    assert mine.tolist() == X.tolist()


def test_augmented_assignment_counts() -> None:
    def loss(x: Any) -> Any:
        y = x * 1.0
        y += x
        y *= x
        y -= 1.0
        y /= 2.0
        return total(y)

    np.testing.assert_allclose(ps.grad(loss)(X), 2 * X)


def test_augmented_assignment_inside_a_loop_counts() -> None:
    def loss(x: Any) -> Any:
        result = 0.0
        for i in range(3):
            result += x[i] ** (i + 1)
        return result

    np.testing.assert_allclose(ps.grad(loss)(X), [1.0, 4.0, 27.0])


def test_an_integer_argument_is_refused_by_name_of_its_dtype() -> None:
    with pytest.raises(PrimsplitError, match="int64"):
        ps.grad(total)(np.array([1, 2, 3]))


# Pullbacks.


def test_a_pullback_may_be_called_never_or_again_and_again() -> None:
    value, pullback = ps.vjp(lambda x: x * x, X)
    assert value.tolist() == (X * X).tolist()
    first, second = pullback(np.ones(3))[0], pullback(X)[0]
    again = pullback(np.ones(3))[0]
    assert first.tolist() == again.tolist() == (2 * X).tolist()
    assert second.tolist() == (2 * X * X).tolist()


def test_a_traced_pullback_may_be_called_never_or_again_and_again() -> None:
    def f(x: Any) -> Any:
        ps.vjp(np.exp, x)
        _, pullback = ps.vjp(lambda y: y * y, x)
        (once,), (twice,) = pullback(np.ones(3)), pullback(x)
        return once + twice

    np.testing.assert_allclose(ps.trace(f, X)(X), 2 * X + 2 * X * X)
    np.testing.assert_allclose(ps.grad(lambda x: total(f(x)))(X), 2 + 4 * X)


# Nesting.


def test_an_outer_variable_is_not_confused_with_the_inner_one() -> None:
    """The two programs of Siskind and Pearlmutter, 2005."""
    inner_product = ps.grad(lambda x: x * ps.grad(lambda y: x * y)(1.0))
    inner_sum = ps.grad(lambda x: x * ps.grad(lambda y: x + y)(1.0))
    assert inner_product(4.0) == 8.0
    assert inner_sum(1.0) == 1.0


def test_an_outer_variable_is_a_capture_however_it_travelled() -> None:
    class Holder:
        value: Any = None

    def loss(x: Any) -> Any:
        holder = Holder()
        holder.value = x

        def by_default(y: Any, k: Any = x) -> Any:
            return y * k

        def by_attribute(y: Any) -> Any:
            return y * holder.value

        kept = [x]
        return (
            ps.grad(by_default)(2.0) * 1.0
            + ps.grad(by_attribute)(2.0) * 10.0
            + ps.grad(lambda y: y * kept[0])(2.0) * 100.0
            + ps.grad(lambda y: y * x)(2.0) * 1000.0
        )

    assert ps.grad(loss)(3.0) == 1111.0


def test_three_levels_read_the_variables_of_all() -> None:
    def outer(x: Any) -> Any:
        def middle(y: Any) -> Any:
            return ps.grad(lambda z: x * y * z * z)(y)

        return ps.grad(middle)(x)

    # d/dz = 2xyz, at z=y: 2xy**2; d/dy = 4xy, at y=x: 4x**2; d/dx = 8x
    assert ps.grad(outer)(3.0) == 24.0


def test_reverse_over_reverse_gives_the_second_derivative() -> None:
    second = ps.grad(lambda x: total(ps.grad(lambda y: total(y**4))(x)))
    np.testing.assert_allclose(second(X), 12 * X**2)


# Threads.


def test_threads_trace_at_the_same_time_without_seeing_each_other() -> None:
    barrier = threading.Barrier(4)
    found: dict[int, Any] = {}
    errors: list[BaseException] = []

    def work(number: int) -> None:
        def f(x: Any) -> Any:
            for i in range(50):
                x = np.sin(x) * (0.3 * number)
                if i in {0, 25}:
                    barrier.wait(timeout=20)
            return total(x)

        try:
            found[number] = ps.grad(f)(X)
        except BaseException as error:  # noqa: BLE001  # told by the assertion below
            errors.append(error)

    in_threads(work, 4)
    assert errors == []
    for number in range(4):
        value, slope = X.copy(), np.ones(3)
        for _ in range(50):
            slope, value = slope * 0.3 * number * np.cos(value), np.sin(value) * 0.3 * number
        np.testing.assert_allclose(found[number], slope, rtol=1e-9, atol=1e-300)


def test_threads_share_one_transformed_function() -> None:
    gradient = ps.grad(lambda x: total(x**3))
    gradient(X)
    before = Counters.traces
    results: list[Any] = []
    in_threads(lambda _: results.append(gradient(X)), 8)
    assert Counters.traces == before
    assert all(r.tolist() == (3 * X**2).tolist() for r in results)
    assert len(results) == 8


# Names.


def loads(made: Any) -> onnx.ModelProto:
    model = made.joint().to_onnx()
    onnx.checker.check_model(model, full_check=True)
    made.joint().session()
    return model


def test_names_that_are_not_ascii_are_kept() -> None:
    names = {"θ": X, "größe": X}
    made = ps.split(lambda **given: {"résultat": given["θ"] * given["größe"]}, **names)
    model = loads(made)
    assert [i.name for i in model.graph.input] == ["größe", "θ", "d_résultat"]
    assert [o.name for o in model.graph.output] == ["résultat", "d_größe", "d_θ"]


def test_names_that_collide_with_those_of_cotangents_and_results_are_kept_apart() -> None:
    made = ps.split(lambda y, d_y, d_x, x: x * y * d_y * d_x, X, X, X, X)
    model = loads(made)
    names = [v.name for v in (*model.graph.input, *model.graph.output)]
    assert names[:4] == ["y", "d_y", "d_x", "x"]
    assert len(set(names)) == len(names)
    joint = made.joint()(X, X, X, X, np.ones(3))
    for gradient in joint[1:]:
        np.testing.assert_allclose(gradient, X**3)


def test_names_of_nested_arguments_that_collide_are_kept_apart() -> None:
    made = ps.split(lambda p, q: p["a"]["b"] * p["a.b"] * q, {"a": {"b": X}, "a.b": X}, X)
    model = loads(made)
    names = [i.name for i in model.graph.input]
    assert len(set(names)) == len(names)


def test_an_argument_named_like_a_value_of_the_program_is_kept_apart() -> None:
    def f(a: Any, b: Any, capture_0: Any, c0: Any) -> Any:
        return op.Mul(np.sin(a * 2.0) * b, np.exp(capture_0) * c0)

    made = ps.split(f, X, X, X, X)
    loads(made)
    for program in (made.forward, made.backward):
        onnx.checker.check_model(program.to_onnx(), full_check=True)
        program.session()


def test_gradients_of_gradients_have_names_of_their_own() -> None:
    first = ps.split(lambda x, y: x * x * y, X, X)
    second = ps.split(first.joint(), of=first.gradient_names)
    names = [o.name for o in loads(second).graph.output]
    assert len(set(names)) == len(names)
