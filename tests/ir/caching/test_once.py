"""Work done once for each key by whichever thread comes first: no thread waits for one that waits for it."""

import threading
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.ir.caching.once import Turns
from tests.threads import in_threads

X = np.array([0.5, 1.5])
PATIENCE = 60


def _finish(*works: Any) -> None:
    """Run each in a thread of its own. Fails where one does not come to an end."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)


def test_one_thread_has_a_key_at_a_time() -> None:
    turns = Turns()
    made: list[int] = []

    def work(_: int) -> None:
        with turns.turn("key"):
            if not made:
                threading.Event().wait(0.05)
                made.append(1)

    in_threads(work, 6)
    assert made == [1]
    assert turns.held == {}


def test_a_thread_may_come_again_for_a_key_that_it_has() -> None:
    turns = Turns()
    with turns.turn("a"), turns.turn("b"), turns.turn("a"):
        assert set(turns.held) == {"a", "b"}
    assert turns.held == {}


def test_threads_that_would_wait_for_each_other_go_on() -> None:
    first, second = Turns(), Turns()
    both = threading.Barrier(2)
    ended = []

    def work(mine: Turns, other: Turns) -> None:
        with mine.turn("key"):
            both.wait()
            with other.turn("key"):
                ended.append(1)

    _finish(lambda: work(first, second), lambda: work(second, first))
    assert ended == [1, 1]


class Meeting:
    """Two threads that wait for each other once, each where it is named."""

    def __init__(self) -> None:
        self.both = threading.Barrier(2, timeout=PATIENCE)
        self.met: set[str] = set()

    def depends_on(self) -> tuple[()]:
        """Nothing that a program depends on."""
        return ()

    def at(self, name: str) -> None:
        """Wait, in the thread of this name, for the first time."""
        if threading.current_thread().name == name and name not in self.met:
            self.met.add(name)
            self.both.wait()


def test_a_builder_may_call_a_function_that_another_thread_traces_through_its_rule() -> None:
    """One thread builds the rule, and needs the compiled function; the other traces that, and needs the rule."""
    meeting = Meeting()

    @ps.primitive
    def doubled(x: Any) -> Any:
        return 2.0 * x

    def through_rule(x: Any) -> Any:
        meeting.at("tracing")
        return np.sum(doubled(x)) if x.shape == (3,) else np.sum(x * x)

    compiled = ps.grad(through_rule)

    @ps.rrule(doubled, staged=True)
    def build(x: Any) -> Any:
        meeting.at("building")
        slopes = compiled(np.ones(2))
        return lambda x: (doubled(x), lambda dy: (dy * slopes[0],))

    found: dict[str, list[float]] = {}

    def work(call: Any) -> None:
        found[threading.current_thread().name] = call(np.ones(3)).tolist()

    calls = {"building": ps.grad(lambda x: np.sum(doubled(x))), "tracing": compiled}
    threads = [threading.Thread(target=work, args=(c,), name=n, daemon=True) for n, c in calls.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == {"building": [2.0, 2.0, 2.0], "tracing": [2.0, 2.0, 2.0]}


def test_a_builder_gets_numbers_from_a_compiled_function() -> None:
    """A builder's results are for every later trace, so they must be no values of the current one."""
    kinds: list[type] = []
    slope = ps.grad(lambda z: np.sum(z * z))

    @ps.primitive
    def scaled(x: Any) -> Any:
        return 2.0 * x

    @ps.rrule(scaled, staged=True)
    def build(x: Any) -> Any:
        table = slope(np.arange(1.0, 3.0))
        kinds.append(type(table))

        def rule(x: Any) -> Any:
            return scaled(x), lambda dy: (dy * table,)

        return rule

    def function(x: Any) -> Any:
        return np.sum(scaled(x))

    assert ps.grad(function)(X).tolist() == [2.0, 4.0]
    assert ps.grad(lambda x: 2 * function(x))(X).tolist() == [4.0, 8.0]
    assert set(kinds) == {np.ndarray}


def test_threads_trace_two_signatures_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=PATIENCE)

    def function(x: Any) -> Any:
        both.wait()
        return np.sum(x * x)

    gradient = ps.grad(function)
    _finish(lambda: gradient(np.ones(2)), lambda: gradient(np.ones(3)))
    assert gradient.statistics.misses == 2
