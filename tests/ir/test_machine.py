"""The cores and threads that this process may use."""

import os
from pathlib import Path

import pytest

from primsplit.ir import machine
from primsplit.ir.errors import SpecError


def test_two_processors_of_one_core_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for processor, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        (tmp_path / str(processor)).write_text(siblings)
    monkeypatch.setattr(machine, "_CORE", str(tmp_path / "{}"))
    for allowed, cores in (({0, 1, 2, 3}, 2), ({0, 2}, 1), ({1, 2}, 2), ({1}, 1), ({8, 9}, 2)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, allowed=allowed: allowed, raising=False)
        assert machine.own_cores() == cores


@pytest.mark.parametrize(("told", "threads"), [("", None), ("1", 1), (" 12 ", 12)])
def test_the_environment_says_how_many_threads_are_wanted(
    told: str, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIMSPLIT_THREADS", told)
    assert machine.wanted_threads() == threads


@pytest.mark.parametrize("told", ["0", "-2", "two", "1.5"])
def test_another_text_in_the_environment_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIMSPLIT_THREADS", told)
    with pytest.raises(SpecError, match="PRIMSPLIT_THREADS is a whole number of at least 1"):
        machine.wanted_threads()


def test_a_system_that_does_not_tell_its_memory_has_what_a_process_can_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process addresses 128 TiB of x86-64's 256."""
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}[name])
    assert machine.memory() == 4096 * 1000

    def silent(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", silent)
    assert machine.memory() == 128 * 1024**4
