"""`ps.cached` forgets and counts as `functools.lru_cache` does, in traces and on arrays."""

import functools
import gc
import random
import weakref
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError


def powers(x: Any, power: int = 2) -> Any:
    return np.sum(x**power)


@pytest.mark.parametrize("maxsize", [0, 1, 2, 3, None, -1])
def test_calls_on_arrays_are_counted_as_by_lru_cache(maxsize: int | None) -> None:
    draw = random.Random(0)
    f, python = ps.cached(powers, maxsize=maxsize), functools.lru_cache(maxsize=maxsize)(lambda n: n)
    for _ in range(20):
        n = draw.randint(1, 4)
        assert f(np.ones(n)) == n
        python(n)
        assert tuple(f.cache_info()) == tuple(python.cache_info())
        assert (f.statistics.hits, f.statistics.misses) == tuple(python.cache_info())[:2]


def test_uses_in_traces_and_on_arrays_are_uses_of_one_cache() -> None:
    draw = random.Random(1)
    f, python = ps.cached(powers, maxsize=2), functools.lru_cache(maxsize=2)(lambda *key: key)
    for number in range(30):
        n, power, way = draw.randint(1, 3), draw.choice([2, 3]), draw.choice(["trace", "arrays", "gradient"])
        if way == "trace":
            ps.trace(lambda x, p=power, k=number: f(x, power=p) * k, ps.spec("float64", [n]))
        elif way == "arrays":
            assert f(np.ones(n), power=power) == n
        else:
            ps.grad(lambda x, p=power, k=number: f(x, power=p) * k)(np.ones(n))
        python(n, power)
        assert tuple(f.cache_info()) == tuple(python.cache_info())


def test_a_forgotten_recording_is_explained_and_its_program_freed() -> None:
    f = ps.cached(powers, maxsize=1)
    f(np.ones(1))
    (program,) = f.compiled.programs.values()
    freed = weakref.ref(program)
    del program
    f(np.ones(2))
    gc.collect()
    assert freed() is None
    assert len(f.compiled.programs) == 1
    f(np.ones(1))
    assert "forgotten for others: more than maxsize=1" in f.explain_miss()


def test_what_the_function_reads_is_part_of_the_key() -> None:
    table = np.ones(2)
    f = ps.cached(lambda x: x * table, maxsize=1)
    f(np.ones(2))
    table[0] = 5.0
    np.testing.assert_array_equal(f(np.ones(2)), [5.0, 1.0])
    np.testing.assert_array_equal(f(np.ones(2)), [5.0, 1.0])
    assert f.cache_info() == (1, 2, 1, 1)


def test_a_cleared_cache_counts_anew() -> None:
    f = ps.cached(powers, maxsize=4)
    for _ in range(3):
        f(np.ones(2))
    f.cache_clear()
    assert f.cache_info() == (0, 0, 4, 0)
    f(np.ones(2))
    assert f.cache_info() == (0, 1, 4, 1)


@pytest.mark.parametrize("maxsize", [2.5, "many"])
def test_a_limit_that_is_no_whole_number_is_refused(maxsize: Any) -> None:
    with pytest.raises(SpecError, match="maxsize is a whole number, or None"):
        ps.cached(powers, maxsize=maxsize)
