"""Files are written all or none: an earlier one is as it was where a later one cannot be."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import FileError

W = np.random.default_rng(5).standard_normal((40, 30))

BOUND = "primsplit.onnx.save.LARGEST"
"""Above so many bytes the numbers go to another file; tests make it small."""


@pytest.fixture
def made() -> ps.SplitProgram:
    return ps.split(lambda x: np.sum(np.tanh(x @ W) ** 2), ps.spec("float64", ["N", 40]))


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_where_the_second_file_cannot_be_put_the_first_does_not_appear(made: ps.SplitProgram, tmp_path: Path) -> None:
    (tmp_path / "f.backward.onnx").mkdir()
    with pytest.raises(FileError, match=r"f\.backward\.onnx|folder"):
        made.save(str(tmp_path / "f.onnx"), "split")
    assert names(tmp_path) == ["f.backward.onnx"]


@pytest.mark.parametrize(
    ("error", "told"), [(OSError(28, "full"), FileError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_a_file_that_was_put_is_taken_away_where_the_next_one_is_not(
    made: ps.SplitProgram, error: BaseException, told: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def failing(source: str, target: str) -> None:
        if target.endswith("backward.onnx"):
            raise error
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(told):
        made.save(str(tmp_path / "f.onnx"), "split")
    assert names(tmp_path) == []


class Unreadable:
    """Numbers of a file that is gone."""

    dtype = np.dtype(np.float64)
    shape = (40, 30)

    def numpy(self) -> Any:
        raise FileError("cannot read the data of W: it is gone")


@pytest.mark.parametrize("links", [True, False])
def test_an_earlier_pair_is_there_again_where_a_new_one_cannot_be_put(
    made: ps.SplitProgram, links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("f.forward.onnx", "f.backward.onnx"):
        (tmp_path / name).write_text(f"earlier {name}")
    replace = os.replace

    def failing(source: str, target: str) -> None:
        if target.endswith("backward.onnx") and not source.endswith("earlier"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    def refusing(*_: Any, **__: Any) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "replace", failing)
    if not links:
        monkeypatch.setattr(os, "link", refusing)
    with pytest.raises(FileError, match="No space left"):
        made.save(str(tmp_path / "f.onnx"), "split")
    assert names(tmp_path) == ["f.backward.onnx", "f.forward.onnx"]
    for name in names(tmp_path):
        assert (tmp_path / name).read_text() == f"earlier {name}"


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
@pytest.mark.parametrize("bound", [0, 10**9])
def test_numbers_that_cannot_be_read_leave_the_old_files_as_they_were(
    form: Any, bound: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from primsplit.ir import Const
    from primsplit.tracing.array import Array

    monkeypatch.setattr(BOUND, bound)
    old = ["f.onnx", "f.forward.onnx", "f.backward.onnx"]
    for name in old:
        (tmp_path / name).write_bytes(b"old")
    made = ps.split(lambda x: np.tanh(x @ Array(Const(Unreadable()))), ps.spec("float64", ["N", 40]))
    with pytest.raises(FileError, match="it is gone"):
        made.save(str(tmp_path / "f.onnx"), form)
    assert names(tmp_path) == sorted(old)
    assert {p.read_bytes() for p in tmp_path.iterdir()} == {b"old"}


def test_a_folder_that_does_not_exist_is_named(made: ps.SplitProgram, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*nowhere"):
        made.save(str(tmp_path / "nowhere" / "f.onnx"))
