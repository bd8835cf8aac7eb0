"""ONNX files that are run by names: one, or the two of a split."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, FileError, ParseError, ShapeError, SpecError
from primsplit.programs.opened import OpenedFile, OpenedPair

X, W = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])


@pytest.fixture
def split() -> Any:
    return ps.split(lambda x, w: np.tanh(x @ w), ps.spec("float64", ["N", 3]), W)


def test_a_file_is_called_by_names_and_tells_its_types(split: Any, tmp_path: Path) -> None:
    split.program.save(str(tmp_path / "f.onnx"))
    file = OpenedFile(str(tmp_path / "f.onnx"))
    assert {n: str(t) for n, t in file.inputs.items()} == {"x": "float64[N,3]", "w": "float64[3]"}
    assert [*file.outputs] == ["y"]
    np.testing.assert_allclose(file({"x": X, "w": W, "more": X})["y"], np.tanh(X @ W), rtol=1e-14)


def test_two_files_of_a_split_are_called_like_one(split: Any, tmp_path: Path) -> None:
    forward, backward = split.save(str(tmp_path / "f.onnx"), form="split")
    dy = np.array([1.0, 2.0])
    found = OpenedPair(forward, backward)({"x": X, "w": W, "d_y": dy})
    slope = dy * (1 - np.tanh(X @ W) ** 2)
    np.testing.assert_allclose(found["d_w"], slope @ X, rtol=1e-12)
    np.testing.assert_allclose(found["d_x"], slope[:, None] * W, rtol=1e-12)


def test_inputs_that_do_not_fit_are_told_before_the_run(split: Any, tmp_path: Path) -> None:
    split.program.save(str(tmp_path / "f.onnx"))
    file = OpenedFile(str(tmp_path / "f.onnx"))
    file.check({"x": X, "w": W})
    for arrays, kind in (
        ({"x": X}, SpecError), ({"x": X, "w": W, "v": W}, SpecError), ({"x": X, "w": W[:2]}, ShapeError),
        ({"x": X.astype(np.float32), "w": W}, DtypeError), ({"x": X[0], "w": W}, ShapeError),
    ):  # fmt: skip
        with pytest.raises(kind):
            file.check(arrays)
    with pytest.raises(SpecError, match="takes w, which is not given"):
        file({"x": X})


def test_what_is_no_file_or_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    os.mkfifo(tmp_path / "pipe.onnx")
    for name, told in (
        ("none.onnx", "there is no such file"),
        ("", "it is a folder"),
        ("pipe.onnx", "it is no file"),
        ("text.onnx", "is no valid model"),
    ):
        with pytest.raises((FileError, ParseError), match=told):
            OpenedFile(str(tmp_path / name))
