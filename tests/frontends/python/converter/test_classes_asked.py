"""Code that selects by the class of an argument selects as for NumPy's arrays, through every transform."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

X = np.array([1.0, 2.0, 3.0])


def for_anything(x: Any) -> Any:
    return 2 * x


def for_arrays(x: Any) -> Any:
    return 3 * x


TABLE: dict[type, Callable[[Any], Any]] = {np.ndarray: for_arrays, float: lambda x: 5 * x, np.float64: lambda x: 7 * x}


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return for_anything(x)


dispatched.register(np.ndarray, for_arrays)
dispatched.register(float, TABLE[float])


class Dispatching:
    @functools.singledispatchmethod
    def method(self, x: Any) -> Any:
        return for_anything(x)

    @method.register(np.ndarray)
    def _(self, x: Any) -> Any:
        return for_arrays(x)

    @functools.singledispatchmethod
    @classmethod
    def of_class(cls, x: Any) -> Any:
        return for_anything(x)

    @of_class.register(np.ndarray)
    @classmethod
    def _(cls, x: Any) -> Any:
        return for_arrays(x)


class Multiple:
    """Dispatch on all arguments, as packages have it."""

    def __init__(self) -> None:
        self.known: dict[tuple[type, ...], Callable[..., Any]] = {(object,): for_anything, (np.ndarray,): for_arrays}
        self.cache: dict[tuple[type, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        kinds = tuple(map(type, args))
        if kinds not in self.cache:
            self.cache[kinds] = self.find(kinds)
        return self.cache[kinds](*args)

    def find(self, kinds: tuple[type, ...]) -> Callable[..., Any]:
        fitting = [f for key, f in self.known.items() if all(map(issubclass, kinds, key))]
        return fitting[-1]


class Visitor:
    def visit_by_name(self, x: Any) -> Any:
        name = type(x).__name__
        return getattr(self, "visit_" + name, for_anything)(x)

    def visit_ndarray(self, x: Any) -> Any:
        return for_arrays(x)


def picked(x: Any) -> Callable[[Any], Any]:
    return TABLE.get(type(x), for_anything)


def kind(x: Any) -> str:
    return "array" if type(x) is np.ndarray else "other"


def by_bases(x: Any) -> Any:
    return next((TABLE[k] for k in type(x).__mro__ if k in TABLE), for_anything)(x)


def by_error(x: Any) -> Any:
    try:
        return TABLE[type(x)](x)
    except KeyError:
        return for_anything(x)


@functools.lru_cache
def of_kind(kind: type) -> Callable[[Any], Any]:
    return TABLE.get(kind, for_anything)


CHOICES: dict[str, Callable[[Any], Any]] = {
    "singledispatch": dispatched,
    "singledispatchmethod": Dispatching().method,
    "singledispatchmethod of a class": Dispatching.of_class,
    "a partial": functools.partial(dispatched),
    "a table": lambda x: TABLE.get(type(x), for_anything)(x),
    "a table in another function": lambda x: picked(x)(x),
    "a table by __class__": lambda x: TABLE.get(x.__class__, for_anything)(x),
    "membership": lambda x: (for_arrays if type(x) in TABLE else for_anything)(x),
    "is in another function": lambda x: (for_arrays if kind(x) == "array" else for_anything)(x),
    "issubclass": lambda x: (for_arrays if issubclass(type(x), np.ndarray) else for_anything)(x),
    "base classes": by_bases,
    "an error": by_error,
    "a memory": lambda x: of_kind(type(x))(x),
    "several arguments": Multiple(),
    "a name": Visitor().visit_by_name,
}
DOORS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "trace": lambda f: ps.trace(f, ps.spec("float64", [3]))(X),
    "called in a function": lambda f: ps.trace(lambda x: f(x), ps.spec("float64", [3]))(X),
    "jvp": lambda f: ps.jvp(f, (X,), (X,))[1],
    "vjp": lambda f: ps.vjp(f, X)[1](X)[0],
    "vmap": lambda f: ps.vmap(f)(X[None])[0],
    "cached": lambda f: ps.cached(f)(X),
    "checkpoint": lambda f: ps.checkpoint(f)(X),
    "primitive": lambda f: ps.trace(ps.primitive(f), X)(X),
    "split": lambda f: ps.split(f, X).joint()(X, X)[1],
    "grad": lambda f: X * ps.grad(lambda x: np.sum(f(x)))(X),
    "cond": lambda f: ps.trace(lambda x: ps.cond(x[0] > 0, f, for_anything, x), X)(X),
    "scan": lambda f: ps.trace(lambda x: ps.fori_loop(0, 1, lambda _, c: f(c), x), X)(X),
    "grad in a trace": lambda f: X * ps.trace(lambda x: ps.grad(lambda x: np.sum(f(x)))(x), X)(X),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_chosen_by_class_is_what_numpy_would_choose(choice: str) -> None:
    function = CHOICES[choice]
    np.testing.assert_array_equal(function(X), 3 * X)
    for name, door in DOORS.items():
        np.testing.assert_array_equal(door(function), 3 * X, err_msg=name)


def test_a_number_is_dispatched_as_a_float() -> None:
    assert ps.grad(dispatched)(2.0) == 5.0
    assert ps.grad(lambda x: dispatched(x) ** 2)(2.0) == 100.0
    assert ps.trace(dispatched, 2.0)(2.0) == 10.0


def test_a_class_that_is_only_named_in_errors_has_the_function_run_once() -> None:
    runs = []

    def checked(x: Any) -> None:
        if not isinstance(x, np.ndarray):
            raise TypeError("no array but " + type(x).__name__)

    def f(x: Any) -> Any:
        runs.append(1)
        checked(x)
        return 2 * x

    ps.trace(f, X)
    assert runs == [1]
