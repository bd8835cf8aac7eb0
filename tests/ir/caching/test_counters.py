"""Counts of work that caches save: a second call of the same program does none."""

import numpy as np

import primsplit as ps
from primsplit.ir.caching.counters import Buffers, Counts, buffers, counts


def test_the_difference_of_two_counts_is_the_work_between_them() -> None:
    assert Counts(5, 7, 2, 9).since(Counts(1, 2, 1, 9)) == Counts(4, 5, 1, 0)
    assert Buffers(5, 80).since(Buffers(2, 16)) == Buffers(3, 64)


def test_a_first_gradient_traces_and_loads_once_and_a_second_one_does_nothing() -> None:
    def own(x: np.ndarray) -> np.ndarray:
        return np.sum(np.cosh(x) * 1.25)

    gradient, x = ps.grad(own), np.array([0.5, 1.0])
    before = counts()
    gradient(x)
    first = counts().since(before)
    assert (first.traces, first.sessions) == (1, 1)
    before = counts()
    gradient(x + 1.0)
    assert counts().since(before) == Counts(0, 0, 0, 0)


def test_a_bound_program_allocates_its_buffers_once() -> None:
    program = ps.trace(lambda x: np.tanh(x), ps.spec("float64", [1000]))
    x = np.ones(1000)
    program(x)
    before = buffers()
    program(x)
    made = buffers().since(before)
    assert made.made >= 1
    assert made.bytes >= 8000
