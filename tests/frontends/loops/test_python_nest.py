"""Functions of loops are nests that compute what the functions do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.builder import NestBuilder
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.python_nest import parse_function
from tests.frontends.loops.running import assert_gradients_meet_differences, drawn

OFFSET = 18
Function = Callable[..., Any]


def amulb(C, A, B):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]


def amulb_by_a_local(C, A, B):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            total = 0
            for k in range(A.shape[1]):
                total = total + A[m, k] * B[k, n]
            C[m, n] = total


def amulb_with_n_inside(C, A, B):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
        for k in range(A.shape[1]):
            for n in range(B.shape[1]):
                C[m, n] += A[m, k] * B[k, n]


def amulb_that_makes_its_result(A, B):
    m, k = A.shape
    n = B.shape[1]
    C = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            for h in range(k):
                C[i, j] += A[i, h] * B[h, j]
    return C


def loss(C):
    t = 0.0
    for i in range(len(C)):
        d = C[i] - OFFSET
        t += math.log1p(0.25 * d**2)
    return -2.5 * t


def maxima_of_columns(x):
    y = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] = max(y[j], x[i, j])
    return y


def softmax(x):
    m = -np.inf
    for i in range(len(x)):
        m = max(m, x[i])
    z = 0.0
    for i in range(len(x)):
        z += np.exp(x[i] - m)
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = np.exp(x[i] - m) / z
    return y, m


def first_and_last(x, m):
    half = m - 1
    t = 0.0
    for i in range(half):
        t = t - x[i]
        t = x[half - i] + t
    return t


def scaled(x):
    y = np.zeros_like(x)
    z = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / 2
            z[i, j] = y[i, j] ** 3
            z[i, j] /= 4
    return y, z


def masked_sums(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            if j <= i:
                y[i] += x[j]
            else:
                y[i] -= 2 * x[j]
    return y


def windows(x, k):
    n = len(x) - len(k) + 1
    y = np.zeros(n)
    for i in range(n):
        for a in range(len(k)):
            at = i + a
            y[i] += x[at] * k[a]
    return y


def full_convolution(x, k):
    y = np.zeros(len(x) + len(k) - 1)
    for i in range(len(x)):
        for j in range(len(k)):
            y[i + j] += x[i] * k[j]
    return y


def scattered(y, rows, x):
    for i in range(len(rows)):
        if x[i] > 0:
            y[rows[i]] += x[i]


def leaky(x, y):
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = x[i]
        else:
            y[i] = 0.1 * x[i]


def element_by_steps(x, y):
    for i in range(len(x)):
        a = x[i] * 2
        y[i] = a
        y[i] *= x[i]
        y[i] = y[i] + a
        y[i] /= 3


def stencil(x):
    n = len(x)
    y = np.zeros(n)
    z = np.zeros(n)
    for i in range(n):
        y[i] = x[i] ** 2
    for i in range(1, n - 1):
        z[i] = y[i - 1] - 2 * y[i] + y[i + 1]
    return z


def first_rows(x, n):
    y = np.zeros((n, x.shape[1]))
    for i in range(n):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * i
    return y


def rows_first_then_their_sum(A):
    y = np.zeros((A.shape[0], A.shape[1]))
    s = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i, 0] = 5.0
        for j in range(1, A.shape[1]):
            y[i, j] = A[i, j] ** 2
        for j in range(A.shape[1]):
            s[i] += y[i, j] * A[i, j]
    return s, y


def product_of_all(x):
    p = 1.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            p *= x[i, j]
    return p


def read_before_it_is_added_to(y, x):
    before = y[1]
    y[1] += x[0] ** 2
    y[0] += before * y[1]


def clipped_count(x, low):
    n = 0
    for i in range(len(x)):
        low_here = low if i < 3 else 0.0
        if x[i] > low_here and not x[i] > 1:
            n += 1
    return n


ROWS = np.array([0, 2, 1, 0])
RUN: list[tuple[Function, tuple[Any, ...]]] = [
    (amulb, (drawn(0, 3, 2), drawn(1, 3, 4), drawn(2, 4, 2))),
    (amulb_by_a_local, (drawn(0, 3, 2), drawn(1, 3, 4), drawn(2, 4, 2))),
    (amulb_with_n_inside, (drawn(0, 3, 2), drawn(1, 3, 4), drawn(2, 4, 2))),
    (amulb_that_makes_its_result, (drawn(1, 3, 4), drawn(2, 4, 2))),
    (loss, (OFFSET + drawn(3, 4),)),
    (maxima_of_columns, (drawn(4, 3, 4),)),
    (softmax, (drawn(5, 4),)),
    (scaled, (drawn(23, 2, 3),)),
    (first_and_last, (drawn(24, 5), 4)),
    (masked_sums, (drawn(6, 4),)),
    (windows, (drawn(7, 6), drawn(8, 3))),
    (full_convolution, (drawn(9, 4), drawn(10, 3))),
    (scattered, (drawn(11, 3), ROWS, drawn(12, 4))),
    (leaky, (drawn(13, 5), drawn(14, 5))),
    (element_by_steps, (drawn(15, 4), drawn(16, 4))),
    (stencil, (drawn(17, 6),)),
    (first_rows, (drawn(18, 4, 3), 2)),
    (rows_first_then_their_sum, (drawn(19, 3, 4),)),
    (product_of_all, (drawn(20, 2, 3),)),
    (read_before_it_is_added_to, (drawn(21, 2), drawn(22, 1))),
]


def both_ways(function: Function, arguments: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of the nest, and those of the function itself."""
    nest = parse_function(function)
    given = dict(zip((name for name, _ in nest.arguments), arguments, strict=True))
    copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    returned = function(*copies)
    found = interpret(nest, given)
    if returned is None:
        return found, {name: copies[list(given).index(name)] for name in found}
    return found, dict(zip(found, returned if isinstance(returned, tuple) else (returned,), strict=True))


@pytest.mark.parametrize(("function", "arguments"), RUN, ids=[f.__name__ for f, _ in RUN])
def test_a_nest_computes_what_its_function_does(function: Function, arguments: tuple[Any, ...]) -> None:
    found, expected = both_ways(function, arguments)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("function", "arguments"), RUN, ids=[f.__name__ for f, _ in RUN])
def test_its_reverse_nest_meets_differences(function: Function, arguments: tuple[Any, ...]) -> None:
    nest = parse_function(function)
    given = dict(zip((name for name, _ in nest.arguments), arguments, strict=True))
    assert_gradients_meet_differences(nest, given)


def test_numbers_and_masks_count() -> None:
    found, expected = both_ways(clipped_count, (np.array([0.1, 0.5, 2.0, 0.7, -1.0]), 0.3))
    assert found == expected


def test_amulb_is_one_nest_in_three_spellings() -> None:
    nest = NestBuilder("amulb")
    C, A, B = nest.arrays("C", "A", "B")
    m, n, k = nest.loop("m", A.length(0)), nest.loop("n", B.length(1)), nest.loop("k", A.length(1))
    C[m, n] = nest.combined("add", A[m, k] * B[k, n], k)
    built = nest.finished()
    assert parse_notation("C[m,n] = A[m,k]*B[k,n]") == built == parse_function(amulb)
    assert parse_function(amulb_by_a_local) == built


def test_a_line_knows_its_place_and_its_name() -> None:
    first = amulb_by_a_local.__code__.co_firstlineno
    places = [line.place for line in parse_function(amulb_by_a_local).operations]
    assert places[0] == f"test_python_nest.py:{first + 5} in amulb_by_a_local"
