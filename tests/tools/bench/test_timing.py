"""Ratios are those of rounds, and alternatives take turns."""

import pytest

from tools.bench.timing import ratios, summary, take_turns


def test_a_ratio_is_taken_in_each_round() -> None:
    found = ratios([2.0, 40.0, 6.0], [1.0, 10.0, 2.0])
    assert (found.least, found.median, found.low, found.high) == (2.0, 3.0, 2.0, 4.0)


def test_rounds_of_different_number_are_refused() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        ratios([1.0, 2.0], [1.0])


def test_one_round_is_all_of_its_quartiles() -> None:
    found = summary([3.0])
    assert (found.least, found.low, found.median, found.high) == (3.0, 3.0, 3.0, 3.0)


def test_alternatives_take_turns() -> None:
    order: list[str] = []
    found = take_turns({name: lambda name=name: order.append(name) for name in "ab"}, rounds=3, budget=0.0)
    assert order == [*"aabb", *"ab" * 3]
    assert [len(samples) for samples in found.values()] == [3, 3]
