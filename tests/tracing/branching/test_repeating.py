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
Chosen = Callable[[Any], Any]


def of_one_type(x: Any) -> Any:
    return x[0] if x[1] > 0 else 2 * x[0]


def of_two_types(x: Any) -> Any:
    """Return an array or a float: such a branch is followed, path by path."""
    return x[0] if x[1] > 0 else 2.0


def of_an_iterator(chosen: Chosen) -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)
    return lambda x: next(numbers) * chosen(x)


def behind_the_branch(chosen: Chosen) -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)

    def f(x: Any) -> Any:
        found = chosen(x)
        return found * next(numbers)

    return f


def of_a_stream(chosen: Chosen) -> Callable[[Any], Any]:
    stream = io.StringIO()

    def f(x: Any) -> Any:
        stream.write("a")
        return chosen(x) * len(stream.getvalue())

    return f


def of_a_metaclass(chosen: Chosen) -> Callable[[Any], Any]:
    class Counting(type):
        made = 0

        def __call__(cls, *args: Any) -> Any:
            Counting.made += 1
            return super().__call__(*args)

    class Point(metaclass=Counting):
        pass

    def f(x: Any) -> Any:
        Point()
        return chosen(x) * Counting.made

    return f


def in_many_branches(chosen: Chosen) -> Callable[[Any], Any]:
    numbers = itertools.count(1.0)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(20):
            if x[k % 2] > 0.1 * k:
                total = total + x[0]
        return total * next(numbers) * chosen(x)

    return f


def without_source(chosen: Chosen) -> Callable[[Any], Any]:
    names: dict[str, Any] = {"chosen": chosen}
    exec("COUNT = [0]\ndef f(x):\n    COUNT[0] += 1\n    return chosen(x) * COUNT[0]\n", names)
    found: Callable[[Any], Any] = names["f"]
    return found


Maker = Callable[[Chosen], Callable[[Any], Any]]
MAKERS = [of_an_iterator, behind_the_branch, of_a_stream, of_a_metaclass, in_many_branches, without_source]


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_not_undone_is_refused_where_it_decides_the_result_of_several_runs(make: Maker) -> None:
    with pytest.raises((TraceError, ps.PrimsplitError), match=r"something else when it is run again|Ifs, line"):
        ps.trace(make(of_two_types), SPEC)


@pytest.mark.parametrize("make", MAKERS[:4])
def test_what_is_not_undone_is_that_of_the_one_run_where_all_branches_are_joined_at_once(make: Maker) -> None:
    program = ps.trace(make(of_one_type), SPEC)
    assert [float(program(np.array([3.0, s]))) for s in (1.0, -1.0)] == [3.0, 6.0]


def test_what_is_not_undone_is_harmless_where_it_does_not() -> None:
    numbers = itertools.count()

    def f(x: Any) -> Any:
        next(numbers)
        return of_two_types(x)

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
