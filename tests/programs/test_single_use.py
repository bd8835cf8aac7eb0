"""Threads that use one prepared program at once get an error, never the numbers of one another."""

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.programs.prepared import Prepared
from tests.threads import in_threads

Array = np.ndarray[Any, Any]


def in_another_thread(work: Callable[[], Any]) -> Any:
    """Return the result of `work`, or raise its error, in a thread of its own, which has ended then."""
    found: list[Any] = []

    def run(_: int) -> None:
        try:
            found.append(work())
        except RunError as error:
            found.append(error)

    in_threads(run, 1)
    return found[0]


class Interrupting:
    """A number that another thread uses the program before it is read: in the middle of a call."""

    def __init__(self, value: float, work: Callable[[], Any]) -> None:
        self.value, self.work = value, work
        self.found: Any = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        self.found = in_another_thread(self.work)
        return np.asarray(self.value)


def doubled() -> Prepared:
    return ps.trace(lambda x: 2.0 * x, ps.spec("float64")).prepare(1.0)


WAYS: dict[str, Callable[[Prepared], Any]] = {
    "a call": lambda p: p(3.0),
    "run_into": lambda p: p.run_into(np.zeros(()), 3.0),
    "run": lambda p: p.run(),
    "run_on": lambda p: p.run_on([np.asarray(3.0)]),
    "inputs": lambda p: p.inputs["x"],
    "outputs": lambda p: p.outputs["y"],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_thread_that_comes_between_gets_an_error(way: str) -> None:
    prepared = doubled()
    argument = Interrupting(1.0, lambda: WAYS[way](prepared))
    assert prepared(argument) == 2.0
    assert isinstance(argument.found, RunError)
    assert "copy.copy(prepared)" in str(argument.found)
    assert prepared(4.0) == 8.0


def moment() -> Callable[[Array], Array]:
    kept = ps.state("kept", np.zeros(()))

    def step(x: Array) -> Array:
        kept[...] = kept + x
        return 2.0 * kept

    return step


MADE: dict[str, Callable[[], Prepared]] = {
    "a gradient": lambda: ps.grad(lambda x: x**2).prepare(1.0),
    "complex": lambda: ps.trace(lambda x: x * (2.0 + 1.0j), ps.spec("float64")).prepare(1.0),
    "a copy": lambda: copy.copy(doubled()),
    "states": lambda: ps.trace(moment(), ps.spec("float64")).prepare(1.0),
    "cached": lambda: ps.trace(ps.cached(lambda x: x + 1.0), ps.spec("float64")).prepare(1.0),
}


@pytest.mark.parametrize("name", MADE)
def test_every_prepared_program_refuses_it(name: str) -> None:
    prepared, alone = MADE[name](), MADE[name]()
    argument = Interrupting(1.0, lambda: prepared(3.0))
    found = prepared(argument)
    assert isinstance(argument.found, RunError)
    np.testing.assert_array_equal(found, alone(1.0))
    np.testing.assert_array_equal(prepared(2.0), alone(2.0))


def test_a_result_that_is_referred_to_outlives_the_call_of_another_thread() -> None:
    """The array itself, a view of it, and a container of it."""
    prepared = ps.trace(lambda x: {"y": [x + 1.0], "z": x * 1j}, ps.spec("float64", [2])).prepare(np.zeros(2))
    for part in (lambda r: r, lambda r: r["y"], lambda r: r["y"][0], lambda r: r["y"][0][:1], lambda r: r["z"].imag):
        kept = part(prepared(np.ones(2)))
        wanted = copy.deepcopy(kept)
        assert in_another_thread(lambda: prepared(np.full(2, 5.0))["y"][0][0]) == 6.0
        np.testing.assert_equal(kept, wanted)


def test_threads_that_take_turns_share_the_buffers() -> None:
    prepared = doubled()
    where = prepared.addresses()
    for k in range(4):
        assert in_another_thread(lambda k=k: float(prepared(float(k)))) == 2.0 * k
    assert float(prepared(9.0)) == 18.0
    assert prepared.addresses() == where


def test_outputs_that_are_waited_for_are_filled_by_another_thread() -> None:
    prepared = doubled()
    prepared.inputs["x"][...] = 5.0
    in_another_thread(prepared.run)
    assert prepared.outputs["y"] == 10.0


def test_new_arrays_are_refused_while_a_caller_refers_to_outputs() -> None:
    """They would not be filled any more."""
    prepared = doubled()
    waiting = prepared.outputs["y"]
    found = in_another_thread(lambda: prepared(3.0))
    assert isinstance(found, RunError)
    assert "referred to" in str(found)
    del waiting
    assert in_another_thread(lambda: float(prepared(3.0))) == 6.0


def beside(work: Callable[[], Any], then: Callable[[], Any]) -> Any:
    """Return the result of `then`, or raise its error, while the thread is alive that has done `work`."""
    done, go_on = threading.Event(), threading.Event()

    def run() -> None:
        work()
        done.set()
        go_on.wait(10.0)

    thread = threading.Thread(target=run)
    thread.start()
    done.wait(10.0)
    try:
        return then()
    except RunError as error:
        return error
    finally:
        go_on.set()
        thread.join()


def test_arguments_that_another_thread_wrote_over_are_not_run() -> None:
    prepared = doubled()
    prepared.inputs["x"][...] = 5.0
    found = beside(lambda: prepared.inputs["x"].fill(7.0), prepared.run)
    assert isinstance(found, RunError)
    assert "wrote over" in str(found)


def test_outputs_that_another_thread_filled_since_are_not_read() -> None:
    prepared = doubled()
    prepared.inputs["x"][...] = 5.0
    prepared.run()
    found = beside(lambda: prepared(7.0), lambda: prepared.outputs)
    assert isinstance(found, RunError)


def test_copies_run_at_once() -> None:
    prepared = ps.trace(lambda x: np.sin(x) ** 3, ps.spec("float64", [3])).prepare(np.ones(3))
    wrong = []

    def work(k: int) -> None:
        own = copy.copy(prepared)
        for i in range(300):
            x = np.full(3, k + i * 0.001)
            wrong.extend([k] * (not np.allclose(own(x), np.sin(x) ** 3)))

    in_threads(work, 3)
    assert not wrong


def test_no_thread_ever_gets_numbers_of_another() -> None:
    prepared = ps.trace(lambda x: np.sin(x) ** 3, ps.spec("float64", [3])).prepare(np.ones(3))
    wrong = []

    def work(k: int) -> None:
        for i in range(1000):
            x = np.full(3, k + i * 0.001)
            try:
                found = prepared(x).copy()
            except RunError:
                continue
            wrong.extend([k] * (not np.allclose(found, np.sin(x) ** 3)))

    in_threads(work, 2)
    assert not wrong
