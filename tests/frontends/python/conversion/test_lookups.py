"""Lists and dictionaries that only the run chooses: they are read, and writing to them is refused."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]
TABLE = [[0.1, 0.9], [0.4, 0.6]]


class Pair(NamedTuple):
    """A number and a list."""

    first: float
    rest: list[float]


def two_places(x: Any) -> Any:
    return TABLE[np.argmax(x[:2])][np.argmax(x[1:])] * x[0]


def a_row(x: Any) -> Any:
    row = TABLE[int(x[0] > 0)]
    return row[0] * x[1] + max(row) + min(row) + sum(row) + len(row) + isinstance(row, list)


def a_dictionary(x: Any) -> Any:
    return [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}][int(x[0] > 0)]["a"] * x[1]


def a_named_tuple(x: Any) -> Any:
    pairs = [Pair(1.0, [2.0, 3.0]), Pair(4.0, [5.0, 6.0])]
    return pairs[int(x[0] > 0)].first * x[1] + pairs[int(x[0] > 0)].rest[1]


def traced_rows(x: Any) -> Any:
    rows = [[x[0], 1.0], [x[1], 2.0]]
    first, second = rows[int(x[0] > 0)]
    return first * second + np.array(rows[int(x[0] > 0)]).sum() + np.dot(rows[int(x[0] > 0)], [1.0, 2.0])


def a_copy_is_written_to(x: Any) -> Any:
    rows = [[x[0], 1.0], [x[1], 2.0]]
    copied = list(rows[int(x[0] > 0)])
    copied.append(3.0)
    copied[0] = 1.0
    return sum(copied)


READ = [two_places, a_row, a_dictionary, a_named_tuple, traced_rows, a_copy_is_written_to]
POINTS = [np.array(point) for point in ([1.0, 2.0, 3.0], [-1.0, 2.0, -3.0], [2.0, -1.0, 3.0], [2.0, 3.0, 1.0])]


@pytest.mark.parametrize("function", READ, ids=lambda f: f.__name__)
def test_a_list_that_the_run_chooses_is_read(function: Function) -> None:
    program = ps.trace(function, ps.spec("float64", [3]))
    for x in POINTS:
        np.testing.assert_allclose(program(x), function(x), rtol=1e-14)


def appended(x: Any) -> Any:
    rows = [[x[0]], [x[1]]]
    rows[int(x[2] > 0)].append(9.0)
    return sum(rows[0]) + 2 * len(rows[1])


def put(x: Any) -> Any:
    rows = [[x[0]], [x[1]]]
    rows[int(x[2] > 0)][0] = 9.0
    return rows[0][0] + 2 * rows[1][0]


def added(x: Any) -> Any:
    grid = [[0.0] * 3 for _ in range(3)]
    grid[np.argmax(x)][np.argmin(x)] += x[0]
    return grid[0][0] + 2 * grid[1][2] + 3 * grid[2][0]


def updated(x: Any) -> Any:
    held = [{"a": x[0]}, {"a": x[1]}]
    held[int(x[2] > 0)].update(a=9.0)
    return held[0]["a"] + 2 * held[1]["a"]


@pytest.mark.parametrize("function", [appended, put, added, updated], ids=lambda f: f.__name__)
def test_writing_to_one_that_the_run_chooses_is_refused(function: Function) -> None:
    """What is read of it is a copy: the list itself would stay as it was."""
    with pytest.raises(ps.PrimsplitError):
        ps.trace(function, ps.spec("float64", [3]))


def test_a_list_that_a_branch_chooses_is_written_to() -> None:
    def f(x: Any) -> Any:
        rows = [[x[0]], [x[1]]]
        rows[1 if x[2] > 0 else 0].append(9.0)
        return sum(rows[0]) + 2 * len(rows[1])

    program = ps.trace(f, ps.spec("float64", [3]))
    for x in POINTS:
        np.testing.assert_allclose(program(x), f(x), rtol=1e-14)


NUMBERS = [0.0, 0.3, 0.8, 0.1]
ARRAY = np.array([0.5, 1.5, 2.5, 3.5])


class Held:
    """An object with elements of an array."""

    def __getitem__(self, key: Any) -> Any:
        return ARRAY[key]


HELD = Held()


def a_list_and_an_array(x: Any) -> Any:
    k = int(x > 1)
    return NUMBERS[k] * x + ARRAY[k]


def an_array_and_a_list(x: Any) -> Any:
    return ARRAY[int(x > 1)] * x + NUMBERS[int(x > 1.5)]


def a_list_a_tuple_and_a_row(x: Any) -> Any:
    k = int(x > 1)
    return NUMBERS[k] * x + (1.0, 2.0)[k] * ARRAY.reshape(2, 2)[k][1] * ARRAY.flat[k]


def a_list_and_an_object(x: Any) -> Any:
    k = int(x > 1)
    return NUMBERS[k] * x + HELD[k + 1]


def in_both_sides(x: Any) -> Any:
    k = int(x > 1)
    return NUMBERS[k] * x + ARRAY[k] if x > 0.5 else ARRAY[k + 1] * x + NUMBERS[k]


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for j in range(3):
        k = int(x > j)
        total += NUMBERS[k + j] * ARRAY[k + j] * x
    return total


def stored_in_a_list(x: Any) -> Any:
    k, held = int(x > 1), [x, 2.0, x * x]
    held[k] = ARRAY[k + 1] * NUMBERS[k + 1]
    return held[0] * held[1] * x


def stored_in_an_array(x: Any) -> Any:
    k, out = int(x > 1), np.ones(3)
    out[k] += NUMBERS[k + 1] * x
    return np.sum(out * ARRAY[:3])


ON_ONE_LINE = [
    a_list_and_an_array, an_array_and_a_list, a_list_a_tuple_and_a_row, a_list_and_an_object, in_both_sides, in_a_loop,
    stored_in_a_list, stored_in_an_array,
]  # fmt: skip


@pytest.mark.parametrize("function", ON_ONE_LINE, ids=lambda f: f.__name__)
def test_a_line_looks_up_lists_and_arrays_at_an_index_of_the_run(function: Function) -> None:
    derivative = ps.value_and_grad(function)
    for x in (0.3, 1.2, 2.3):
        h = 1e-6
        expected = function(x), (function(x + h) - function(x - h)) / (2 * h)
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-7)


class Point:
    """An object with a number."""

    def __init__(self, x: Any) -> None:
        self.x = x


def of_points(x: Any) -> Any:
    points = [Point(x), Point(2 * x)]
    for _ in range(12):
        near = points[np.argmin([(p.x - 1) ** 2 for p in points])]
        if near.x < 3:
            points.append(Point(near.x + x))
    return points[-1].x


def of_groups(x: Any) -> Any:
    groups: list[list[Any]] = [[], []]
    for k in range(12):
        groups[int(x > k)].append(k * x)
    return sum(groups[0])


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (of_points, r"^an element of a list with a Point is read at .* at run time\n.*near = points"),
        (of_groups, r"^an element of a list with elements of several lengths, or none is read .*\n.*groups\[int"),
    ],
    ids=["of_points", "of_groups"],
)
def test_a_refusal_says_first_what_the_list_holds(function: Function, first: str) -> None:
    """It is refused where it is read, before paths are followed one by one."""
    with pytest.raises(ps.PrimsplitError, match=first):
        ps.trace(function, ps.spec("float64", []))


COST = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0, (1, 1): 5.0, "a": 3.0, 1: 6.0, (1,): 4.0, (0, "a"): 3.0, (0, 1, 2): 7.0}


def by_an_integer(x: Any) -> Any:
    return {0: 1.5, 1: x[1], 7: 9.0}[int(x[0])] * x[0]


def by_a_truth_value(x: Any) -> Any:
    return {True: x[0] * x[1], False: x[1] ** 2}[x[0] > 1]


def by_a_tuple(x: Any) -> Any:
    i, j = int(x[0]), int(x[1])
    return COST[i, j] * x[0] + COST[(1, j)] * x[1] if x[0] > 0.3 else COST[j, 0] * x[1]


def a_path_back(x: Any) -> Any:
    best = {(i, j): (i - x[0]) ** 2 + j * x[1] for i in range(4) for j in range(4)}
    i, j, total = 3, 3, 0.0
    while i > 0 and j > 0:
        total += best[i, j]
        if best[i - 1, j] < best[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return total


def counted(x: Any) -> Any:
    counts = {0: 0, 1: 0, 2: x[0]}
    for value in x:
        counts[int(value)] += 1
    return counts[0] * x[1] + counts[1] * x[0] + counts[2]


def missing_and_caught(x: Any) -> Any:
    try:
        return {0: x[1]}[int(x[0])] * x[0]
    except IndexError:
        return 9.0
    except KeyError:
        return x[0] ** 2


BY_KEY = [by_an_integer, by_a_truth_value, by_a_tuple, a_path_back, counted, missing_and_caught]


@pytest.mark.parametrize("function", BY_KEY, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore:the derivative by x")
def test_a_dictionary_is_read_by_a_key_of_the_run(function: Function) -> None:
    derivative, h = ps.value_and_grad(function), 1e-6
    for x in np.array([[0.2, 0.3], [1.2, 0.4], [0.6, 1.7], [1.9, 1.3]]):
        expected = [(function(x + step) - function(x - step)) / (2 * h) for step in h * np.eye(2)]
        value, slopes = derivative(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        np.testing.assert_allclose(slopes, expected, rtol=1e-7, atol=1e-8)


def test_a_run_whose_key_is_missing_fails() -> None:
    program = ps.trace(by_an_integer, ps.spec("float64", [2]))
    with pytest.raises(ps.PrimsplitError, match="out of data bounds"):
        program(np.array([3.0, 1.0]))


def of_objects(x: Any) -> Any:
    return {0: HELD, 1: HELD}[int(x)][0] * x


def of_other_keys(x: Any) -> Any:
    return {0: 1.0, 1.5: 2.0}[int(x)] * x


@pytest.mark.parametrize("function", [of_objects, of_other_keys], ids=lambda f: f.__name__)
def test_other_dictionaries_are_not_read_by_a_key_of_the_run(function: Function) -> None:
    with pytest.raises(ps.PrimsplitError, match="a hash was asked"):
        ps.trace(function, ps.spec("float64", []))
