"""Threads that only call functions cannot tell that other threads trace them, are interrupted, or fail.

The thread that was interrupted can trace again.
"""

import builtins
import contextlib
import ctypes
import gc
import math
import pickle
import random
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.ir import scoped

X = np.array([0.3, 1.7, -0.4])
TABLE = np.arange(6.0) ** 2
COUNTS = {"calls": 0}


class Model:
    table = np.arange(5.0)

    def __init__(self) -> None:
        self.weights = np.linspace(0.0, 1.0, 4)
        self.functions = [math.sin, math.cos]

    def __call__(self, x: Any) -> Any:
        return self.weights[np.argmax(x)] * self.functions[0](x[0]) + float_sum(self.table[:3] * x)


def float_sum(values: Any) -> Any:
    total = 0.0
    for value in values:
        total = total + value if value > 0.5 else total * 0.5
    return total


def of_tables(x: Any) -> Any:
    return math.exp(x[0]) * TABLE[np.argmax(x)] + np.array([x[0], x[1]]).sum()


def many_branches(x: Any) -> Any:
    total = 0.0
    for k in range(8):
        total = total + math.sin(x[k % 3]) if x[k % 3] > 0.1 * k else total * 0.5
    return total


def of_counts(x: Any) -> Any:
    count = COUNTS["calls"] + 1
    return math.tanh(x[0]) * count if x[1] > 0 else x[0] * count


MODEL = Model()
FUNCTIONS: list[Callable[[Any], Any]] = [MODEL, of_tables, many_branches, of_counts]
OBJECTS: list[Any] = [math, np, builtins]
EXPECTED = [f(X) for f in FUNCTIONS]


class Stopped(Exception):
    """An error that is thrown into a trace."""


def state() -> list[Any]:
    """Return the parts that a trace might exchange, by identity."""
    functions = [float_sum, of_tables, many_branches, of_counts, Model.__call__, Model.__init__]
    codes = [part for f in functions for part in (f.__code__, f.__defaults__, f.__dict__ or None, f.__globals__)]
    names = [v for module in OBJECTS for _, v in sorted(vars(module).items(), key=lambda item: item[0])]
    own = [globals()[name] for name in ("TABLE", "MODEL", "FUNCTIONS", "COUNTS", "math", "np")]
    held = [MODEL.weights, *MODEL.functions, Model.table, vars(Model)["__call__"], COUNTS["calls"]]
    return [*codes, *names, *own, *held, sys.excepthook, sys.gettrace(), type(MODEL), type(TABLE)]


def is_same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(a is b for a, b in zip(found, expected, strict=True))


class Session:
    """Threads that trace and threads that call, until they are told to end."""

    def __init__(self) -> None:
        self.ends = threading.Event()
        self.faults: list[str] = []
        self.traced = self.called = 0
        self.expected = state()

    def trace(self, seed: int) -> None:
        chosen = random.Random(seed)
        while not self.ends.is_set():
            with contextlib.suppress(Stopped, KeyboardInterrupt):  # thrown between two traces
                self._trace_often(chosen)

    def _trace_often(self, chosen: random.Random) -> None:
        while not self.ends.is_set():
            k = chosen.randrange(len(FUNCTIONS))
            try:
                self._trace_one(FUNCTIONS[k], EXPECTED[k], chosen.randrange(3))
                self.traced += 1
            except BaseException as error:  # noqa: BLE001
                # What is thrown into a callback of a library may come out as the error of that library.
                if not _comes_of_stop(error):
                    self.faults.append(f"a trace raised {error!r}")

    def _trace_one(self, function: Callable[[Any], Any], expected: Any, way: int) -> None:
        if way == 0:
            found = ps.trace(lambda x: function(x), ps.spec("float64", [3]))(X)
        elif way == 1:
            found = ps.value_and_grad(lambda x: function(x))(X)[0]
        else:
            found = ps.split(lambda x: function(x), ps.spec("float64", [3])).joint()(X)[0]
        if not np.allclose(found, expected):
            self.faults.append(f"a program gave {found!r} for {expected!r}")

    def call(self, seed: int) -> None:
        while not self.ends.is_set():
            for function, expected in zip(FUNCTIONS, EXPECTED, strict=True):
                found = function(X)
                if found != expected or type(found) is not type(expected):
                    self.faults.append(f"a call gave {found!r} for {expected!r}")
            built = tuple(TABLE[k] for k in range(3))
            if pickle.loads(pickle.dumps(built)) != built or type(TABLE[:2]) is not np.ndarray:
                self.faults.append("a tuple of a table is another one")
            if not is_same(state(), self.expected):
                self.faults.append("a name, a code object or a container is another one")
            self.called += 1
            time.sleep(0.001 * (seed % 3))

    def interrupt(self, threads: list[threading.Thread]) -> None:
        chosen = random.Random(0)
        throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
        while not self.ends.wait(0.02):
            error = chosen.choice([Stopped, KeyboardInterrupt])
            throw(ctypes.c_ulong(chosen.choice(threads).ident or 0), ctypes.py_object(error))


def _comes_of_stop(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, Stopped | KeyboardInterrupt) or "Stopped" in str(error) or "Interrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@pytest.mark.parametrize(
    ("count", "seconds"), [(3, 3.0), pytest.param(8, 40.0, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.filterwarnings("ignore")
def test_threads_that_call_see_nothing_of_threads_that_trace(
    count: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An error that is thrown into a finalizer is lost, and the hook of pytest may be stopped by the next one.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    for function, expected in zip(FUNCTIONS, EXPECTED, strict=True):  # what is imported late is imported now
        assert np.allclose(ps.value_and_grad(function)(X)[0], expected)
        assert np.allclose(ps.split(function, ps.spec("float64", [3])).joint()(X)[0], expected)
    session = Session()
    tracing = [threading.Thread(target=session.trace, args=(k,)) for k in range(count)]
    calling = [threading.Thread(target=session.call, args=(k,)) for k in range(count)]
    interrupting = threading.Thread(target=session.interrupt, args=(tracing,))
    for thread in (*tracing, *calling, interrupting):
        thread.start()
    time.sleep(seconds)
    session.ends.set()
    for thread in (*tracing, *calling, interrupting):
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert not session.faults, session.faults[:3]
    assert session.traced >= 3
    assert session.called >= 3
    assert is_same(state(), session.expected)


def trace_interrupted(at: int) -> int:
    """Trace with a KeyboardInterrupt where the `at`-th context begins or ends; return how often that was possible."""
    seen = 0

    def throw(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        own, name = frame.f_code.co_filename == scoped.__file__, frame.f_code.co_name
        if not own and frame.f_code.co_filename != contextlib.__file__:
            return None
        # Python throws it as a function begins, or after a call in it: in contextlib after the generator has begun.
        if (event == "call" and name in {"__enter__", "__exit__"}) or (
            event == "return" and name == "__enter__" and not own
        ):
            seen += 1
            if seen == at:
                raise KeyboardInterrupt
        return throw

    before = sys.gettrace()
    sys.settrace(throw)
    try:
        ps.trace(lambda x: many_branches(x), ps.spec("float64", [3]))
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.filterwarnings("ignore")
def test_a_thread_can_trace_after_an_interrupt_where_a_context_begins_or_ends(count: int) -> None:
    places = trace_interrupted(0)
    assert places > 300
    chosen = random.Random(count)
    for _ in range(count):
        with pytest.raises(KeyboardInterrupt):
            trace_interrupted(chosen.randrange(1, places + 1))
        gc.collect()  # generators that were left suspended end now
        assert gc.isenabled()
        assert not tracing.is_recording()
        assert np.allclose(ps.trace(lambda x: many_branches(x), ps.spec("float64", [3]))(X), EXPECTED[2])
