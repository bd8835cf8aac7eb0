"""Files and arrays that cannot be read, written or run: one clear error in under ten lines, with exit status 1."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from primsplit.cli.failures import describe
from primsplit.ir.errors import SpecError
from primsplit.programs import opened

X = ("--spec", "x:f64[3]")
GOOD = "def loss(x): return (x * x).sum()\n"


@pytest.mark.parametrize("form", ["joint", "split", "functions"])
@pytest.mark.parametrize("where", ["missing/out.onnx", "file/out.onnx", "folder.onnx"])
def test_a_path_that_cannot_be_written_is_told_and_nothing_is_left(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, form: str, where: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    for name in ("folder.onnx", "folder.forward.onnx"):
        (tmp_path / name).mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = primsplit("export", model(GOOD), *X, "--onnx", tmp_path / where, "--form", form)
    assert done.status == 1
    assert done.error.startswith("cannot write ")
    assert len(done.error.splitlines()) < 10
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "model.py"])


def test_a_file_that_is_not_there_or_no_text_is_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    done = primsplit("export", tmp_path / "gone.py")
    assert (done.status, "No such file" in done.error) == (1, True)
    for name, told in (("model.py", "model.py is not Python"), ("model.onnx", "is no valid model")):
        binary = tmp_path / name
        binary.write_bytes(b"\x08\x0a\x00\xff\xfe")
        done = primsplit("export", binary)
        assert done.status == 1
        assert told in done.error
        assert len(done.error.splitlines()) < 10


RUN_ROWS = [
    ("a missing input", {"x": np.ones(3)}, ("bias missing", "the inputs are x, bias")),
    ("an extra input", {"x": np.ones(3), "bias": np.ones(3), "z": np.ones(3)}, ("z unknown",)),
    ("a wrong dtype", {"x": np.ones(3, np.float32), "bias": np.ones(3)}, ("x must be float64, not float32",)),
    ("a wrong number of axes", {"x": np.ones((3, 1)), "bias": np.ones(3)}, ("x must have 1 axes",)),
    ("a wrong size", {"x": np.ones(3), "bias": np.ones(4)}, ("bias has size 4 at axis 0, not N = 3",)),
]


@pytest.mark.parametrize(("name", "arrays", "says"), RUN_ROWS, ids=[r[0] for r in RUN_ROWS])
@pytest.mark.parametrize("kind", ["onnx", "py"])
def test_arrays_that_do_not_fit_a_file_are_told(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    tmp_path: Path,
    name: str,
    arrays: dict[str, Any],
    says: tuple[str, ...],
    kind: str,
) -> None:
    specs = ("--spec", "x:f64[N]", "--spec", "bias:f64[N]")
    path = model("def loss(x, bias): return ((x + bias) * x).sum()\n")
    np.savez(tmp_path / "in.npz", **arrays)
    if kind == "onnx":
        primsplit("export", path, *specs, "--onnx", tmp_path / "loss.onnx")
        done = primsplit("run", tmp_path / "loss.onnx", "--inputs", tmp_path / "in.npz")
    else:
        done = primsplit("run", path, *specs, "--inputs", tmp_path / "in.npz")
    assert done.status == 1
    assert len(done.error.splitlines()) < 10
    for phrase in says:
        assert phrase in done.error


def test_files_that_cannot_be_run_or_read_are_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    done = primsplit("run", tmp_path / "gone.onnx")
    assert (done.status, "there is no such file" in done.error) == (1, True)
    broken = tmp_path / "broken.onnx"
    broken.write_text("not a model")
    done = primsplit("run", broken)
    assert (done.status, "broken.onnx is no valid model" in done.error) == (1, True)
    assert len(done.error.splitlines()) < 10
    (tmp_path / "folder.onnx").mkdir()
    assert "folder.onnx: it is a folder" in primsplit("run", tmp_path / "folder.onnx").error
    latin = os.fsdecode(os.fsencode(tmp_path / "caf") + b"\xe9.onnx")
    with open(latin, "wb"):
        done = primsplit("run", latin)
    assert (done.status, "onnxruntime takes names in UTF-8 alone" in done.error) == (1, True)


def test_an_input_of_a_dtype_that_numpy_lacks_is_told() -> None:
    declared = SimpleNamespace(name="x", type="tensor(float8e8m0)", shape=[3])
    with pytest.raises(SpecError, match=r"x is a tensor.*, which NumPy does not know"):
        opened._type(declared, None)


def test_more_runs_than_anybody_waits_for_are_refused(primsplit: Callable[..., Any]) -> None:
    done = primsplit("bench", "model.onnx", "--runs", 2**70)
    assert (done.status, "--runs" in done.error) == (2, True)


NAMES = [
    ("model.txt", "The name of a Python file ends in .py, that of an ONNX model in .onnx."),
    ("", "cannot read '': No such file"),
]


@pytest.mark.parametrize(("name", "told"), NAMES, ids=["an ONNX model called otherwise", "no name"])
def test_a_file_that_is_called_otherwise_is_told_how(
    primsplit: Callable[..., Any], tmp_path: Path, name: str, told: str
) -> None:
    (tmp_path / "model.txt").write_bytes(b"\x08\x0a\x00\xff\xfe")
    done = primsplit("export", tmp_path / name if name else "")
    assert (done.status, told in done.error) == (1, True)


def test_a_colon_without_a_name_means_the_main_function(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    assert primsplit("export", f"{model(GOOD)}:", *X, "--onnx", tmp_path / "loss.onnx").status == 0


def test_an_answer_that_finds_no_room_is_told_as_such() -> None:
    assert describe(OSError(errno.ENOSPC, "No space left on device")) == (
        "cannot write the answer: No space left on device"
    )


@pytest.mark.sweep(3)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["rules", "Abs"]], ids=" ".join)
def test_a_help_that_finds_no_room_is_told_as_such(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "primsplit", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "cannot write the answer: No space left on device\n")


def test_inputs_that_are_no_arrays_are_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model(GOOD)
    for name, text in (("in.npz", "no archive"), ("in.npy", "no array")):
        (tmp_path / name).write_text(text)
        done = primsplit("run", path, *X, "--inputs", tmp_path / name)
        assert (done.status, "is no .npz or .npy file" in done.error) == (1, True)
    two = model("def loss(x, y): return (x * y).sum()\n", "two.py")
    np.save(tmp_path / "one.npy", np.ones(3))
    done = primsplit("run", two, *X, "--spec", "y:f64[3]", "--inputs", tmp_path / "one.npy")
    assert (done.status, "holds one array, and there are 2 inputs" in done.error) == (1, True)


def test_an_archive_that_was_cut_off_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(3))
    whole = (tmp_path / "in.npz").read_bytes()
    for kept in (0, 50, len(whole) - 10):
        (tmp_path / "in.npz").write_bytes(whole[:kept])
        done = primsplit("run", model(GOOD), *X, "--inputs", tmp_path / "in.npz")
        assert (done.status, "is no .npz or .npy file" in done.error) == (1, True), done.error


def test_a_python_file_is_no_model_for_grad(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("grad", model(GOOD))
    assert (done.status, "primsplit export" in done.error) == (1, True)


@pytest.mark.parametrize(
    ("read", "arguments"),
    [
        ("loss.onnx", ["grad", "loss.onnx", "--onnx", "loss.onnx"]),
        ("model.py", ["export", "model.py", *X, "--onnx", "model.py"]),
        ("loss.onnx", ["run", "loss.onnx", "--inputs", "in.npz", "--out", "loss.onnx"]),
        ("model.py", ["run", "model.py:loss", *X, "--inputs", "in.npz", "--out", "model.py"]),
        ("in.npz", ["run", "loss.onnx", "--inputs", "in.npz", "--out", "in.npz"]),
        ("a.forward.onnx", ["grad", "a.forward.onnx", "--form", "split", "--onnx", "a.onnx"]),
        ("loss.onnx", ["run", "loss.onnx", "--inputs", "in.npz", "--state", "loss.onnx"]),
    ],
)
def test_what_is_read_is_not_written_over(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: str,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert primsplit("export", model(GOOD), *X, "--onnx", "loss.onnx", "--mode", "value").status == 0
    shutil.copy("loss.onnx", "a.forward.onnx")
    np.savez("in.npz", x=np.ones(3))
    before = (tmp_path / read).read_bytes()
    done = primsplit(*arguments)
    assert (done.status, "would be written over" in done.error) == (1, True), done.error
    assert (tmp_path / read).read_bytes() == before
