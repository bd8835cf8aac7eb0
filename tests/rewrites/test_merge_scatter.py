"""Sums of scatters are joined: a loop that reads an array element by element has a pullback linear in its length."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(0)


def kinds(function: Callable[[Any], Any], *shape: int | str) -> Counter[str]:
    """Return the number of ops of each kind in the pullback."""
    return Counter(o.kind for o in ps.split(function, ps.spec("float64", shape)).split.pullback.ops)


def weighted(x: Any, count: int) -> Any:
    return sum(x[i] * i for i in range(count))


def neighbours(x: Any, count: int) -> Any:
    return sum(np.sin(x[i]) * x[i - 1] for i in range(count))


def columns(x: Any, count: int) -> Any:
    first, second, third = x[:, 0], x[:, 1], x[:, 2]
    return np.sum(first * second + third * count)


def pieces(x: Any, count: int) -> Any:
    return sum(np.sum(np.sin(x[2 * i : 2 * i + 2]) * i) for i in range(count))


def overlapping(x: Any, count: int) -> Any:
    return sum(np.sum(np.sin(x[i : i + 3]) * i) for i in range(count))


def pairs(x: Any, count: int) -> Any:
    return sum(x[i, i] * x[i + 1, i] for i in range(count))


def tables(x: Any, count: int) -> Any:
    places = np.arange(4).reshape(2, 2)
    return np.sum(np.sin(x[places]) * x[places[::-1]]) * count


@pytest.mark.parametrize("size", [201, "N"])
def test_reading_elements_one_by_one_makes_one_scatter(size: int | str) -> None:
    few = kinds(lambda x: weighted(x, 20), size)
    many = kinds(lambda x: weighted(x, 200), size)
    assert few["ScatterND"] == many["ScatterND"] == 1
    assert many["Add"] == 0
    assert sum(many.values()) <= 10 * sum(few.values())


def test_disjoint_slices_make_one_concat() -> None:
    found = kinds(lambda x: pieces(x, 10), 20)
    assert found["Concat"] == 1
    assert found["Pad"] == found["Add"] == 0


def test_sliding_slices_make_as_many_concats_as_overlap() -> None:
    found = kinds(lambda x: overlapping(x, 30), 40)
    assert (found["Concat"], found["Pad"], found["Add"]) == (3, 0, 2)


def test_columns_read_one_by_one_make_one_scatter() -> None:
    assert kinds(lambda x: columns(x, 1), "N", 4)["ScatterND"] == 1


def test_elements_that_are_all_read_make_one_concat() -> None:
    found = kinds(lambda x: columns(x, 1), "N", 3)
    assert (found["ScatterND"], found["Concat"]) == (0, 1)
    backwards = kinds(lambda x: x[-1] * x[2] + x[0] * x[1], 4)
    assert (backwards["ScatterND"], backwards["Concat"]) == (0, 1)
    twice = kinds(lambda x: x[-1] * x[2] + x[0] * x[1] * x[3] ** 2, 4)
    assert (twice["ScatterND"], twice["Concat"]) == (1, 1)


def test_a_scatter_that_is_used_otherwise_is_left_alone() -> None:
    found = kinds(lambda x: x[0] * 2.0, 4)
    assert (found["ScatterND"], found["Concat"]) == (1, 0)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (weighted, (6,)),
        (neighbours, (6,)),
        (columns, (5, 3)),
        (pieces, (13,)),
        (overlapping, (8,)),
        (pairs, (7, 7)),
        (tables, (4, 3, 2)),
    ],
)
def test_joined_scatters_have_the_same_gradient(function: Callable[[Any, int], Any], shape: tuple[int, ...]) -> None:
    check_grads(lambda x: function(x, 6), random.standard_normal(shape), resize=())


def test_indices_of_several_forms_are_joined() -> None:
    def f(x: Any) -> Any:
        return np.sum(x[[0, 1]] * x[[1, 1]] * x[2]) * x[np.array([[0, 1], [1, 2]])].sum() * x[np.argmax(x[:, 0])].sum()

    check_grads(f, random.standard_normal((4, 4)))
