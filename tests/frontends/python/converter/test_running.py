"""While a function is traced, everything that the user, a library or Python owns stays as it is."""

import builtins
import functools
import gc
import math
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps

X = np.array([0.3, 1.7, -0.4])
TABLE = np.arange(6.0) ** 2
SEEN: list[dict[str, Any]] = []
COUNT = 0


def look() -> None:
    SEEN.append(state())


def contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object that a trace might exchange, by their places."""
    if isinstance(value, types.FunctionType):
        yield f"{name}.__code__", value.__code__
        yield from ((f"{name}.default{k}", v) for k, v in enumerate(value.__defaults__ or ()))
        held = [(f"{name}.cell{k}", contents(c)) for k, c in enumerate(value.__closure__ or ())]
        yield from ((n, v) for n, v in held if not isinstance(v, int))  # the functions themselves count
    elif isinstance(value, dict):
        yield from ((f"{name}[{key!r}]", v) for key, v in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{name}[{k}]", v) for k, v in enumerate(value))
    elif hasattr(value, "__dict__") and not isinstance(value, types.ModuleType):
        yield from ((f"{name}.{key}", v) for key, v in vars(value).items())


UNSEEN = {"SEEN", "COUNT", "GONE"}


def state() -> dict[str, Any]:
    """Every name of this module and of the libraries, and what the objects behind them hold, by identity."""
    found: dict[str, Any] = {"excepthook": sys.excepthook, "import": builtins.__import__, "trace": sys.gettrace()}
    found |= {"collector": gc.isenabled(), "objects that it leaves alone": bool(gc.get_freeze_count())}
    waiting: list[tuple[str, Any]] = [(n, v) for n, v in globals().items() if n not in UNSEEN]
    waiting += [(f"{m.__name__}.{n}", v) for m in (np, math, builtins, scipy.special) for n, v in vars(m).items()]
    met: set[int] = set()
    while waiting:
        name, value = waiting.pop()
        found[name] = value
        is_own = getattr(value, "__module__", __name__) == __name__ or isinstance(value, dict | list | tuple)
        if id(value) not in met and is_own and not name.startswith(("__", "@py")):
            met.add(id(value))
            waiting += parts(name, value)
    return found


class Model:
    table = np.arange(5.0)

    def __init__(self) -> None:
        self.weights = np.linspace(0.0, 1.0, 4)
        self.functions = {"sine": math.sin, "own": squared}

    @property
    def size(self) -> float:
        return math.sqrt(float(len(self.weights)))

    def __call__(self, x: Any) -> Any:
        look()
        return self.weights[np.argmax(x)] * self.functions["own"](x[0]) + self.size * self.functions["sine"](x[1])


def squared(x: Any) -> Any:
    look()
    return math.pow(x, 2.0)


@functools.lru_cache
def cached(number: Any, place: Any) -> Any:
    look()
    return TABLE[place] * math.cos(number)


def of_cached(x: Any) -> Any:
    return cached(x[0], np.argmin(x))


def counting() -> Callable[[Any], Any]:
    count = 0

    def f(x: Any) -> Any:
        nonlocal count
        look()
        count += 1
        return math.exp(x[0]) * TABLE[np.argmax(x)]

    return f


def of_globals(x: Any) -> Any:
    global COUNT, GONE  # noqa: PLW0603
    look()
    COUNT += 1
    GONE = 1.0
    del GONE
    return math.sin(x[0]) * TABLE[np.argmax(x)]


def in_containers(x: Any) -> Any:
    look()
    return HELD["functions"][0](x[0]) * HELD["tables"][1][np.argmax(x)]


def many_branches(x: Any) -> Any:
    look()
    total = 0.0
    for k in range(3):
        total = total + math.sin(x[k % 3]) if x[k % 3] > 0.1 * k else total * 0.5
    return total


def of_scipy(x: Any) -> Any:
    look()
    return scipy.special.erf(float_of(x)) + np.array([x[0], x[1]]).sum()


def float_of(x: Any) -> Any:
    look()
    return max(x[0], x[1])


def failing(x: Any) -> Any:
    look()
    if math.sin(x[0]) is None:
        return x
    raise KeyError(x)


HELD: dict[str, Any] = {"functions": [squared, math.cos], "tables": (TABLE, TABLE * 2.0)}
model = Model()
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "an object": model, "a method": model.__call__, "behind a cache": of_cached, "a nonlocal": counting(),
    "globals": of_globals, "containers": in_containers, "branches": many_branches, "SciPy": of_scipy,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_that_others_see_changes_during_a_trace_and_after(name: str) -> None:
    function = FUNCTIONS[name]
    before = state()
    SEEN.clear()
    program = ps.trace(function, X)
    assert SEEN
    for found in (*SEEN, state()):
        assert found.keys() == before.keys()
        assert [n for n, v in found.items() if v is not before[n]] == []
    np.testing.assert_allclose(program(X), function(X), rtol=1e-12)


def test_python_collects_garbage_during_a_trace_if_the_user_lets_it() -> None:
    def choosing(x: Any) -> Any:
        is_on.append(gc.isenabled())
        (gc.disable if wanted == "off" else gc.enable)()  # as another thread may do at any time
        return np.sum(x) if x[0] > 0 else np.sum(x * x)

    was_on, is_on = gc.isenabled(), list[bool]()
    try:
        for wanted, before in (("on", gc.enable), ("off", gc.enable), ("off", gc.disable)):
            before()
            is_on.clear()
            ps.split(choosing, X)
            assert is_on[0] == (before is gc.enable)
            assert gc.isenabled() == (wanted == "on")
    finally:
        (gc.enable if was_on else gc.disable)()


def test_nothing_changes_where_the_function_raises() -> None:
    before = state()
    SEEN.clear()
    with pytest.raises(KeyError):
        ps.trace(failing, X)
    for found in (*SEEN, state()):
        assert [n for n, v in found.items() if v is not before[n]] == []
