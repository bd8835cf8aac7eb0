"""Slots of a primitive's call sites: what one call leaves, the next call of that line finds."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(11)

A, B = RANDOM.standard_normal((2, 4, 4))


def overwriting() -> Any:
    """The product of the thread: it writes into an array that is kept, and gives a copy of it."""

    @ps.primitive(state={"room": np.zeros((4, 4))})
    def mul_(a: Array, b: Array, *, room: Array) -> Array:
        room[...] = a @ b
        return room + 0.0

    return mul_


def with_rule(mul_: Any) -> Any:
    @ps.rrule(mul_)
    def mul_rule(a: Array, b: Array, *, room: Array) -> Any:
        room[...] = a @ b

        def pullback(dy: Array) -> tuple[Array, Array]:
            return dy @ b.T, a.T @ dy

        return room + 0.0, pullback

    return mul_


def twice(mul_: Any) -> Callable[[Array, Array], Any]:
    def call(a: Array, b: Array) -> Any:
        first = mul_(a, b)
        second = mul_(b, a)
        return np.sum(first * second)

    return call


def plain(a: Array, b: Array) -> Any:
    return np.sum((a @ b) * (b @ a))


@pytest.mark.parametrize("made", [overwriting, lambda: with_rule(overwriting())], ids=["through its body", "by a rule"])
def test_each_call_site_has_a_slot_of_its_own(made: Callable[[], Any]) -> None:
    function = twice(made())
    program = ps.trace(function, A, B)
    assert list(program.state) == ["mul_.room", "mul__1.room"]
    np.testing.assert_allclose(program(A, B), plain(A, B))
    np.testing.assert_allclose(program.state["mul_.room"], A @ B)
    np.testing.assert_allclose(program.state["mul__1.room"], B @ A)
    for found, wanted in zip(ps.grad(function, (0, 1))(A, B), ps.grad(plain, (0, 1))(A, B), strict=True):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(ps.hessian(function)(A, B), ps.hessian(plain)(A, B), atol=1e-12)
    assert function(A, B) == plain(A, B)


@pytest.mark.parametrize("made", [overwriting, lambda: with_rule(overwriting())], ids=["through its body", "by a rule"])
def test_a_file_shows_the_pairs_and_what_a_rule_wrote(made: Callable[[], Any]) -> None:
    joint = ps.split(twice(made()), A, B).joint()
    pairs = ["state.mul_.room", "state.mul__1.room"]
    session = joint.session().session
    assert [i.name for i in session.get_inputs()][2:] == [f"{p}.in" for p in pairs]
    assert [o.name for o in session.get_outputs()] == ["y", *(f"{p}.out" for p in pairs), "d_a", "d_b"]
    joint(A, B)
    np.testing.assert_allclose(joint.state["mul_.room"], A @ B)


def test_a_slot_keeps_what_the_call_before_left() -> None:
    """A root is found in fewer steps from the last one: the count of steps is the second slot."""

    @ps.primitive(state=lambda a: {"guess": np.ones(np.shape(a)), "steps": 0})
    def root(a: Any, *, guess: Any, steps: Any) -> Any:
        def better(carry: Any) -> Any:
            x, count = carry
            return 0.5 * (x + a / x), count + 1

        x, count = ps.while_loop(
            lambda carry: np.max(np.abs(carry[0] ** 2 - a)) > 1e-12, better, (guess + 0.0, steps * 0)
        )
        guess[...], steps[...] = x, count
        return x

    def function(a: Array) -> Any:
        return np.sum(root(a))

    program = ps.trace(function, np.array([2.0, 3.0]))
    counts = []
    for _ in range(2):
        np.testing.assert_allclose(program(np.array([2.0, 3.0])), np.sqrt(2) + np.sqrt(3))
        counts.append(int(program.state["root.steps"]))
    assert counts[0] > 3
    assert counts[1] == 0


def test_a_forward_rule_and_a_builder_get_the_slots_too() -> None:
    mul_ = overwriting()
    built: list[Any] = []

    @ps.rrule(mul_, staged=True)
    def build(a: Any, b: Any, *, room: Any) -> Any:
        built.append((a, b, room))

        def rule(a: Array, b: Array, *, room: Array) -> Any:
            room[...] = a @ b
            return room + 0.0, lambda dy: (dy @ b.T, a.T @ dy)

        return rule

    function = twice(mul_)
    np.testing.assert_allclose(ps.grad(function)(A, B), ps.grad(plain)(A, B))
    ps.grad(function)(A, B)
    assert len(built) == 2  # once a site

    @ps.frule(mul_)
    def forward(a: Array, b: Array, *, room: Array) -> Any:
        room[...] = a @ b
        return room + 0.0, lambda ta, tb: (0.0 if ta is None else ta @ b) + (0.0 if tb is None else a @ tb)

    program = ps.trace(lambda a, b: ps.jvp(function, (a, b), (a, b))[1], A, B)
    np.testing.assert_allclose(program(A, B), ps.jvp(plain, (A, B), (A, B))[1])
    np.testing.assert_allclose(program.state["mul_.room"], A @ B)


def test_calls_in_flight_do_not_disturb_each_other() -> None:
    """A value that a pullback needs is a capture, not in the slot: the second call may overwrite that first."""
    mul_ = with_rule(overwriting())

    def call(a: Array, b: Array) -> Array:
        return mul_(a, b)

    seed = RANDOM.standard_normal((4, 4))
    y1, first = ps.vjp(call, A, B)
    y2, second = ps.vjp(call, B, A)
    np.testing.assert_allclose(second(seed)[0], seed @ A.T)
    np.testing.assert_allclose(first(seed)[0], seed @ B.T)
    np.testing.assert_array_equal(first(seed)[0], first(seed)[0])
    np.testing.assert_allclose(y1, A @ B)
    np.testing.assert_allclose(y2, B @ A)


@pytest.mark.parametrize("made", [overwriting, lambda: with_rule(overwriting())], ids=["through its body", "by a rule"])
def test_a_call_site_in_a_loop_has_one_slot_and_a_capture_for_each_step(made: Callable[[], Any]) -> None:
    mul_ = made()

    def looping(a: Array, b: Array) -> Any:
        return np.sum(ps.scan(lambda carry, _: (mul_(carry, a), 0.0), b, np.zeros(3))[0])

    def straight(a: Array, b: Array) -> Any:
        return np.sum(b @ a @ a @ a)

    program = ps.trace(looping, A, B)
    np.testing.assert_allclose(program(A, B), straight(A, B))
    assert list(program.state) == ["mul_.room"]
    np.testing.assert_allclose(program.state["mul_.room"], B @ A @ A @ A)
    for found, wanted in zip(ps.grad(looping, (0, 1))(A, B), ps.grad(straight, (0, 1))(A, B), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_a_slot_is_written_to_by_its_name_only() -> None:
    with pytest.raises(SpecError, match="cannot start as"):
        ps.primitive(lambda x, *, s: x, name="odd", state={"s": "text"})(1.0)
