"""Python's cycle collector, paused while a program is recorded."""

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from primsplit.ir.collector import lasting, paused


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    was_enabled = gc.isenabled()
    yield
    (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("context", [paused, lasting])
@pytest.mark.parametrize("is_on", [False, True])
def test_collection_is_off_inside_and_as_it_was_after(context: Any, is_on: bool) -> None:
    (gc.enable if is_on else gc.disable)()
    held: AbstractContextManager[None] = context()
    with held:
        assert not gc.isenabled()
        with context():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() == is_on


def test_collection_is_on_again_after_an_error() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="inside"), paused():
        raise ValueError("inside")
    assert gc.isenabled()


def test_new_objects_that_last_are_old() -> None:
    gc.enable()
    with lasting():
        new = [[i] for i in range(100)]
    assert len([o for o in gc.get_objects(generation=2) if any(o is n for n in new[:3])]) == 3
    assert gc.get_freeze_count() == 0
