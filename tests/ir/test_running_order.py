"""Positions behind those that they need, in order of groups where that is free; cycles."""

from itertools import permutations

import numpy as np
import pytest

from primsplit.ir.running_order import in_order


@pytest.mark.parametrize(
    ("needs", "wanted"),
    [
        ([], []),
        ([set(), set(), set()], [0, 1, 2]),
        ([{2}, set(), set()], [1, 2, 0]),
        ([{1}, {2}, set(), set()], [2, 1, 0, 3]),
        ([{1, 3}, set(), {0}, set()], [1, 3, 0, 2]),
    ],
)
def test_positions_move_behind_those_they_need_and_others_stay(needs: list[set[int]], wanted: list[int]) -> None:
    assert in_order(needs) == wanted


@pytest.mark.parametrize(
    ("needs", "groups", "wanted"),
    [
        ([set(), set(), set()], "aba", [0, 2, 1]),
        ([set(), {0}, {1}, set()], "abaa", [0, 3, 1, 2]),
        ([{3}, set(), set(), set()], "abba", [1, 2, 3, 0]),
        ([set(), set(), set()], ["a", None, "a"], [1, 0, 2]),
    ],
    ids=["together", "as far as needs allow", "one that gets ready", "None first"],
)
def test_positions_of_a_group_stand_together(
    needs: list[set[int]], groups: list[str | None], wanted: list[int]
) -> None:
    assert in_order(needs, groups) == wanted


def test_what_is_in_a_cycle_or_needs_one_is_left_out() -> None:
    assert in_order([{1}, {0}, {1}, set()]) == [3]
    assert in_order([{0}, set(), set()], "aba") == [1, 2]


def test_the_order_is_the_first_of_all_that_can_run() -> None:
    """Of all permutations that keep the needs, the one with the lowest positions first."""
    random = np.random.default_rng(0)
    for _ in range(40):
        rank = random.permutation(5)
        needs = [{int(j) for j in range(5) if rank[j] < rank[i] and random.random() < 0.4} for i in range(5)]
        able = (p for p in permutations(range(5)) if all(p.index(j) < p.index(i) for i in p for j in needs[i]))
        assert in_order(needs) == [*next(able)]
