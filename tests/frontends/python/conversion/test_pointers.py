"""Branches after which a name is one of several arrays: reading it reads that one, writing to it writes to that one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

FIVE = np.array([0.61, -0.34, 0.92, 0.27, -0.71])
WEIGHTS = np.arange(3.0)


class Held:
    def __init__(self, old, new):
        self.old, self.new = old, new


def exchanged(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a, b = b, a
        total = total + np.sum(a * WEIGHTS) * value
        if total > 2:
            break
        b = b * 0.5
    return total + b[0]


def exchanged_and_written_to(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    first = a
    for value in x:
        if value > 0:
            a, b = b, a
        a[0] = value
        b[1] += a[0]
        total = total + np.sum(a * WEIGHTS) * value + b[0] + first[0] * first[1]
    return total


def sorted_rows(x):
    rows = [x[i : i + 2] * 1.0 for i in range(4)]
    for i in range(3):
        for j in range(3 - i):
            if rows[j][0] > rows[j + 1][0]:
                rows[j], rows[j + 1] = rows[j + 1], rows[j]
        rows[i][1] = rows[i][1] * 0.5
    return sum((k + 1) * np.sum(row * row) for k, row in enumerate(rows))


def two_buffers(x):
    held, total = Held(x[:3] * 1.0, np.zeros(3)), 0.0
    for value in x:
        held.new[:] = held.old * value
        if value > 0:
            held.old, held.new = held.new, held.old
        total = total + np.sum(held.old)
    return total


def best_so_far(x):
    best, least = x[:3] * 1.0, 1e9
    for value in x:
        found = best * value + 0.1
        if np.sum(found) < least:
            best, least = found, np.sum(found)
        found[0] = 5.0 * value
        best[2] = best[2] * 0.9
    return np.sum(best**2) + least


def another_name_for_one(x):
    a, total = x[:3] * 1.0, 0.0
    for value in x:
        b = a * 0.5
        if value > 0:
            b = a
        b[0] = value
        total = total + np.sum(a) * value + b[1]
    return total


def rotated(x):
    a, b, c, total = x[:3] * 1.0, x[1:4] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a, b, c = b, c, a
        elif value > -0.5:
            c, a = a, c
        a[0] += value
        c[1] *= value
        total = total + a @ b - c[0]
    return total


def of_a_pair(x):
    pair = x[:3] * 1.0, x[2:] * 2.0
    for value in x:
        if value > 0:
            pair = pair[1], pair[0]
        pair = pair[0] * 0.9, pair[1]
    return np.sum(pair[0]) - pair[1][0]


def seen_through_views(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    view = a[1:]
    for value in x:
        chosen = a if value > 0 else b
        part = chosen[1:]
        part[0] = value
        part *= 0.5
        total = total + np.sum(view) * value - b[0] * b[1]
    return total


def rows_of_a_matrix(x):
    matrix, total = np.outer(x, x[:3] + 1), 0.0
    for i in range(4):
        row = matrix[i]
        if matrix[i, 0] > matrix[i + 1, 0]:
            row = matrix[i + 1]
        row[1] = x[i]
        total = total + np.sum(matrix) * x[i]
    return total + np.sum(matrix**2)


def written_to_in_a_side(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        chosen = a if value > 0 else b
        if value < 0.5:
            chosen[0] = value
        else:
            chosen += 1
        total = total + np.sum(a) * value + b[0]
    return total


def inside_of_another_branch(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0:
            if value > 0.6:
                a, b = b, a
            else:
                a = a * 0.5
        elif value < -0.5:
            b = a + 1
        total = total + np.sum(a * b) * value
        a[1] += 0.1
    return total + b[0]


def in_a_dictionary(x):
    held, total = {"a": x[:3] * 1.0, "b": x[2:] * 2.0}, 0.0
    for value in x:
        if value > 0:
            held["a"], held["b"] = held["b"], held["a"]
        held["a"] = held["a"] * value
        held["b"][0] += value
        total = total + np.sum(held["a"]) - held["b"] @ held["b"]
    return total


def by_a_function(x):
    def ordered(p, q):
        if p[0] > q[0]:
            return q, p
        return p, q

    a, b, c, d = x[:2] * 1.0, x[1:3] * 1.0, x[2:4] * 1.0, x[3:] * 1.0
    a, b = ordered(a, b)
    c, d = ordered(c, d)
    a, c = ordered(a, c)
    b, d = ordered(b, d)
    b, c = ordered(b, c)
    b[1] = b[1] * 3
    return np.sum(a) + 2 * np.sum(b) + 3 * np.sum(c) + 5 * np.sum(d)


def of_other_sizes(x):
    a, b, total = x[:3] * 1.0, x[1:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a, b = b, a
        total = total + np.sum(a) * value
    return total


def known_at_first(x):
    sums, total = np.zeros(3), 0.0
    same = sums
    for value in x:
        if value > 0:
            sums = sums + value
        same[0] = same[0] + 2.0
        total = total + np.sum(sums) * value
    return total


def known_and_written_to(x):
    a, b, total = np.zeros(3), np.ones(3), 0.0
    for value in x:
        if value > 0:
            a, b = b, a
        a[0] = 2.5
        b[1] = value
        total = total + np.sum(a) * value + b[0] * a[2]
    return total


def written_under_a_name_and_read_by_another(x):
    a, total = np.cos(x[2:]), 0.0
    for value in x:
        b = a
        if value < 0.1:
            a = np.sin(a)
        else:
            b[1] = value
        total = total + b[0] * 2 - a[1]
    return total


def known_inside_of_another_branch(x):
    a, total = x[:3] * 1.0, 0.0
    held = [a, np.ones(3)]
    for value in x:
        held[1][2] += held[1][0]
        if np.sum(a) < 0.4:
            a = a if value > 0.32 else held[1]
        total = total + np.sum(a * WEIGHTS) + held[1][2]
    return total


def new_under_two_names(x):
    best, now, least, total = x[:3] * 1.0, x[2:] * 1.0, 1e9, 0.0
    for value in x:
        if value > -0.4:
            now = now * value + 0.1
            if np.sum(now) < least:
                best, least = now, np.sum(now)
        now[0] = 5.0 * value
        best[2] = best[2] * 0.9
        total = total + np.sum(best * WEIGHTS) * value + now[2]
    return total + least


def new_under_other_names_in_each_side(x):
    a, b, c, total = x[:3] * 1.0, x[1:4] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0.5:
            a = b * value
            b = a
        else:
            c = a = b - c
        a[0] += value
        b[1] *= value
        c[2] = a[2] - value
        total = total + a @ b - c[0]
    return total


def new_under_a_name_and_in_a_list(x):
    held, last, total = [x[:3] * 1.0, x[2:] * 2.0], x[1:4] * 1.0, 0.0
    for value in x:
        if value > 0:
            last = held[0] * value
            held[1] = last
        else:
            held[0] = held[1] + 1
        last[0] = value
        held[1][2] += last[1]
        total = total + np.sum(held[0] * WEIGHTS) + held[1] @ last
    return total


def new_until_a_loop_ends(x):
    now, best, least = x[:3] * 1.0, x[:3] * 1.0, 1e9
    for value in x:
        found = now * value + np.cos(value)
        now = found
        if np.sum(now) < least:
            best, least = now, np.sum(now)
        if np.sum(now) > 2.6:
            break
    best[0] = 3 * best[0]
    return np.sum(best * WEIGHTS) + now[0] * now[1] + least


def new_and_of_known_numbers(x):
    a, b, total = x[:3] * 1.0, x[2:] * 1.0, 0.0
    for value in x:
        if value > 0:
            a = np.ones(3)
            b = a
        b[0] = value
        total = total + np.sum(a * WEIGHTS) * value + a[0] * b[1]
    return total


def new_and_complex(x):
    a, b, total = x[:3] * 1j, x[2:] + 0j, 0.0
    for value in x:
        if value > 0:
            a = b * (1 + value * 1j)
            b = a
        b[0] = value
        total = total + np.sum(a * WEIGHTS).imag * value + np.abs(a[0] * b[1])
    return total


def both_written_to(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a[0] = value
            a, b = b, a
        else:
            b[1] = value
        total = total + np.sum(a) * value + b[0]
    return total


def written_to_under_two_names(x):
    a, total = x[:3] * 1.0, 0.0
    b = a
    for value in x:
        if value > 0:
            a = a * value
            b[0] += value
        a[1] += 0.1
        if value > -0.5:
            b[2] = a[0]
            a[0] = 0.3
        total = total + a @ b
    return total


def written_to_through_views(x):
    a, total = x[:4] * 1.0, 0.0
    front, back = a[:2], a[2:]
    for value in x:
        if value > 0:
            front[0] = value
            total = total + np.sum(a)
        else:
            back *= value
            a[0] -= front[1]
        total = total + front @ back - a[0]
    return total


def written_to_through_views_of_one_of_several(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    part = a[1:]
    for value in x:
        chosen = a if value > 0 else b
        if value < 0.4:
            chosen[1] = value
            part[1] += b[1]
        else:
            part *= 0.9
            b += a
        total = total + np.sum(chosen * WEIGHTS) + part @ b[1:]
    return total


def written_to_and_given_another(x):
    a, total = x[:3] * 1.0, 0.0
    b = a
    for value in x:
        if value > 0:
            a[0] = value
            a = a * 2.0
            a[1] = b[0]
        else:
            b = a + 1
            b[2] = value
        total = total + a @ b
    return total


def written_to_in_branches_inside_of_another(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > -0.6:
            if value > 0.3:
                a, b = b, a
                a[0] = value
            else:
                b[1] = a[0]
            a[2] = b[1] * value
        total = total + np.sum(a * WEIGHTS) * value + b[0]
    return total


def left_in_a_list_and_written_to(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    held, c = [a, b], x[1:4] * 1.0
    for value in x:
        if np.sum(b) > np.sum(a):
            b[1] = value
            c = a
            held[1] = a
        else:
            c[1] = value * 2
        total = total + np.sum(a * WEIGHTS) * value + b[0] * c[1] + held[1] @ held[0]
    return total


def complex_and_written_to(x):
    a, total = x[:3] + 1j * x[2:], 0.0
    b = a
    for value in x:
        if value > 0:
            a[0] = value * 1j
            a = a * (1 + value * 1j)
        else:
            b[1] += value
            a *= 0.5j
        total = total + np.abs(a @ b) ** 2
    return total


def known_complex_and_written_to(x):
    sums, total = np.zeros(3, complex), 0.0
    for k, value in enumerate(x):
        if value > 0:
            sums[k % 3] = value + 1j
        sums *= np.exp(0.1j * value)
        if value < 0:
            sums = sums * 2
        total = total + np.sum(sums * WEIGHTS).imag
    return total


def without_axes(x):
    a, b, total = np.zeros(()), np.ones(()), 0.0
    for value in x:
        if value > 0:
            a, b = b, a
        a += value
        b *= 0.5
        total = total + a * value - b
    return total


def new_without_axes(x):
    best, now, total = np.asarray(x[:1] * 3).reshape(()), np.asarray(x[1:2] * 3).reshape(()), 0.0
    for value in x:
        if value > -0.5:
            now = np.reshape(x[:1] * value, ())
            if value < 0.4:
                best = now
        now += value
        total = total + best * value + now
    return total


def number_or_without_axes(x):
    best, least, total = 9.0, 9.0, 0.0
    for value in x:
        found = np.reshape(x[:1] * value, ())
        if found < least:
            best, least = found, found * 1.0
        total = total + best * value
    return total + best


FOLLOWED = [
    exchanged, exchanged_and_written_to, sorted_rows, two_buffers, best_so_far, another_name_for_one, rotated,
    of_a_pair, seen_through_views, rows_of_a_matrix, written_to_in_a_side, inside_of_another_branch, in_a_dictionary,
    by_a_function, of_other_sizes, known_at_first, known_and_written_to, written_under_a_name_and_read_by_another,
    known_inside_of_another_branch, new_under_two_names, new_under_other_names_in_each_side,
    new_under_a_name_and_in_a_list, new_until_a_loop_ends, new_and_of_known_numbers, new_and_complex, both_written_to,
    written_to_under_two_names, written_to_through_views, written_to_through_views_of_one_of_several,
    written_to_and_given_another, written_to_in_branches_inside_of_another, left_in_a_list_and_written_to,
    complex_and_written_to, known_complex_and_written_to, without_axes, new_without_axes, number_or_without_axes,
]  # fmt: skip


@pytest.fixture
def _few_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five numbers are 32 paths, which are more than are followed."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 4)


@pytest.mark.sweep(3)
@pytest.mark.usefixtures("_few_paths")
@pytest.mark.parametrize("function", FOLLOWED)
def test_a_name_that_is_one_of_several_arrays_is_what_it_is_in_python(function: Callable[..., Any]) -> None:
    check_grads(function, FIVE, symbolic=False, order=1)
    program = ps.trace(function, FIVE)
    for x in (-FIVE, FIVE[::-1].copy(), FIVE * 2.5, FIVE**2, np.roll(FIVE, 2)):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)


def test_the_best_of_many_steps_is_kept() -> None:
    def kept(x):
        best, sums = x * 1.0, np.zeros(3)
        for i in range(70):
            found = np.sin((i + 1) * x)
            if np.sum(found) > np.sum(best):
                best = found
                sums = sums + best
        return np.sum(best * WEIGHTS) + np.sum(sums)

    check_grads(kept, np.array([0.3, 0.8, -0.4]))


def nelder_mead(x):
    corners = [x, *(x + 0.3 * np.eye(3))]
    values = [np.sum(np.cosh(c)) for c in corners]
    for _ in range(3):
        for i in range(3):
            for j in range(3 - i):
                if values[j] > values[j + 1]:
                    values[j], values[j + 1] = values[j + 1], values[j]
                    corners[j], corners[j + 1] = corners[j + 1], corners[j]
        middle = sum(corners[:3]) / 3
        found = 2 * middle - corners[3]
        if np.sum(np.cosh(found)) < values[2]:
            corners[3], values[3] = found, np.sum(np.cosh(found))
        else:
            found = (middle + corners[3]) / 2
            if np.sum(np.cosh(found)) < values[3]:
                corners[3], values[3] = found, np.sum(np.cosh(found))
            else:
                for i in range(1, 4):
                    corners[i] = (corners[0] + corners[i]) / 2
                    values[i] = np.sum(np.cosh(corners[i]))
    return values[0] + corners[0][1]


@pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")
def test_arrays_that_are_exchanged_again_and_again_are_each_looked_at_once() -> None:
    """Each may be one of others, which may be one of others before: there are more ways back than can be gone."""
    program = ps.trace(nelder_mead, np.ones(3))
    for x in (np.array([0.9, 0.7, -0.5]), np.array([-1.2, 0.1, 2.0])):
        np.testing.assert_allclose(program(x), nelder_mead(x), rtol=1e-12)
    check_grads(nelder_mead, np.array([0.9, 0.7, -0.5]), symbolic=False, order=1)


def of_other_sizes_and_written_to(x):
    a, b, total = x[:3] * 1.0, x[1:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a, b = b, a
        a[0] = value
        total = total + np.sum(a) * value + b[1]
    return total


def new_in_one_branch_inside_of_another(x):
    a, b, c, total = x[:3] * 1.0, x[1:4] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0.5:
            a = b * value
            b = a
        elif value > 0:
            c = a + 1
        else:
            c = a = b - c
        a[0] += value
        b[1] *= value
        c[2] = a[2] - value
        total = total + a @ b - c[0]
    return total


def number_or_without_axes_and_written_to(x):
    best, least, total = 9.0, 9.0, 0.0
    for value in x:
        found = np.reshape(x[:1] * value, ())
        if found < least:
            best, least = found, found * 1.0
        found += 0.1
        total = total + best * value
    return total + best


def number_or_without_axes_and_added_to(x):
    best, least, total = 9.0, 9.0, 0.0
    for value in x:
        found = np.reshape(x[:1] * value, ())
        if found < least:
            best, least = found, found * 1.0
        best += 0.1
        total = total + best * value + found
    return total


def new_and_a_view_of_it(x):
    a, b, total = x[:3] * 1.0, x[2:] * 2.0, 0.0
    for value in x:
        if value > 0:
            a = b * value
            b = a[::-1]
        a[0] = value
        total = total + np.sum(b * WEIGHTS) * value + a[1]
    return total


NOT_FOLLOWED = [
    of_other_sizes_and_written_to, new_in_one_branch_inside_of_another, new_and_a_view_of_it,
    number_or_without_axes_and_written_to, number_or_without_axes_and_added_to,
]  # fmt: skip


@pytest.mark.usefixtures("_few_paths")
@pytest.mark.parametrize("function", NOT_FOLLOWED)
def test_what_is_not_followed_is_right_or_refused(function: Callable[..., Any]) -> None:
    for x in (FIVE, -FIVE):
        try:
            program = ps.trace(function, x)
        except ps.PrimsplitError:
            continue
        np.testing.assert_allclose(program(x), function(x), rtol=1e-12)
