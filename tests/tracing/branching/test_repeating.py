"""A function that does something else in each run, past what is undone, is refused where it branches."""

import io
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import TraceError

SPEC = ps.spec("float64", [2])


def of_an_iterator() -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)
    return lambda x: next(numbers) * (x[0] if x[1] > 0 else 2 * x[0])


def behind_the_branch() -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)

    def f(x: Any) -> Any:
        found = x[0] if x[1] > 0 else 2 * x[0]
        return found * next(numbers)

    return f


def of_a_stream() -> Callable[[Any], Any]:
    stream = io.StringIO()

    def f(x: Any) -> Any:
        stream.write("a")
        return (x[0] if x[1] > 0 else 2 * x[0]) * len(stream.getvalue())

    return f


def of_a_metaclass() -> Callable[[Any], Any]:
    class Counting(type):
        made = 0

        def __call__(cls, *args: Any) -> Any:
            Counting.made += 1
            return super().__call__(*args)

    class Point(metaclass=Counting):
        pass

    def f(x: Any) -> Any:
        Point()
        return (x[0] if x[1] > 0 else 2 * x[0]) * Counting.made

    return f


def in_many_branches() -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(20):
            if x[k % 2] > 0.1 * k:
                total = total + x[0]
        return total * next(numbers)

    return f


def without_source() -> Callable[[Any], Any]:
    names: dict[str, Any] = {}
    exec("COUNT = [0]\ndef f(x):\n    COUNT[0] += 1\n    return (x[0] if x[1] > 0 else 2 * x[0]) * COUNT[0]\n", names)
    found: Callable[[Any], Any] = names["f"]
    return found


MAKERS = [of_an_iterator, behind_the_branch, of_a_stream, of_a_metaclass, in_many_branches, without_source]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_not_undone_is_refused_where_it_decides_the_result(make: Callable[[], Callable[[Any], Any]]) -> None:
    with pytest.raises((TraceError, ps.PrimsplitError), match=r"something else when it is run again|Ifs, line"):
        ps.trace(make(), SPEC)


def test_what_is_not_undone_is_harmless_where_it_does_not() -> None:
    numbers = itertools.count()

    def f(x: Any) -> Any:
        next(numbers)
        return x[0] if x[1] > 0 else 2 * x[0]

    program = ps.trace(f, SPEC)
    assert [float(program(np.array([1.0, s]))) for s in (1.0, -1.0)] == [1.0, 2.0]


def test_without_branches_it_is_the_number_of_the_one_run() -> None:
    numbers = itertools.count(3.0)
    program = ps.trace(lambda x: x[0] * next(numbers), SPEC)
    assert program(np.ones(2)) == 3.0
    assert next(numbers) == 4.0


def test_uninitialized_memory_is_the_same_in_each_run() -> None:
    def f(x: Any) -> Any:
        y = np.empty(3)
        y[0], y[1], y[2] = (x[0], 2.0, 3.0) if x[1] > 0 else (1.0, x[0], 3.0)
        return np.sum(y)

    program = ps.trace(f, SPEC)
    assert [float(program(np.array([5.0, s]))) for s in (1.0, -1.0)] == [10.0, 9.0]
