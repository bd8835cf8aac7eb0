"""States that a loop's body writes to: each step reads what the one before wrote, as in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError

Array = np.ndarray[Any, Any]
X = np.array([1.0, 2.0, 3.0, 4.0])


class Running:
    """A mean that forgets, and how many numbers it has seen."""

    def __init__(self) -> None:
        self.mean = ps.state("mean", 0.5)
        self.seen = ps.state("seen", 0)

    def see(self, number: Any) -> Any:
        self.seen[...] = self.seen + 1
        self.mean[...] = 0.5 * self.mean + 0.5 * number
        return number - self.mean

    def values(self) -> list[float]:
        return [float(self.mean), int(self.seen)]


def in_scan(r: Running, x: Array) -> Any:
    total, apart = ps.scan(lambda carry, v: (carry + r.see(v) ** 2, v * r.mean), 0.0, x)
    return total + np.sum(apart**2)


def in_reverse(r: Running, x: Array) -> Any:
    return ps.scan(lambda carry, v: (carry + r.see(v) ** 2, v), 0.0, x, reverse=True)[0]


def in_checkpointed(r: Running, x: Array) -> Any:
    return ps.scan(lambda carry, v: (carry + r.see(v) ** 2, v), 0.0, x, checkpoint="sqrt")[0]


def in_fori(r: Running, x: Array) -> Any:
    return ps.fori_loop(0, 3, lambda i, carry: carry + r.see(carry * x[0]) * (i + 1), x[1])


def in_while(r: Running, x: Array) -> Any:
    return ps.while_loop(lambda y: (y < 40.0) & (r.mean < 30.0), lambda y: y * 1.5 + r.see(y) ** 2, x[0])


def in_map(r: Running, x: Array) -> Any:
    return np.sum(ps.map(r.see, x) ** 2)


def in_nested(r: Running, x: Array) -> Any:
    def row(carry: Any, a: Any) -> Any:
        inner, _ = ps.scan(lambda c, b: (c + r.see(a * b), None), carry, x)
        return inner * r.mean, None

    return ps.scan(row, 0.0, x[:2])[0] + r.mean


def beside_other_writes(r: Running, x: Array) -> Any:
    before = r.see(x[0])
    middle = ps.scan(lambda carry, v: (carry + r.see(v), None), before, x)[0]
    return middle * r.see(x[1]) * r.mean


def after_a_branch(r: Running, x: Array) -> Any:
    def step(carry: Any, v: Any) -> Any:
        if v > 2.5:
            r.see(v)
        return carry + v * r.mean, None

    return ps.scan(step, 0.0, x)[0]


def through_out(r: Running, x: Array) -> Any:
    def step(carry: Any, v: Any) -> Any:
        np.add(r.mean, v, out=r.mean)
        return carry * r.mean, None

    return ps.scan(step, 1.0, x)[0]


LOOPS: list[Callable[[Running, Array], Any]] = [
    in_scan, in_reverse, in_checkpointed, in_fori, in_while, in_map, in_nested, beside_other_writes, after_a_branch,
    through_out,
]  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_program_gives_and_keeps_what_python_does(loop: Callable[[Running, Array], Any]) -> None:
    by_hand, traced = Running(), Running()
    program = ps.trace(lambda x: loop(traced, x), X)
    for x in (X, X / 3):
        np.testing.assert_allclose(program(x), loop(by_hand, x), rtol=1e-12)
        found = [float(program.state.get(name, 0)) for name in ("mean", "seen")]
        np.testing.assert_allclose(found, by_hand.values(), rtol=1e-12)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_its_derivatives_are_those_of_differences(loop: Callable[[Running, Array], Any]) -> None:
    running, step = Running(), 1e-6

    def value(x: Array) -> Any:
        running.mean.reset()
        running.seen.reset()
        return loop(running, x)

    differences = [(value(X + h) - value(X - h)) / (2 * step) for h in step * np.eye(4)]
    direction = np.array([0.3, -1.0, 0.5, 0.2])
    running.mean.reset()
    np.testing.assert_allclose(ps.grad(lambda x: loop(running, x))(X), differences, rtol=1e-6, atol=1e-7)
    running.mean.reset()
    tangent = ps.jvp(lambda x: loop(running, x), (X,), (direction,))[1]
    np.testing.assert_allclose(tangent, direction @ np.array(differences), rtol=1e-6, atol=1e-7)


def test_a_loop_of_no_steps_keeps_the_state() -> None:
    running = Running()
    program = ps.trace(lambda x: in_scan(running, x), ps.spec("float64", ["N"]))
    assert float(program(np.zeros(0))) == 0.0
    assert float(program.state["mean"]) == 0.5
    program(X)
    assert int(program.state["seen"]) == 4


def test_the_carry_of_a_state_has_its_dtype_and_its_first_value_in_the_file() -> None:
    single = ps.state("single", np.float32(0.25))

    def call(x: Array) -> Any:
        def step(carry: Any, v: Any) -> Any:
            single[...] = single + v
            return carry, single * 1

        return ps.scan(step, 0.0, x)[1]

    program = ps.trace(call, X)
    assert program.types[1].dtype == np.float32
    found = program(X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.float32(0.25) + np.cumsum(X, dtype=np.float32))


def test_a_condition_that_writes_is_refused_at_its_line() -> None:
    running = Running()

    def going(y: Any) -> Any:
        return running.see(y) < 3.0

    with pytest.raises(TraceError, match="the state seen is written to in a loop's condition") as caught:
        ps.trace(lambda x: ps.while_loop(going, lambda y: y + 1.0, x[0]), X)
    assert len(str(caught.value).splitlines()) < 10
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_a_branch_and_a_batch_in_a_body_still_refuse_a_write() -> None:
    running = Running()

    def step(carry: Any, v: Any) -> Any:
        return carry + ps.cond(v > 2.0, lambda: running.see(v), lambda: 0.0), None

    with pytest.raises(TraceError, match="is written to in a branch"):
        ps.trace(lambda x: ps.scan(step, 0.0, x)[0], X)
    with pytest.raises(TraceError, match=r"is written to in a branch, ps\.vmap"):
        ps.trace(lambda x: ps.vmap(lambda v: ps.fori_loop(0, 2, lambda i, c: c + running.see(v), 0.0))(x), X)
