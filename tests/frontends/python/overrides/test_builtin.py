"""Python's functions that compare numbers, or need a size that only the run knows."""

import math
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.7, 1.9, -0.4])


def extremes_of_many(x: Any) -> Any:
    ordered = sorted(x, reverse=True)
    return max(x) * min(v * v for v in x) + ordered[1] ** 2 + sorted(x)[2] + max(0, x[0]) + min(x[1], 0.5)


def extremes_by_keys(x: Any) -> Any:
    by_size = sorted(x, key=abs)
    falling = sorted(x, key=lambda v: np.cos(v), reverse=True)
    nearest = min(range(len(x)), key=lambda i: (x[i] - 0.4) ** 2)
    return max(x, key=lambda v: v * v) * by_size[0] + falling[1] ** 3 + nearest * x[0] + max(x[1], 0.1, key=math.sin)


def warped_distance(x: Any) -> Any:
    """Dynamic time warping: a minimum of three for each pair."""
    n, m = 5, 4
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0.0
    for i in range(n):
        for j in range(m):
            total[i + 1, j + 1] = abs(x[i] - x[5 + j]) + min(total[i, j + 1], total[i + 1, j], total[i, j])
    return total[-1, -1]


@pytest.mark.parametrize("function", [extremes_of_many, extremes_by_keys, warped_distance], ids=lambda f: f.__name__)
def test_extremes_of_python_choose_without_a_branch_where_there_would_be_too_many(function: Any) -> None:
    x = np.random.default_rng(0).normal(size=10)
    check_grads(function, x, symbolic=False, order=1)
    single = ps.trace(function, x.astype(np.float32))
    assert single(x.astype(np.float32)).dtype == function(x.astype(np.float32)).dtype
    assert not any(op.kind == "If" for op in single.block.ops)


def test_the_first_of_equal_extremes_is_chosen() -> None:
    x = np.array([2.0] * 8)
    np.testing.assert_array_equal(ps.grad(lambda x: max(x))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: min(x))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: max(x, key=lambda v: v * v))(x), np.eye(8)[0])
    np.testing.assert_array_equal(ps.grad(lambda x: sorted(x, key=abs, reverse=True)[1])(x), np.eye(8)[1])


def test_extremes_of_sizes_are_sizes() -> None:
    def f(x: Any) -> Any:
        return np.zeros(2).sum() + np.sum(x[: min(len(x), 3)]) * max(len(x), 2)

    made = ps.trace(f, ps.spec("float64", ["N"]))
    for n in (0, 1, 2, 5):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(made(x), f(x))


def picked(x: Any, labels: Any) -> Any:
    """Cross entropy as people write it."""
    logs = x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))
    logs[range(len(x)), labels] *= 2.0
    return -logs[range(len(x)), labels].mean() + len(range(len(x)))


def test_a_range_of_a_size_is_an_index_and_no_loop() -> None:
    made = ps.split(picked, ps.spec("float64", ["N", 3]), ps.spec("int64", ["N"]), wrt="x").joint()
    for n in (1, 4):
        x, labels = np.sin(np.arange(3.0 * n)).reshape(n, 3), np.arange(n) % 3
        value, slope = made(x, labels)
        np.testing.assert_allclose(value, picked(x.copy(), labels))
        np.testing.assert_allclose(slope, ps.grad(picked)(x, labels))
    with pytest.raises(ps.PrimsplitError, match=r"(?s)iteration asks for the size N.*ps\.fori_loop"):
        ps.trace(lambda x: sum(x[i] for i in range(len(x))), ps.spec("float64", ["N"]))


def shifted_sum(*values: Any) -> Any:
    if all(v == -math.inf for v in values):
        return -math.inf
    return max(values) + math.log(sum(math.exp(v - max(values)) for v in values))


def of_many_conditions(x: Any) -> Any:
    total = shifted_sum(x[2], x[0])
    for k in range(5):
        total = shifted_sum(total, x[k % 3], 0.5 * x[(k + 1) % 3])
        if any(v > 0.13 * k for v in x) and not all(v > -0.3 for v in x):
            total = 0.9 * total + x[1]
    return total


def test_all_and_any_of_many_are_one_condition() -> None:
    check_grads(of_many_conditions, X, also_at=[(-X,)], symbolic=False, order=1)


def test_the_larger_of_integers_is_known_where_their_ranges_decide() -> None:
    def f(x: Any) -> Any:
        low, high = 1, 9
        for value in x:
            if value > 0:
                low, high = low + 1, high - 1
        return max(low, 20) * x[0] + min(high, 12, low + 20) * x[1] + max((low, 1), (-8, 2))[1] * x[2]

    program = ps.trace(f, ps.spec("float64", [9]))
    assert len(program.listing().splitlines()) < 200  # of branches that are joined, not of 512 paths
    for x in np.random.default_rng(0).standard_normal((4, 9)):
        assert program(x) == f(x)
