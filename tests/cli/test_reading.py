"""The files that Python opens to read are noted, those that it writes are not."""

import os
from pathlib import Path

import numpy as np

from primsplit.cli.reading import noting


def test_files_that_are_opened_to_read_are_noted(tmp_path: Path) -> None:
    before, read, new = (str(tmp_path / name) for name in ("before", "read.npy", "new.npy"))
    Path(before).write_text("a")
    np.save(read, np.ones(3))
    Path(before).read_text()
    with noting() as outer:
        with noting() as inner:
            np.load(read)
            np.save(new, np.ones(3))
        os.close(os.open(before, os.O_RDONLY))
    Path(new).read_bytes()
    assert inner & {before, read, new} == {read}
    assert outer & {before, read, new} == {before, read}


def test_relative_paths_are_of_the_folder_at_that_time(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "data").write_text("a")
    home = Path.cwd()
    try:
        os.chdir(tmp_path / "inner")
        with noting() as paths:
            Path("data").read_text()
        os.chdir(tmp_path)
    finally:
        os.chdir(home)
    assert str(tmp_path / "inner" / "data") in paths
