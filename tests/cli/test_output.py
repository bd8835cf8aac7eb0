"""Files appear whole or not at all; tables fit a terminal."""

from pathlib import Path
from typing import BinaryIO

import pytest
from rich.console import Console

from primsplit.cli.output import size_text, table, write_whole


def _half(file: BinaryIO) -> None:
    file.write(b"half")
    raise RuntimeError("interrupted")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="interrupted"):
        write_whole(str(path), _half)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("out.npz", b"old")]


def test_a_written_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "a"), lambda file: file.write(b"new"))  # type: ignore[arg-type]
    (tmp_path / "b").write_bytes(b"new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_sizes_are_told_in_units() -> None:
    assert [size_text(n) for n in (999, 1000, 1_234_567)] == ["999 B", "1 kB", "1.23 MB"]


def test_a_table_in_a_narrow_terminal_breaks_the_columns_that_may_be_broken() -> None:
    name, test, note = "com.microsoft::QMoE", "definitions/test_standard.py", "a note that is as long as notes are"
    made = table(("operator", "status", "tested by", ""), [(name, "definition", test, note)], whole=("tested by",))
    out = Console(width=60)
    with out.capture() as captured:
        out.print(made)
    told = captured.get()
    assert test in told
    assert max(map(len, told.splitlines())) <= 60
    assert "note" in told
