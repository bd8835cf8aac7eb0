"""Listings and files call values as the user's variables do, and errors carry what was recorded."""

import statistics
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.names import variables
from primsplit.ir.notation.listing import Tape

X = np.ones((3, 4))


def assigned(x: Any) -> Any:
    hidden = np.tanh(x @ x.T)
    return hidden.sum()


def unpacked(x: Any) -> Any:
    left, right = np.split(x, 2, axis=1)
    return (left * right).sum()


def many_ops(x: Any) -> Any:
    spread = np.std(x, axis=0)
    return spread.sum()


def walrus(x: Any) -> Any:
    return ((half := x / 2.0) * half).sum()


def chained(x: Any) -> Any:
    first = second = np.exp(x)
    return (first * second).sum()


def again(x: Any) -> Any:
    x = x * 2.0
    x = np.sin(x)
    return x.sum()


def in_a_loop(x: Any) -> Any:
    for _ in range(3):
        state = x * 1.5
        x = np.sin(state)
    return x.sum()


def inner(x: Any) -> Any:
    total = x.sum()
    return total * total


def in_a_function(x: Any) -> Any:
    squared = inner(x)
    return squared + 1.0


def twice_in_a_function(x: Any) -> Any:
    first = inner(x)
    second = inner(x + 1.0)
    return first + second


def outer(x: Any) -> Any:
    return inner(x)


def through_two_functions(x: Any) -> Any:
    passed = outer(x)
    return passed + 1.0


class Halves:
    def __call__(self, x: Any) -> Any:
        return x / 2.0


def by_a_method(x: Any) -> Any:
    half = Halves()(x)
    return half.sum()


def used_at_once(x: Any) -> Any:
    return inner(x) + 1.0


def square(x: Any) -> Any:
    return x * x


def by_a_function_in_c(x: Any) -> Any:
    summed = sum(map(square, [x[0], x[1]]))
    return summed.sum()


def in_a_closure(x: Any) -> Any:
    kept = np.exp(x)

    def squared() -> Any:
        return kept * kept

    return squared().sum()


def thrown_away(x: Any) -> Any:
    _, right = np.split(x, 2, axis=1)
    return right.sum()


def into_containers(x: Any) -> Any:
    held = {}
    held["a"] = np.exp(x)
    return held["a"].sum()


def called(x: Any) -> Any:
    factor = np.linalg.cholesky(x @ x.T + 5.0 * np.eye(3))
    return factor.sum()


def scanned(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        grown = carry + np.exp(row)
        return grown, grown

    last, _ = ps.scan(step, np.zeros(4), x)
    return last.sum()


def pair(x: Any) -> Any:
    return (np.sin(x), np.cos(x)), np.exp(x)


def nested(x: Any) -> Any:
    (sine, cosine), grown = pair(x)
    return (sine * cosine * grown).sum()


def nested_otherwise(x: Any) -> Any:
    both, grown = pair(x)
    return (both[0] * grown).sum()


def several_at_once(x: Any) -> Any:
    (sine, cosine), grown = (np.sin(x), np.cos(x)), np.exp(x)
    return (sine * cosine * grown).sum()


def starred(x: Any) -> Any:
    first, *rest = np.sin(x), np.cos(x), np.exp(x)
    return (first * rest[0]).sum()


def scanned_pair(x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        return (carry[0] + row, carry[1] * row), carry[0]

    (total, product), rows = ps.scan(step, (np.zeros(4), np.ones(4)), x)
    return (total * product * rows).sum()


NAMES: list[tuple[Callable[[Any], Any], list[str]]] = [
    (assigned, ["x", "hidden"]),
    (unpacked, ["x", "left", "right"]),
    (many_ops, ["x", "spread"]),
    (walrus, ["x", "half"]),
    (chained, ["x", "first"]),
    (again, ["x", "x_1", "x_2"]),
    (in_a_loop, ["x", "state", "x_1", "state_1", "x_2", "state_2", "x_3"]),
    (in_a_function, ["x", "total", "squared"]),
    (twice_in_a_function, ["x", "total", "first", "total_1", "second"]),
    (through_two_functions, ["x", "total", "passed"]),
    (by_a_method, ["x", "half"]),
    (used_at_once, ["x", "total"]),
    (by_a_function_in_c, ["x", "summed", "summed_1"]),
    (in_a_closure, ["x", "kept"]),
    (thrown_away, ["x"]),
    (into_containers, ["x"]),
    (called, ["x", "factor"]),
    (scanned, ["x", "grown"]),
    (nested, ["x", "sine", "cosine", "grown"]),
    (nested_otherwise, ["x"]),
    (several_at_once, ["x", "sine", "cosine", "grown"]),
    (starred, ["x"]),
    (scanned_pair, ["x", "total", "product", "rows"]),
]


@pytest.mark.parametrize(("function", "names"), NAMES, ids=[f.__name__ for f, _ in NAMES])
def test_a_value_is_called_as_the_variable_that_it_is_assigned_to(
    function: Callable[[Any], Any], names: list[str]
) -> None:
    block = ps.trace(function, X).block
    assert [v.hint for v in variables(block) if v.hint] == names


def test_a_cotangent_is_called_after_its_value() -> None:
    text = ps.split(in_a_loop, X).listing()
    for value in ("state", "state_1", "state_2", "x_1", "x_2", "x_3"):
        assert f"  d_{value}: float64[3,4]" in text, value


def test_a_cotangent_is_called_so_in_the_file_unless_it_lacks_a_factor() -> None:
    def smooth(x: Any) -> Any:
        for _ in range(3):
            state = np.tanh(x)
            x = np.sin(state)
        return x.sum()

    for function, kept in ((smooth, {"d_state_1", "d_x_2"}), (in_a_loop, set())):
        model = ps.split(function, X).joint().to_onnx()
        made = [name for node in model.graph.node for name in node.output]
        assert made[-1] == "d_x"
        assert {"x_1", "state_1"} <= set(made)
        assert {"d_state_1", "d_x_2"} & set(made) == kept


def test_a_tangent_is_called_after_its_value() -> None:
    pushed = ps.trace(lambda x, v: ps.jvp(in_a_loop, (x,), (v,)), X, X)
    assert {"t_state", "t_x_1", "t_state_2"} <= {v.hint for v in variables(pushed.block)}


def test_what_a_loop_keeps_of_its_steps_is_called_after_what_one_step_has() -> None:
    def product(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            turned = np.sin(carry)
            return turned * row, None

        return ps.scan(step, np.ones(4), x)[0].sum()

    made = ps.split(product, X)
    assert "turned_steps" in {row["name"] for row in made.capture_table()}


def test_a_name_that_several_values_have_is_told_apart_and_their_cotangents_have_letters() -> None:
    @ps.primitive
    def wave(x: Any) -> Any:
        bent = np.sin(x)
        return bent * bent

    def both(x: Any) -> Any:
        return wave(wave(x)).sum()

    model = ps.split(both, X).joint().to_onnx()
    made = [name for node in model.graph.node for name in node.output]
    assert {"bent", "bent_1"} <= set(made)
    assert not any(name.startswith("d_bent") for name in made)
    assert len(made) == len(set(made))


def test_captures_are_called_as_the_users_variables_in_both_files() -> None:
    made = ps.split(assigned, X)
    forward, backward = made.forward.to_onnx(), made.backward.to_onnx()
    assert "hidden" in [o.name for o in forward.graph.output]
    assert "hidden" in [i.name for i in backward.graph.input]


def test_a_variable_called_as_an_output_is_told_apart() -> None:
    def function(x: Any) -> Any:
        y = np.sin(x)
        d_x = np.cos(y)
        return (y * d_x).sum()

    made = ps.split(function, X).joint()
    model = made.to_onnx()
    assert [o.name for o in model.graph.output] == ["y", "d_x"]
    names = [name for node in model.graph.node for name in node.output]
    assert len(names) == len(set(names))
    np.testing.assert_allclose(made(X)[0], (np.sin(X) * np.cos(np.sin(X))).sum())


def test_a_variable_called_as_a_cotangent_or_gradient_is_told_apart_in_the_backward_file() -> None:
    def function(x: Any) -> Any:
        d_y = np.exp(x)
        d_x = np.sin(d_y)
        return d_y * np.cos(d_x)

    backward = ps.split(function, X).backward.to_onnx()
    given = [i.name for i in backward.graph.input]
    assert {"d_y", "d_y_1", "d_x_1"} <= set(given)
    assert len(given) == len(set(given))
    assert [o.name for o in backward.graph.output] == ["d_x"]


@pytest.mark.parametrize("derive", [lambda f: ps.split(f, X), lambda f: ps.grad(f)(X)], ids=["split", "grad"])
def test_an_error_of_a_rule_carries_the_program_and_the_op_of_the_rule(derive: Callable[[Any], Any]) -> None:
    @ps.primitive
    def double(x: Any) -> Any:
        return 2.0 * x

    @ps.rrule(double)
    def rule(x: Any) -> Any:
        return double(x), lambda dy: (dy, dy)

    def function(x: Any) -> Any:
        return double(np.sin(x)).sum()

    with pytest.raises(PrimsplitError) as caught:
        derive(function)
    tape = caught.value.tape
    assert isinstance(tape, Tape)
    assert tape.op is not None
    assert tape.op.kind == "call::double"
    assert [op.kind for op in tape.block.ops] == ["Sin", "call::double", "ReduceSum"]


def test_a_traceback_shows_the_users_frames_of_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def innermost(x: Any) -> Any:
        return statistics.fmean([x])

    def outer(x: Any) -> Any:
        return innermost(np.sin(x).sum())

    def functions_told() -> list[str]:
        with pytest.raises(PrimsplitError) as caught:
            ps.grad(outer)(X)
        return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]

    told = functions_told()
    assert told[-2:] == ["outer", "innermost"]
    assert len(told) <= 10
    monkeypatch.setenv("PRIMSPLIT_TRACEBACK", "1")
    assert len(functions_told()) > 15
