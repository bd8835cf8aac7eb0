"""A sweep keeps a share of its cases in the default suite and loses none."""

import pytest

from tests.sweeps import kept, tenths

NAMES = [f"test_file.py::test_of[{name}-{dtype}]" for name in "abcdefghijk" for dtype in ("f2", "f4", "f8", "i8")]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_of_neighbours_one_is_kept(count: int) -> None:
    found = kept(NAMES, count)
    for first in range(0, len(NAMES), count):
        assert len(found.intersection(NAMES[first : first + count])) == 1


def test_each_value_of_an_inner_list_is_kept_somewhere() -> None:
    assert {name[-3:-1] for name in kept(NAMES, 4)} == {"f2", "f4", "f8", "i8"}


def test_a_case_that_is_asked_for_alone_runs() -> None:
    assert kept(NAMES[5:6], 4) == {NAMES[5]}


def test_new_cases_at_the_end_change_nothing_before() -> None:
    assert kept(NAMES[:8], 4) == kept(NAMES, 4).intersection(NAMES[:8])


def test_each_tenth_has_an_equal_share_of_each_function() -> None:
    names = [f"test_file.py::{function}[{i}]" for function in ("test_this", "test_that") for i in range(30)]
    found = tenths(names)
    assert list(found) == names
    for function in ("test_this", "test_that"):
        its = [tenth for name, tenth in found.items() if function in name]
        assert [its.count(tenth) for tenth in range(10)] == [3] * 10


def test_functions_of_one_case_are_in_all_tenths() -> None:
    assert {*tenths([f"test_file.py::test_{i}" for i in range(100)]).values()} == {*range(10)}


@pytest.mark.sweep(5)
@pytest.mark.parametrize("case", range(10))
def test_the_mark_leaves_the_others_to_the_slow_tests(case: int, request: pytest.FixtureRequest) -> None:
    named = [request.node.nodeid.replace(f"[{case}]", f"[{i}]") for i in range(10)]
    chosen = request.node.nodeid in kept(named, 5)
    assert chosen == (request.node.get_closest_marker("slow") is None)
