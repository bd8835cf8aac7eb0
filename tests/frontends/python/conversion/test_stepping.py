"""Parts of joined loops: each is recorded once, nothing is taken before its time, and the recording ends."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.one_if import Statement
from primsplit.ir.errors import ConcretizationError

Function = Callable[[Any], Any]


def counted(x: Any) -> Any:
    total = 0.0
    for k in range(20):
        total = total + x[0] * k
        if total > 8.07 * x[2]:
            break
        total = total + x[1]
    return total * (k + 1)


WEIGHTS = [float(k) for k in range(1, 15)]


def ended_early(x: Any, weights: Any) -> Any:
    for weight in weights:
        x = x * 0.9 + 0.01 * weight
        if x < 1.0:
            break
    return x


def through_a_generator(x: Any) -> Any:
    weights = iter(WEIGHTS)
    return ended_early(x, (w for w in weights)) * next(weights, 7.0)


def through_an_iterator(x: Any) -> Any:
    weights = iter(WEIGHTS)
    return ended_early(x, weights) * next(weights, 7.0)


def through_its_pairs(x: Any) -> Any:
    weights = iter(WEIGHTS)
    for number, weight in enumerate(weights):
        x = x * 0.9 + 0.01 * weight + 0.001 * number
        if x < 1.0:
            break
    return x * next(weights, 7.0)


def through_pairs_that_have_a_name(x: Any) -> Any:
    pairs = zip(range(30), WEIGHTS, strict=False)
    for number, weight in pairs:
        x = x * 0.9 + 0.01 * weight + 0.001 * number
        if x < 1.0:
            break
    return x * next(pairs, (7.0, 7.0))[1]


ITERATING = [through_a_generator, through_an_iterator, through_its_pairs, through_pairs_that_have_a_name]


@pytest.mark.parametrize("function", ITERATING, ids=lambda f: f.__name__)
def test_what_comes_from_an_iterator_is_not_taken_before_its_time(function: Function) -> None:
    program = ps.trace(function, 3.0)
    for x in (3.0, 1.0, 30.0):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)


def test_a_loop_without_end_is_refused_at_its_line() -> None:
    def endless(x: Any) -> Any:
        while x > 1:
            x = 0.5 * x
        return x

    with pytest.raises(ConcretizationError, match="while x > 1") as refused:
        ps.grad(endless)(9.0)
    assert "ps.while_loop" in str(refused.value)


def fitted(x: Any) -> Any:
    value, last = x, -np.inf
    while True:
        value = 0.5 * value + x
        if abs(value - last) < 1e-6:
            break
        last = value
    return value


def tallied(x: Any) -> Any:
    taken = 0
    while x > 1:
        x = 0.5 * x
        taken += 1
    return x * taken


def branching_on_another(x: Any) -> Any:
    n = 27
    while x > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        if n > 100:
            n = n - 1
        x = x * 0.9
    return x * n


@pytest.mark.parametrize("function", [fitted, tallied, branching_on_another], ids=lambda f: f.__name__)
def test_a_loop_that_nothing_but_its_numbers_ends_is_refused_after_few_steps(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took a thousand steps, and then all the paths that leave the first sixty."""
    steps, joined = itertools.count(), Statement.joined  # a list would be noted as what the loop changes

    def counted(statement: Any, test: Any) -> Any:
        next(steps)
        return joined(statement, test)

    monkeypatch.setattr(Statement, "joined", counted)
    with pytest.raises(ConcretizationError, match="give it a most number of steps"):
        ps.trace(function, 9.0)
    assert next(steps) < 10


def test_loops_are_ended_by_what_python_counts_in_names_lists_and_objects() -> None:
    class Counter:
        count = 0

    def fitted(x: Any) -> Any:
        value, seen, counter, total = x, [], Counter(), 0
        while True:
            value, total = 0.5 * value + x, total + 1
            counter.count = counter.count + 1
            seen.append(total)
            if abs(value - 2 * x) < 1e-6 * x:
                break
            if counter.count == 20 or len(seen) == 20:
                break
        return value * len(seen)

    program = ps.trace(fitted, 9.0)
    for x in (9.0, 0.0, -1.0):
        np.testing.assert_allclose(program(x), fitted(x), rtol=1e-12)


def resampled(particles: Any, weights: Any) -> Any:
    """Systematic resampling: a `while` that the cumulated weights end, or else the length of the array."""
    count = len(weights)
    if 1.0 / (weights @ weights) < count / 1.05:
        cumulated, indexes, index = np.cumsum(weights), [], 0
        for k in range(count):
            while (k + 0.37) / count > cumulated[index]:
                index += 1
            indexes.append(index)
        particles, weights = particles[indexes], np.full(count, 1.0 / count)
    return np.sum(particles * weights * np.arange(1.0, count + 1))


def test_a_while_that_only_the_end_of_an_array_ends_is_recorded_up_to_there() -> None:
    """A particle filter of six particles recorded 943 paths, and was refused for a branch that could raise."""
    rng = np.random.default_rng(4)
    particles, step = rng.normal(size=6), 1e-6 * np.eye(6)
    derivative = ps.value_and_grad(resampled)
    skewed = [w / w.sum() for w in rng.uniform(size=(4, 6)) ** 3]
    for weights in (*skewed, np.full(6, 1 / 6)):
        value, slope = derivative(particles, weights)
        np.testing.assert_allclose(value, resampled(particles, weights), rtol=1e-12)
        central = [(resampled(particles + e, weights) - resampled(particles - e, weights)) / 2e-6 for e in step]
        np.testing.assert_allclose(slope, central, rtol=1e-6, atol=1e-9)


def test_a_run_in_which_the_loop_reads_beyond_the_array_fails() -> None:
    particles, weights = np.arange(6.0), np.array([0.8, 0.01, 0.01, 0.01, 0.01, 0.01])
    program = ps.trace(resampled, particles, np.arange(6.0))
    with pytest.raises(IndexError):
        resampled(particles, weights)
    with pytest.raises(Exception, match="out of bounds"):
        program(particles, weights)
