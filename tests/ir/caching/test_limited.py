"""Dictionaries of limited length."""

import sys

from primsplit.ir.caching.limited import Limited, Recent
from tests.threads import in_threads


def test_the_entry_that_has_no_room_is_the_only_one_afterwards() -> None:
    kept: Limited[str, int] = Limited(2)
    kept["a"], kept["b"] = 1, 2
    kept["c"] = 3
    assert kept == {"c": 3}


def test_an_entry_that_is_set_again_makes_nothing_forgotten() -> None:
    kept: Limited[str, int] = Limited(2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    assert kept == {"a": 3, "b": 2}


def test_the_entry_that_was_used_longest_ago_makes_room() -> None:
    kept: Recent[str, int] = Recent(2)
    kept["a"], kept["b"] = 1, 2
    assert kept.used("a") == 1
    kept["c"] = 3
    assert list(kept.items()) == [("a", 1), ("c", 3)]
    assert kept.used("b") is None


def test_threads_find_their_entries_or_none() -> None:
    kept: Recent[int, int] = Recent(2)
    found: set[tuple[int, int | None]] = set()

    def work(i: int) -> None:
        for k in range(30_000):
            key = (i + k) % 5
            kept[key] = key
            found.add((key, kept.used(key)))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(before)
    assert {value for key, value in found if value != key} <= {None}
