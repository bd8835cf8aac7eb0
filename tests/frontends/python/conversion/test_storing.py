"""Numbers that are stored in lists and dictionaries at places and keys that only the run knows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

POINTS = np.random.default_rng(4).normal(size=(10, 6))


def counted_bins(x):
    bins = [0.0] * 4
    for value in x:
        k = int(np.clip(np.floor(value) + 2, 0, 3))
        bins[k] = bins[k] + value**2
    return sum((k + 1) * b for k, b in enumerate(bins))


def added_to(x):
    loads = [x[0], 0.0, 1.0]
    for value in x[1:]:
        loads[int(np.argmin(np.array(loads)))] += abs(value)
    return loads[0] * loads[1] + loads[2]


def of_tuples(x):
    pairs = [(x[0], 1.0), (x[1], 2.0), (x[2], 3.0)]
    k = int(np.argmax(x[:3]))
    pairs[k] = (x[3] * x[4], pairs[k][1] * 2)
    return sum(a * b for a, b in pairs)


def counted_from_the_end(x):
    held = [x[0], x[1], x[2]]
    held[int(np.argmax(x[:3])) - 3] *= x[3]
    return held[0] + 2 * held[1] + 3 * held[2]


def inside_of_branches(x):
    queues, total = [0.0, 0.0], 0.0
    for value in x:
        k = int(np.argmin(np.array(queues)))
        if value > 0:
            queues[k] += value
        else:
            queues[1 - k] *= 0.5
        total += queues[0] * value
    return total + queues[1]


def of_truth_values(x):
    is_taken, total = [False, False, False], 0.0
    for value in x:
        is_taken[int(np.argmax(x[:3] * value))] = True
        total += sum(v if taken is True else -(v**2) for v, taken in zip(x, is_taken, strict=False))
    return total


def by_a_key(x):
    sums = {"up": 0.0, "down": 1.0, "level": x[0]}
    for value in x:
        key = "up" if value > 0.5 else "down" if value < -0.5 else "level"
        sums[key] = sums[key] * 0.9 + value**2
    return sums["up"] * 2 - sums["down"] * sums["level"]


def added_by_a_key(x):
    sums, counts = {"up": 0.0, "down": 1.0}, {"up": 0, "down": 0}
    for k, value in enumerate(x):
        key = "down"
        if value > x[k - 1]:
            key = "up"
        sums[key] += value**2
        counts[key] += 1
    return sums["up"] / (1 + counts["down"]) - sums["down"] * counts["up"]


def exchanged(x):
    held = [(value, k) for k, value in enumerate(x)]
    for k in range(5):
        j = k + int(np.argmin(np.array([value for value, _ in held[k:]])))
        held[j], held[k] = held[k], held[j]
    return sum((k + 1) * value * i for k, (value, i) in enumerate(held))


def asked_for_in_sides_alone(x):
    seen, total = [False] * 3, 0.0
    for value in x[3:]:
        k = int(np.argmax(np.abs(x[:3] - value)))
        if value > -0.5:
            if seen[k] is False:
                seen[k] = True
                total += value**2
            elif value > 0:
                seen[k] = False
        else:
            total -= value * k
    return total + sum(seen) * x[0]


FUNCTIONS = [
    asked_for_in_sides_alone,
    exchanged, counted_bins, added_to, of_tuples, counted_from_the_end, inside_of_branches, of_truth_values,
    by_a_key, added_by_a_key,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_stored_is_read_where_it_was_stored(function: Callable[..., Any]) -> None:
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    check_grads(function, POINTS[0], symbolic=False, order=1)


def test_a_place_that_is_not_there_fails_the_run() -> None:
    def stored(x):
        held = [x[0], x[1]]
        held[int(np.round(x[2]))] = x[3]
        return held[0] * held[1]

    program = ps.trace(stored, POINTS[0])
    assert program(np.array([2.0, 3, 1, 5, 0, 0])) == 10
    with pytest.raises(ps.errors.PrimsplitError):
        program(np.array([2.0, 3, 2, 5, 0, 0]))


def test_a_key_that_may_not_be_there_is_refused() -> None:
    def stored(x):
        sums = {"up": 0.0}
        for value in x:
            key = "up" if value > 0 else "down"
            sums[key] = value
        return sums["up"]

    with pytest.raises(ps.errors.ConcretizationError, match="without end"):
        ps.trace(stored, ps.spec("float64", [12]))
