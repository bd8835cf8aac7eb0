"""The integer of a traced value: what a guard's arrays say, and the range in which a run has it."""

import math
import pathlib
import statistics
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError, RunError
from tests.tracing.branching.differences import slopes


def _by_cell(x, n):
    """A piece for each whole part of the first number, which is negative too."""
    cell = int(3 * x[0])
    return np.sum(x) ** 2 * cell + n * x[0]


def _by_count(x, n):
    positive = np.flatnonzero(x > 0)
    total = 0.0 * n
    for place in range(len(positive)):
        total = total + (place + 1) * x[positive[place]] ** 2
    return total


def _by_place(x, n):
    return [np.sum(x**2), x[0] * x[1], np.sum(np.sin(x))][np.argmax(x)] + {1: 0.0, 2: x[1]}[int(n)]


@pytest.mark.parametrize("function", [_by_cell, _by_count, _by_place])
def test_a_whole_number_asked_of_a_traced_value_is_guarded(function, tmp_path: pathlib.Path) -> None:
    gradient, second = ps.grad(function, branches="guard"), ps.hessian(function, branches="guard")
    points = [np.array([0.5, -1.5, 0.25]), np.array([-0.5, 0.75, 0.9]), np.array([0.1, -0.2, -0.3])]
    cases = [(x, np.int64(n)) for x in points for n in (1, 2)]
    wanted = [slopes(lambda x, n=n: function(x, n), x)[0] for x, n in cases]
    for (x, n), expected in zip(cases, wanted, strict=True):
        np.testing.assert_allclose(gradient(x, n), expected, rtol=1e-6, atol=1e-9)
        columns = [(gradient(x + h, n) - gradient(x - h, n)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(second(x, n), np.stack(columns, 1), rtol=1e-6, atol=1e-8)
    made = gradient.statistics.misses
    ps.export_guarded(gradient, tmp_path / "f.onnx")
    file = ps.load(tmp_path / "f.onnx")
    for (x, n), expected in zip(cases, wanted, strict=True):
        np.testing.assert_allclose(file(x, n), expected, rtol=1e-6, atol=1e-9)
        gradient(x, n)
    assert gradient.statistics.misses == made
    with pytest.raises(RunError):
        file(np.array([7.0, 8.0, 9.0]), np.int64(5))


def test_a_number_that_no_array_tells_is_refused_under_a_guard() -> None:
    def kept(x):
        return statistics.fmean([x]) * x

    def of_nothing(x):
        return x * int(x / 0.0)

    def of_a_step(x):
        return ps.fori_loop(0, 3, lambda i, total: total + [x, 2.0 * x, x * x][i], 0.0)

    for function in (kept, of_nothing, of_a_step):
        with pytest.raises(ConcretizationError, match="known only at run time"):
            ps.grad(function, branches="guard")(2.0)


def test_a_number_beyond_int64_is_no_integer_of_a_run() -> None:
    program = ps.trace(lambda x: int(x) * 1.0, 1.5)
    assert program(2.0**62) == 2.0**62
    with pytest.raises(RunError, match="OverflowError"):
        program(1e300)


def test_a_handler_of_python_catches_what_int_raises() -> None:
    def whole_or_less(x: Any) -> Any:
        try:
            return int(x) * 1.0
        except (ValueError, OverflowError):
            return -1.0

    program = ps.trace(whole_or_less, 1.5)
    assert [float(program(x)) for x in (2.5, math.nan, math.inf)] == [2.0, -1.0, -1.0]
