"""Arrays and tuples that `sorted`, `min` and `max` order by a key that only the run knows."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_grads

POINTS = np.random.default_rng(4).normal(size=(10, 12))


def arrays(x):
    rows = sorted([x[2 * k : 2 * k + 2] for k in range(6)], key=lambda r: r[0] + r[1])
    return sum(k * np.sum(r**2) for k, r in enumerate(rows))


def rows_of_a_matrix(x):
    return sum(k * np.sum(r**2) for k, r in enumerate(sorted(x.reshape(6, 2), key=np.sum, reverse=True)))


def tuples(x):
    found = sorted([(x[2 * k], k, x[2 * k : 2 * k + 2]) for k in range(6)], key=lambda p: p[0], reverse=True)
    return sum((k + 1) * a * i + np.sum(r * r) * k for k, (a, i, r) in enumerate(found))


def least(x):
    total = 0.0
    for k in range(6):
        gap, point = min([(np.sum((x[:2] * k - x[j : j + 2]) ** 2), x[j : j + 2]) for j in range(2, 9)], key=_first)
        total += gap + point[0] * point[1]
    return total


def _first(pair):
    return pair[0]


def written_to(x):
    rows = [x[2 * k : 2 * k + 2] * 1.0 for k in range(5)]
    order = sorted(rows, key=_first)
    order[0][0] = x[11] * 2
    order[1] += 1.0
    order[2] *= order[3]
    max(rows, key=np.sum)[:] = 0.5 * x[:2]
    return sum((k + 1) * np.sum(r**2) + np.prod(o) for k, (r, o) in enumerate(zip(rows, order, strict=True)))


class Beam(NamedTuple):
    score: Any
    state: tuple[Any, Any]


def beams(x):
    held = [Beam(x[0], (x[1], x[2]))]
    for k in range(3, 8):
        new = []
        for beam in held:
            new.append(Beam(beam.score + x[k] * beam.state[0], (beam.state[1], x[k])))
            new.append(Beam(beam.score - x[k] * beam.state[1], (x[k], beam.state[0])))
        held = sorted(new, key=lambda beam: beam.score, reverse=True)[:3]
    return held[0].score * held[-1].state[0]


def all_but_the_largest(x):
    pairs = [(x[2 * k], x[2 * k + 1]) for k in range(5)]
    largest = max(pairs, key=lambda p: p[0] + p[1])
    return sum(a * b for a, b in (p for p in pairs if p is not largest))


@pytest.mark.sweep(2)
@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
@pytest.mark.parametrize("function", [arrays, rows_of_a_matrix, tuples, least, written_to, beams, all_but_the_largest])
def test_the_order_is_that_of_the_run(function: Callable[..., Any]) -> None:
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
    check_grads(function, POINTS[0], symbolic=False, order=1)


def test_arrays_that_are_ordered_again_and_again_are_one_of_the_first() -> None:
    def ordered(x, steps):
        rows = [x[2 * k : 2 * k + 2] * 1.0 for k in range(4)]
        for k in range(steps):
            rows = sorted(rows, key=_first)
            rows[0][:] = rows[0] * 0.5 + x[k]
            rows[-1][1] += rows[1][0]
        return sum((k + 1) * np.sum(row**2) for k, row in enumerate(rows))

    program = ps.trace(lambda x: ordered(x, 4), POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), ordered(x, 4), rtol=1e-12)
    listings = [ps.trace(lambda x, n=n: ordered(x, n), POINTS[0]).listing() for n in (4, 8)]
    assert len(listings[1].splitlines()) < 3 * len(listings[0].splitlines())


def of_an_array_of_elements(x):
    return all_but_the_largest(np.array([x[k] for k in range(12)]))


def both_ends(x):
    rows = [x[2 * k : 2 * k + 2] for k in range(3)]
    least, largest = min(rows, key=np.sum), max(rows, key=np.sum)
    between = [row for row in rows if row is not least and row is not largest]
    ordered = sorted(rows, key=np.sum)
    return np.sum(between[0] ** 2) + (1.0 if ordered[0] is least else 100.0)


def of_those_that_were_chosen(x):
    rows = [x[2 * k : 2 * k + 2] for k in range(4)]
    firsts = [max(rows[:2], key=np.sum), max(rows[2:], key=np.sum)]
    largest = max(firsts, key=np.sum)
    return sum((k + 1.0) * (row is largest) * row[0] for k, row in enumerate(rows))


@pytest.mark.sweep(4)
@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
@pytest.mark.parametrize("function", [of_an_array_of_elements, both_ends, of_those_that_were_chosen])
def test_which_object_was_chosen_is_that_of_the_run(function: Callable[..., Any]) -> None:
    program = ps.trace(function, POINTS[0])
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
