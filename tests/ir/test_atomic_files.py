"""Files appear whole or not at all, and take the place of nothing but files."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

import primsplit as ps
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.errors import FileError


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
    write_whole(str(tmp_path / "a"), lambda file: file.write(b"new"))
    (tmp_path / "b").write_bytes(b"new")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def _write(path: Path) -> None:
    write_whole(str(path), lambda file: file.write(b"new"))


def _export(path: Path) -> None:
    ps.trace(lambda x: x * x, 1.0).save(str(path))


writers = pytest.mark.parametrize("write", [_write, _export])


@writers
def test_a_pipe_is_refused_and_stays_what_it_is(write: Callable[[Path], None], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: it is a device or pipe, not a file"):
        write(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@writers
def test_a_folder_that_is_not_there_is_named(write: Callable[[Path], None], tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*out: there is no folder .*missing.deeper$"):
        write(tmp_path / "missing" / "deeper" / "out")


def test_a_path_of_no_letters_is_shown_in_quotes() -> None:
    with pytest.raises(FileError, match="cannot write '': "):
        write_whole("", lambda file: file.write(b"new"))
    with pytest.raises(FileError, match="cannot write '': "):
        ps.trace(lambda x: x * x, 1.0).save("")


@writers
def test_a_folder_is_refused(write: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="folder: it is a folder"):
        write(tmp_path / "folder")


@writers
def test_what_a_link_names_is_written_and_the_link_stays(write: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").read_bytes() != b"old"


@pytest.mark.parametrize("write", [_write, _export])
def test_a_name_with_a_nul_character_is_refused(write: Callable[[Path], None]) -> None:
    with pytest.raises(FileError, match=r"cannot write .*: a name has no NUL character"):
        write(Path("a\0b"))
