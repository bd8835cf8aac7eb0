"""Declared states: what a function keeps from call to call, in plain NumPy, in a program, and through transforms."""

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.journeys.states.averaging import Array, Averaging, X


@pytest.fixture
def function() -> Averaging:
    return Averaging()


def distance(x: Array, mean: Array) -> Any:
    return np.sum((x - (0.5 * mean + 0.5 * x)) ** 2)


ONCE, TWICE = (1, [0.5, 1.0, 1.5]), (2, [0.75, 1.5, 2.25])


def test_in_plain_numpy_a_state_is_an_array_that_is_kept(function: Averaging) -> None:
    assert [function(X), function(X)] == [3.5, 0.875]
    assert function.values() == TWICE
    function.calls.reset()
    assert int(function.calls) == 0


def test_a_program_gives_what_the_function_gives_call_after_call(function: Averaging) -> None:
    program = ps.trace(function, ps.spec("float64", [3]))
    assert program.inputs == ("x", "state.calls.in", "state.mean.in")
    assert program.outputs == ("y", "state.calls.out", "state.mean.out")
    assert [float(program(X)), float(program(X))] == [3.5, 0.875]
    assert (int(program.state["calls"]), program.state["mean"].tolist()) == TWICE


def test_two_programs_of_one_function_share_nothing_and_nor_does_the_function(function: Averaging) -> None:
    first, second = (ps.trace(function, X) for _ in range(2))
    first(X)
    assert int(second.state["calls"]) == 0
    assert function.values() == (0, [0.0, 0.0, 0.0])
    assert float(second(X)) == 3.5


def test_states_of_a_program_are_read_as_copies_set_checked_and_reset(function: Averaging) -> None:
    program = ps.trace(function, X)
    program(X)
    held = program.state["mean"]
    held[:] = 9.0
    assert program.state["mean"].tolist() == ONCE[1]
    program.state.update(calls=41, mean=np.ones(3))
    assert float(program(X)) == distance(X, np.ones(3))
    assert int(program.state["calls"]) == 42
    program.state.reset()
    assert {name: value.tolist() for name, value in program.state.items()} == {"calls": 0, "mean": [0.0] * 3}


def test_a_state_has_a_gradient_where_it_is_asked_for_by_name(function: Averaging) -> None:
    made = ps.split(function, X, wrt=["x", "state.mean.in"])
    assert made.joint().outputs == ("y", "state.calls.out", "state.mean.out", "d_x", "d_state.mean.in")
    _, by_x, by_mean = made.joint()(X)
    np.testing.assert_allclose(by_x, X / 2)
    np.testing.assert_allclose(by_mean, -X / 2)
    made = ps.split(function, X, wrt="x", of="state.mean.out")
    assert made.joint().inputs == ("x", "state.calls.in", "state.mean.in", "d_state.mean.out")
    np.testing.assert_allclose(made.joint()(X, np.ones(3))[1], np.full(3, 0.5))


def test_a_state_may_be_what_is_differentiated_when_it_is_given_as_an_argument(function: Averaging) -> None:
    def weighed(w: Array, x: Array) -> Any:
        return np.sum(w**2 * x)

    function.mean.assign(X)
    np.testing.assert_allclose(ps.grad(weighed)(function.mean, X), 2 * X * X)
    np.testing.assert_allclose(ps.vjp(weighed, function.mean, X)[1](1.0)[0], 2 * X * X)
    program = ps.trace(lambda x: ps.grad(weighed)({"w": [function.mean]}["w"][0], x), X)
    assert program.inputs == ("x", "state.mean.in")
    function.mean.assign(2 * X)
    np.testing.assert_allclose(ps.grad(weighed)(function.mean, X), 4 * X * X)


def test_a_gradient_of_a_function_with_states_meets_central_differences(function: Averaging) -> None:
    ps.testing.check_grads(lambda x: np.sin(function(x)) * np.exp(x), X, modes=("reverse", "forward"))
    assert function.values() == (0, [0.0, 0.0, 0.0])


def test_pullbacks_are_those_of_the_states_before_their_calls(function: Averaging) -> None:
    y1, first = ps.vjp(function, X)
    y2, second = ps.vjp(function, X)
    assert [float(y1), float(y2)] == [3.5, 0.875]
    np.testing.assert_allclose(second(1.0)[0], X / 4)
    np.testing.assert_allclose(first(1.0)[0], X / 2)
    np.testing.assert_allclose(first(1.0)[0], X / 2)
    assert function.values() == TWICE


def test_a_new_signature_goes_on_where_the_last_one_was() -> None:
    total = ps.state("total", 0.0)

    def summed(x: Array) -> Any:
        total[...] = total + np.sum(x)
        return np.sum(x * total)

    gradient = ps.grad(summed)
    for size in (2, 3, 2):
        gradient(np.ones(size))
    assert float(total) == 7.0
    assert gradient.statistics.misses == 2


def test_a_change_of_a_value_records_nothing_anew(function: Averaging) -> None:
    gradient = ps.grad(function)
    gradient(X)
    before = ps.counts()
    for _ in range(5):
        gradient(X)
    assert ps.counts() == before


def test_a_function_that_is_recorded_twice_for_its_lists_of_numbers_keeps_its_states(function: Averaging) -> None:
    def listed(x: Array) -> Any:
        function.mean[...] = np.array([x[0], function.mean[1] + 1.0, x[2]])
        return np.stack([function.mean, x])

    program = ps.trace(listed, X)
    for _ in range(2):
        np.testing.assert_array_equal(program(X), listed(X))
    assert program.state["mean"].tolist() == [1.0, 2.0, 3.0]


def test_the_states_of_a_program_are_a_mapping(function: Averaging) -> None:
    state = ps.trace(function, X).state
    assert "mean" in state
    assert "other" not in state
    assert state.get("other", 7) == 7
    assert dict(state).keys() == {"calls", "mean"}


def test_what_is_only_read_may_be_read_in_loops_branches_and_batches(function: Averaging) -> None:
    function.mean.assign(np.array([1.0, 0.0, 2.0]))

    def call(x: Array) -> Any:
        summed, _ = ps.scan(lambda c, row: (c + row * function.mean, row), np.zeros(3), np.stack([x, x]))
        chosen = ps.cond(x[0] > 0, lambda: x * function.mean, lambda: x)
        batch = ps.vmap(lambda row: row @ function.mean)(np.stack([x, 2 * x]))
        return summed, chosen, batch, ps.cached(lambda x: x * function.mean)(x)

    mean = np.asarray(function.mean)
    expected = (2 * X * mean, X * mean, [X @ mean, 2 * X @ mean], X * mean)
    for found, wanted in zip(ps.vjp(call, X)[0], expected, strict=True):
        np.testing.assert_allclose(found, wanted)


def test_a_program_in_a_program_hands_its_states_to_that_one(function: Averaging) -> None:
    inner = ps.trace(function, X)
    outer = ps.trace(lambda x: inner(x) + inner(x), X)
    assert outer.inputs == ("x", "state.calls.in", "state.mean.in")
    assert float(outer(X)) == 3.5 + 0.875
    assert int(outer.state["calls"]) == 2
    assert int(inner.state["calls"]) == 0
    np.testing.assert_allclose(ps.grad(inner)(X), X / 2)
    assert int(inner.state["calls"]) == 1


def test_slots_of_one_name_are_numbered_and_nested_ones_are_named_by_their_path() -> None:
    one, other = ps.state("slot", 0.0), ps.state("slot", 1.0)
    nested = ps.state("adam", {"mean": [np.zeros(2), np.ones(2)], "steps": 0.0})
    program = ps.trace(lambda x: x + one + 2 * other + nested["mean"][1].sum() + nested["steps"], 1.0)
    names = ["slot", "slot_1", "adam.mean.1", "adam.steps"]
    assert list(program.state) == names
    assert program.inputs[1:] == tuple(f"state.{name}.in" for name in names)
    assert float(program(1.0)) == 5.0


def test_slots_whose_names_differ_behind_the_point_keep_them() -> None:
    slots = {name: ps.state(f"m.{name}", value) for name, value in (("w", 1.0), ("b", 2.0))}
    again = ps.state("m.b", 3.0)
    program = ps.trace(lambda x: x + slots["w"] + 10 * slots["b"] + 100 * again, 1.0)
    assert list(program.state) == ["m.w", "m.b", "m_1.b"]
    assert float(program(1.0)) == 322.0


def test_threads_that_call_one_program_lose_no_call(function: Averaging) -> None:
    program = ps.trace(function, X)

    def often() -> None:
        for _ in range(50):
            program(X)

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(program.state["calls"]) == 200


@dataclasses.dataclass(frozen=True)
class Layer:
    """A callable dataclass, whose array is an input and whose state is none."""

    w: Array
    calls: Any

    def __call__(self, x: Array) -> Any:
        self.calls[...] = self.calls + 1.0
        return np.sum(self.w * x) * self.calls


def test_a_state_may_be_a_field_of_a_callable_dataclass() -> None:
    calls = ps.state("calls", np.zeros(3))
    layer = Layer(np.ones(3), calls)
    program = ps.trace(layer, X)
    assert program.inputs == ("self.w", "x", "state.calls.in")
    np.testing.assert_allclose(program(layer, X), [6.0, 6.0, 6.0])
    np.testing.assert_allclose(program(layer, X), [12.0, 12.0, 12.0])
    np.testing.assert_array_equal(calls, np.zeros(3))


def test_a_function_that_reads_another_copy_of_a_program_is_recorded_anew(function: Averaging) -> None:
    held = {"program": ps.trace(function, X)}
    gradient = ps.grad(lambda x: held["program"](x))
    gradient(X)
    first, held["program"] = held["program"], held["program"].with_own_states()
    np.testing.assert_allclose(gradient(X), X / 2)
    assert (int(first.state["calls"]), int(held["program"].state["calls"])) == (1, 1)
