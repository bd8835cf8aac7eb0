"""While a function is traced with substitutes, another thread sees the names, classes and arrays that it knows."""

import builtins
import importlib.util
import linecache
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import primsplit as ps

PLACES = "import math\nimport numpy as np\nTABLE = np.arange(4.0)\n"
SOURCES = {
    "a table and a list of traced values": PLACES
    + """
def traced(x):
    ask(1), answer()
    return math.sin(x[0]) + np.array([x[0], x[1]]).sum() + TABLE[0]
def plain(): return TABLE, TABLE[1:3], TABLE * 2.0
""",
    "names from modules": """
from math import sin
from numpy import arange, array
TABLE = arange(4.0)
def traced(x):
    ask(1), answer()
    return sin(x[0]) * array([x[0], x[1]]).sum() + TABLE[1]
def plain(): return TABLE, array([1.0])
""",
    "a closure": PLACES
    + """
def made():
    table = np.ones(3)
    def f(x):
        ask(1), answer()
        return math.sin(x[0]) * table[1] + np.array([x[0], x[1]]).sum()
    return f, lambda: (table, table[1:])
traced, plain = made()
""",
    "an import inside of a function": """
def traced(x):
    import math
    ask(1), answer()
    return math.sin(x[0])
def plain():
    import math
    assert type(math) is type(__import__("builtins"))
    return ()
""",
    "functions of Python": PLACES
    + """
def traced(x):
    ask(1), answer()
    return max(x[0], x[1]) * TABLE[1] + sorted([x[0], x[1]])[0] + np.array([x[0], len(x)]).sum()
def plain():
    import builtins
    assert max is builtins.max and len is builtins.len
    return TABLE
""",
    "default values": PLACES
    + """
def traced(x, table=np.arange(4.0), *, other=np.ones(3)):
    ask(1), answer()
    return math.sin(x[0]) * table[1] + other[0]
def plain(): return traced.__defaults__[0], traced.__kwdefaults__["other"]
""",
    "an object that is called": PLACES
    + """
class Model:
    table = np.arange(4.0)
    def __init__(self): self.w = np.arange(3.0)
    @property
    def scaled(self): return self.w * math.sqrt(4.0)
    @staticmethod
    def part(x): return np.array([x[0], x[1]]).sum()
    def __call__(self, x):
        ask(1), answer()
        return math.sin(x[0]) * self.w[1] + self.part(x) + self.table[0] + self.scaled[2]
traced = Model()
def plain(): return traced.w, traced.table, traced.scaled, traced.w[1:2] * 2
""",
    "a frozen dataclass": PLACES
    + """
import dataclasses
@dataclasses.dataclass(frozen=True)
class Model:
    w: object
    def energy(self, x):
        ask(1), answer()
        return math.sin(x[0]) * self.w[1] + np.array([x[0], x[1]]).sum()
model = Model(np.arange(3.0))
traced = model.energy
def plain(): return model.w, model.w * 2
""",
    "a library's functions in a dictionary": PLACES
    + """
TERMS = {"sine": math.sin, "cosine": np.cos}
TABLES = [np.ones(3)]
def traced(x):
    ask(1), answer()
    return TERMS["sine"](x[0]) + TERMS["cosine"](x[1]) + TABLES[0][0]
def plain(): return TABLES[0], TABLES[0][1:]
""",
}
X = np.array([0.3, 1.7])


@contextmanager
def module(source: str) -> Iterator[Any]:
    name = "seen_by_threads"
    spec = importlib.util.spec_from_loader(name, None)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    vars(made).update(ask=queue.SimpleQueue().put, answer=lambda: None)
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), vars(made))
    try:
        yield made
    finally:
        del sys.modules[name], linecache.cache[name]


@contextmanager
def asked_from_a_thread(made: Any, look: Callable[[], object]) -> Iterator[list[Any]]:
    """Whenever the module's `ask` is called, another thread looks; `answer` waits for it."""
    asked, answered, seen = queue.SimpleQueue[int](), queue.SimpleQueue[int](), list[Any]()

    def observe() -> None:
        while asked.get():
            try:
                seen.append(look())
            except (AssertionError, AttributeError, NameError, SystemError, TypeError) as error:
                seen.append(error)
            answered.put(1)

    made.ask, made.answer = asked.put, answered.get
    thread = threading.Thread(target=observe)
    thread.start()
    try:
        yield seen
    finally:
        asked.put(0)
        thread.join()


def classes(found: Any) -> set[type]:
    return {type(v) for v in found} if isinstance(found, tuple) else {type(found)}


@pytest.mark.parametrize("name", SOURCES)
def test_another_thread_sees_its_own_names_and_plain_arrays(name: str) -> None:
    with module(SOURCES[name]) as made:
        expected = made.traced(X)
        names, codes = {}, {id(f): f.__code__ for f in vars(made).values() if hasattr(f, "__code__")}

        def look() -> tuple[set[type], set[str], bool]:
            found = classes(made.plain())
            changed = {n for n in vars(made).keys() | names.keys() if vars(made).get(n) is not names.get(n)}
            changed |= {n for n, f in vars(made).items() if id(f) in codes and f.__code__ is not codes[id(f)]}
            return found, changed, builtins.__import__ is own_import

        own_import = builtins.__import__
        with asked_from_a_thread(made, look) as seen:
            names = dict(vars(made))
            program = ps.trace(made.traced, ps.spec("float64", [2]))
        assert seen, "the function was not traced"
        assert all(type(s) is tuple and s[0] <= {np.ndarray} and not s[1] and s[2] for s in seen), seen
        np.testing.assert_allclose(program(X), expected, rtol=1e-12)


def test_tables_in_objects_that_traced_numbers_index_are_served() -> None:
    with module(
        PLACES + "class Model:\n    def __init__(self): self.w = np.arange(4.0) ** 2\n"
        "    def __call__(self, i): return self.w[i]\ntraced = Model()\n"
    ) as made:
        program = ps.trace(made.traced, ps.spec("int64", []))
        assert [float(program(np.int64(k))) for k in range(4)] == [0.0, 1.0, 4.0, 9.0]
        assert type(made.traced.w) is np.ndarray


def test_functions_that_other_threads_compare_stay_what_they_are() -> None:
    source = (
        PLACES
        + """
def sine(x): return math.sin(x)
TERMS = {"sine": sine}
def traced(x):
    ask(1), answer()
    return TERMS["sine"](x[0]) + sine(x[1])
def plain(): return TERMS["sine"] is sine
"""
    )
    with module(source) as made:
        expected = made.traced(X)
        with asked_from_a_thread(made, made.plain) as seen:
            program = ps.trace(made.traced, ps.spec("float64", [2]))
        assert seen == [True] * len(seen)
        np.testing.assert_allclose(program(X), expected, rtol=1e-12)


COMPARED = {
    "in a dictionary": "TERMS = {'a': sine}\ndef traced(x): return sine(x[0]) + (1.0 if TERMS['a'] is sine else 100.0)",
    "in an object": "class Layer:\n    def __init__(self): self.act = sine\n"
    "    def __call__(self, x): return self.act(x[0]) + (1.0 if self.act is sine else 100.0)\ntraced = Layer()",
    "in a class": "class Layer:\n    act = staticmethod(sine)\n"
    "    def __call__(self, x): return self.act(x[0]) + (1.0 if self.act is sine else 100.0)\ntraced = Layer()",
    "as a key": "NAMES = {sine: 1.0}\ndef traced(x): return sine(x[0]) + NAMES.get(sine, 100.0)",
    "of an object's method": "class Layer:\n    def act(self, x): return math.sin(x[0])\n"
    "    def __init__(self): self.acts = [self.act]\n"
    "    def __call__(self, x): return self.act(x) + (1.0 if self.acts[0] == self.act else 100.0)\ntraced = Layer()",
}


@pytest.mark.parametrize("name", COMPARED)
def test_a_function_is_one_object_by_all_its_names(name: str) -> None:
    with module(PLACES + "def sine(x): return math.sin(x)\n" + COMPARED[name]) as made:
        expected = made.traced(X)
        assert expected < 100
        np.testing.assert_allclose(ps.trace(made.traced, ps.spec("float64", [2]))(X), expected, rtol=1e-12)
