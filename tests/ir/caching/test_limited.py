"""Dictionaries of limited length."""

from primsplit.ir.caching.limited import Limited, Recent


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
