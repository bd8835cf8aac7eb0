"""Calls of what users write: functions, methods, classes, and what `functools` makes of functions."""

import contextlib
import dataclasses
import functools
import heapq
import operator
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tools.conversion.rows import Row, Section


def leaky(v: Any) -> Any:
    return v if v > 0 else 0.1 * v


def a_function(x: Any) -> Any:
    return leaky(x) * leaky(2 - x)


def a_nested_function(x: Any) -> Any:
    def scaled(v: Any, *, by: Any = x) -> Any:
        return v * by if v > 0 else v

    return scaled(x) + scaled(x, by=3.0)


def a_list_of_arguments(x: Any) -> Any:
    def total(*values: Any, **others: Any) -> Any:
        return sum(leaky(v) for v in [*values, *others.values()])

    return total(*[x, 2 * x], last=x * x)


def lambdas(x: Any) -> Any:
    pair = (lambda v: v * v if v > 0 else v, lambda v: 3 * v)
    return pair[0](x) + pair[1](x)


def power(v: Any, n: int) -> Any:
    return 1.0 if n == 0 else v * power(v, n - 1)


def recursion(x: Any) -> Any:
    return power(x, 3) if x > 0 else power(x, 2)


def halved(v: Any) -> Any:
    return v if v < 1 else halved(0.5 * v)


def recursion_that_the_numbers_end(x: Any) -> Any:
    return halved(x)


class Account:
    """The owner of a method, a property and the like."""

    rate = 0.5

    def __init__(self, value: Any) -> None:
        self.value = value

    def grown(self) -> Any:
        return self.value * (1 + self.rate) if self.value > 0 else self.value

    @property
    def debt(self) -> Any:
        return -self.value if self.value < 0 else 0.0

    @functools.cached_property
    def square(self) -> Any:
        return self.value**2 if self.value > 0 else self.value

    @classmethod
    def doubled(cls, value: Any) -> "Account":
        return cls(2 * value if value > 0 else value)

    @staticmethod
    def capped(value: Any) -> Any:
        return value if value < 1 else 1 + 0.1 * value


def a_method(x: Any) -> Any:
    return Account(x).grown()


def a_property(x: Any) -> Any:
    account = Account(x)
    return account.debt + account.square


def a_method_of_a_class(x: Any) -> Any:
    return Account.doubled(x).value + Account.capped(x)


class Savings(Account):
    """A class that derives from another."""

    def grown(self) -> Any:
        return 2 * super().grown() if self.value > 1 else super().grown()


def an_inherited_method(x: Any) -> Any:
    return Savings(x).grown()


class Dual:
    """A class with operators, elements and iteration of its own."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __add__(self, other: "Dual") -> "Dual":
        return Dual(*(leaky(a + b) for a, b in zip(self.parts, other.parts, strict=True)))

    def __getitem__(self, k: int) -> Any:
        return leaky(self.parts[k])

    def __iter__(self) -> Iterator[Any]:
        return (leaky(p) for p in self.parts)

    def __call__(self, v: Any) -> Any:
        return v if v > 0 else self.parts[0] * v

    def __contains__(self, v: Any) -> bool:
        return any(v == p for p in self.parts)


def operators_of_a_class(x: Any) -> Any:
    return (Dual(x, 2.0) + Dual(x, x)).parts[1]


def elements_of_a_class(x: Any) -> Any:
    found = Dual(x, x * x)
    return found[0] + sum(v for v in found)


def an_object_that_is_called(x: Any) -> Any:
    return Dual(0.2)(x)


def membership_of_a_class(x: Any) -> Any:
    return x if 2.0 in Dual(x, 2.0) else 0.0


class Lazy:
    """A class that computes attributes, and sees them set."""

    def __getattr__(self, name: str) -> Any:
        if name == "scale":
            return 2.0
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, leaky(value))


def attributes_by_methods(x: Any) -> Any:
    lazy = Lazy()
    lazy.value = x
    return lazy.value * lazy.scale


@dataclasses.dataclass
class Step:
    """A dataclass that computes when it is made."""

    size: Any
    limit: Any = 1.0

    def __post_init__(self) -> None:
        if self.size > self.limit:
            self.size = self.limit + 0.1 * self.size


def a_dataclass(x: Any) -> Any:
    return Step(x).size


class Point(NamedTuple):
    """A named tuple."""

    x: Any
    y: Any


def a_named_tuple(x: Any) -> Any:
    p = Point(x, 2.0) if x > 0 else Point(3.0, x)
    return p.x * p.y**2


def a_partial(x: Any) -> Any:
    return functools.partial(np.where, x > 0, x)(0.1 * x) + functools.partial(power, n=2)(x)


@functools.lru_cache
def cached(v: Any) -> Any:
    return v if v > 0 else 0.1 * v


def a_cached_function(x: Any) -> Any:
    return cached(x) + cached(2.0)


@functools.singledispatch
def size(v: Any) -> Any:
    return v if v > 0 else 0.1 * v


@size.register(list)
def size_of_list(v: Any) -> Any:
    return sum(size(each) for each in v)


def single_dispatch(x: Any) -> Any:
    return size([x, x * x])


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(v: Any) -> Any:
        return function(function(v)) if v > 0 else function(v)

    return call


@twice
def shifted(v: Any) -> Any:
    return v * v + 0.5


def a_decorated_function(x: Any) -> Any:
    return shifted(x)


def functions_that_call(x: Any) -> Any:
    total = functools.reduce(lambda a, b: a + leaky(b), [x, x * x, -x])
    return total + sum(map(leaky, [x, -x])) + operator.methodcaller("grown")(Account(x))


def leaking(values: Any) -> Iterator[Any]:
    for v in values:
        if v > 0:
            yield v
        else:
            yield 0.1 * v


def a_generator(x: Any) -> Any:
    return sum(leaking([x, 1 - x]))


def chained(values: Any) -> Iterator[Any]:
    yield 1.0
    yield from leaking(values)


def yield_from(x: Any) -> Any:
    first, *others = chained([x, x * x])
    return first + sum(others)


@contextlib.contextmanager
def scaled_by(v: Any) -> Iterator[Any]:
    yield v if v > 0 else 0.1 * v


def a_context_manager(x: Any) -> Any:
    with scaled_by(x) as scale:
        return scale * x


async def later(v: Any) -> Any:
    return v if v > 0 else 0.1 * v


def a_coroutine(x: Any) -> Any:
    try:
        later(x).send(None)
    except StopIteration as ended:
        return ended.value


def a_text_that_is_evaluated(x: Any) -> Any:
    return eval("x * x if x > 0 else x", {"x": x})


def names_as_a_dictionary(x: Any) -> Any:
    y = x * x
    return locals()["y"] + vars(Account(x))["value"]


class Job:
    """A class that sorts by a comparison of its own."""

    def __init__(self, cost: Any) -> None:
        self.cost = cost

    def __lt__(self, other: "Job") -> Any:
        return self.cost < other.cost


def a_sort_by_methods(x: Any) -> Any:
    first, second = sorted([Job(x), Job(0.5)])
    return first.cost - 2 * second.cost


def a_heap(x: Any) -> Any:
    heap: list[Any] = []
    for v in (x, 0.5, -x):
        heapq.heappush(heap, v)
    return heapq.heappop(heap) + 2 * heapq.heappop(heap)


def a_library_that_asks_for_a_number(x: Any) -> Any:
    return statistics.fmean([x, 2.0])


CALLS = Section(
    "Calls",
    "A function, method or class of yours is converted when it is first called. So is what `functools` makes of one, "
    "and what Python itself calls for an operator, an element, an attribute, a `for` or a `with`.",
    [
        Row("a function", a_function, ifs=2),
        Row("a nested function, its defaults and closure", a_nested_function, ifs=2),
        Row("`*args` and `**kwargs`", a_list_of_arguments, ifs=3),
        Row("lambdas on one line", lambdas, ifs=1),
        Row("recursion", recursion, ifs=1),
        Row(
            "recursion that the numbers end",
            recursion_that_the_numbers_end,
            refused="the branch at line N cannot become one If: a side raises RecursionError",
        ),
        Row("a method", a_method, ifs=1),
        Row("`property`, `cached_property`", a_property, ifs=2),
        Row("`classmethod`, `staticmethod`", a_method_of_a_class, ifs=2),
        Row("an inherited method, `super()`", an_inherited_method, ifs=1),
        Row("operators of a class", operators_of_a_class, ifs=1),
        Row("elements and iteration of a class", elements_of_a_class, ifs=3),
        Row("an object that is called", an_object_that_is_called, ifs=1),
        Row("`in` of a class", membership_of_a_class),
        Row("`__getattr__`, `__setattr__`", attributes_by_methods, ifs=1),
        Row("a dataclass", a_dataclass, ifs=1),
        Row("a named tuple", a_named_tuple, ifs=1),
        Row("`functools.partial`", a_partial),
        Row("`functools.lru_cache`", a_cached_function, ifs=1),
        Row("`functools.singledispatch`", single_dispatch, ifs=2),
        Row("a decorator, `functools.wraps`", a_decorated_function, ifs=1),
        Row("functions that call: `map`, `reduce`, `methodcaller`", functions_that_call, ifs=5),
        Row("a generator", a_generator, ifs=2),
        Row("`yield from`", yield_from, ifs=2),
        Row("`contextlib.contextmanager`", a_context_manager, ifs=1),
        Row("a coroutine", a_coroutine, ifs=1),
        Row("`sorted` by a `__lt__` of yours", a_sort_by_methods, ifs=1),
        Row("`heapq`", a_heap, ifs=1),
        Row(
            "a library that asks for a number", a_library_that_asks_for_a_number, refused="float() was asked of a value"
        ),
        Row("`eval` of a text", a_text_that_is_evaluated, ifs=1),
        Row("`locals`, `vars`", names_as_a_dictionary),
    ],
)
