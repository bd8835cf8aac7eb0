"""Other threads of the process see their own functions, names and arrays while one thread traces."""

import importlib.util
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import primsplit as ps

BRANCHES = """
def f(x):
    y = 0.0
    for i in range(12):
        if x[i] > 0:
            y = y + x[i] ** 2
        else:
            y = y - x[i]
        pause()
    return y
def pause(): pass
class Model:
    def loss(self, x):
        return f(x)
"""
TABLES = """
import math
import numpy as np
table = np.arange(4.0)
def traced(x):
    watch()
    return math.sin(x[0]) + np.array([x[0], x[1]]).sum() + table[0]
def watch(): pass
"""


def module(name: str, source: str, folder: Path) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


@pytest.fixture(name="branches")
def _branches(tmp_path: Path) -> Iterator[ModuleType]:
    yield module("users_branches", BRANCHES, tmp_path)
    del sys.modules["users_branches"]


@pytest.fixture(name="tables")
def _tables(tmp_path: Path) -> Iterator[ModuleType]:
    yield module("users_tables", TABLES, tmp_path)
    del sys.modules["users_tables"]


class Watcher:
    """A thread that was there before a trace, and answers when it is asked in the middle of it."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer, self.answers = answer, list[Any]()
        self.asked, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.ends = False
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while self.asked.acquire() and not self.ends:
            self.answers.append(self.answer())
            self.answered.release()

    def asking(self) -> Callable[[], None]:
        """A function that has one more answer; in the thread itself it does nothing."""
        asked, answered, own = self.asked, self.answered, self.thread.ident

        def ask() -> None:
            if threading.get_ident() != own:
                asked.release()
                answered.acquire(timeout=10.0)

        return ask

    def __enter__(self) -> "Watcher":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ends = True
        self.asked.release()
        self.thread.join()


X = np.linspace(-1.0, 1.0, 12)


def wanted(x: Any) -> float:
    return float(sum(v**2 if v > 0 else -v for v in x))


def test_functions_stay_as_they_are_while_copies_are_traced(branches: ModuleType) -> None:
    """Asked in the middle of each run, also when the statements are joined."""
    code, names = branches.f.__code__, set(vars(branches))

    def answer() -> Any:
        return branches.f.__code__ is code, set(vars(branches)) == names, branches.f(X)

    with Watcher(answer) as watcher:
        branches.pause = watcher.asking()
        program = ps.trace(lambda x: branches.f(x) * 2, ps.spec("float64", [12]))
    np.testing.assert_allclose(program(X), 2 * wanted(X), rtol=1e-12)
    assert len(watcher.answers) > 30
    assert all(same and no_more for same, no_more, _ in watcher.answers)
    np.testing.assert_allclose([value for *_, value in watcher.answers], wanted(X), rtol=1e-12)


def test_a_method_computes_right_in_other_threads(branches: ModuleType) -> None:
    """Its callees may have other code during a trace, which computes the same on plain values."""
    names = set(vars(branches))
    with Watcher(lambda: (branches.f(X), set(vars(branches)) == names)) as watcher:
        branches.pause = watcher.asking()
        program = ps.trace(branches.Model().loss, ps.spec("float64", [12]))
    np.testing.assert_allclose(program(X), wanted(X), rtol=1e-12)
    np.testing.assert_allclose([value for value, _ in watcher.answers], wanted(X), rtol=1e-12)
    assert all(same for _, same in watcher.answers)


def test_other_threads_compute_plain_arrays(tables: ModuleType) -> None:
    def answer() -> list[Any]:
        t = tables.table
        computed = [t[1:3], t * 2.0, t + t, np.sort(t), np.split(t, 2)[0], t.reshape(2, 2), t.transpose(), t.sum(0)]
        return [*computed, pickle.loads(pickle.dumps(t))]

    x = np.array([0.3, 0.5])
    with Watcher(answer) as watcher:
        tables.watch = watcher.asking()
        program = ps.trace(tables.traced, ps.spec("float64", [2]))
    np.testing.assert_allclose(program(x), np.sin(0.3) + 0.8, rtol=1e-12)
    kinds = {type(m) for answered in watcher.answers for m in answered}
    assert kinds == {np.ndarray, np.float64}
