"""Quick forms for finite numbers: the run decides."""

from typing import Any

import numpy as np

import primsplit as ps
from primsplit.frontends.loops.lowering.finite import where_finite
from primsplit.ops import op


def chosen(*arrays: Any) -> Any:
    def f(*xs: Any) -> Any:
        return where_finite(xs, lambda: op.Add(xs[0], np.asarray(1.0)), lambda: op.Add(xs[0], np.asarray(2.0)))

    return ps.trace(f, *arrays)


def test_the_run_takes_the_quick_form_where_all_numbers_are_finite() -> None:
    x, y = np.zeros(2), np.ones(3)
    program = chosen(x, y)
    np.testing.assert_array_equal(program(x, y), [1.0, 1.0])
    for bad in (np.nan, np.inf, -np.inf):
        wrong = np.array([1.0, bad, 2.0])
        np.testing.assert_array_equal(program(x, wrong), [2.0, 2.0])
    assert np.isnan(program(np.array([0.0, np.nan]), y)[1])
    assert program(np.array([0.0, np.nan]), y)[0] == 2.0


def test_a_sum_that_overflows_takes_the_exact_form_too() -> None:
    x = np.full(2, 1e308)
    np.testing.assert_array_equal(chosen(x)(x), x)
    assert "If" in [o.kind for o in chosen(x).block.ops]


def test_integers_are_not_looked_at() -> None:
    def f(i: Any) -> Any:
        return where_finite([i], lambda: op.Add(i, np.int64(1)), lambda: op.Add(i, np.int64(2)))

    program = ps.trace(f, np.arange(2))
    assert [o.kind for o in program.block.ops] == ["Add"]
    np.testing.assert_array_equal(program(np.arange(2)), [1, 2])
