"""`primsplit audit --check`: a committed listing against the file of today."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SOURCE = """
import numpy as np

WEIGHTS = np.linspace(0.0, 1.0, 80).reshape(8, 10)

def main(x):
    hidden = np.tanh(x @ WEIGHTS)
    return np.sum(hidden * hidden)

def example_inputs():
    return (np.ones((2, 8)),)
"""
OTHER = SOURCE.replace("np.tanh", "np.sin")
Run = Callable[..., Any]
Model = Callable[..., Path]
STYLES = ("math", "numpy", "text", "python")


@pytest.fixture
def later(model: Model, tmp_path: Path) -> Callable[[str], Path]:
    """A function that writes a model of the same name in another folder, as it is on a later day."""

    def write(text: str) -> Path:
        (tmp_path / "later").mkdir()
        return model(text, "later/model.py")

    return write


@pytest.fixture
def committed(primsplit: Run, model: Model, tmp_path: Path) -> Callable[[str], Path]:
    """A function that writes the listing of SOURCE in a style."""

    def write(style: str) -> Path:
        path = tmp_path / f"listing_{style}.py"
        done = primsplit("audit", model(SOURCE), "--style", style, "--output", path)
        assert done.status == 0, done.error
        return path

    return write


@pytest.mark.parametrize("style", STYLES)
def test_a_listing_of_today_is_right_and_stays_so_under_a_comment(
    primsplit: Run, model: Model, later: Callable[[str], Path], committed: Callable[[str], Path], style: str
) -> None:
    path = committed(style)
    text = path.read_bytes()
    done = primsplit("audit", model(SOURCE), "--check", path)
    assert (done.status, "is the listing of this file." in done.out) == (0, True), done.out
    done = primsplit("audit", later("# a comment\n" + SOURCE), "--check", path, "--json")
    assert (done.status, done.json["same"], done.json["lines"], done.json["style"]) == (0, True, [], style)
    assert path.read_bytes() == text


@pytest.mark.parametrize("style", STYLES)
def test_other_statements_have_the_status_1_and_are_shown(
    primsplit: Run, later: Callable[[str], Path], committed: Callable[[str], Path], style: str
) -> None:
    path = committed(style)
    done = primsplit("audit", later(OTHER), "--check", path)
    assert done.status == 1
    assert "is another listing" in done.out
    lines = done.out.splitlines()
    assert any(line.startswith("- ") and "anh(" in line for line in lines)
    assert any(line.startswith("+ ") and "in(" in line for line in lines)


def test_arrays_beside_a_module_are_compared(
    primsplit: Run, model: Model, later: Callable[[str], Path], committed: Callable[[str], Path]
) -> None:
    path = committed("numpy")
    arrays = dict(np.load(path.with_suffix(".npz")))
    assert len(arrays) == 1
    (name,) = arrays
    done = primsplit("audit", later(SOURCE.replace("0.0, 1.0", "0.0, 2.0")), "--check", path)
    assert (done.status, f"the arrays {name} of {path.stem}.npz differ" in done.out) == (1, True)
    path.with_suffix(".npz").unlink()
    assert primsplit("audit", model(SOURCE), "--check", path, "--json").json["arrays"] == [name]


def test_the_listing_of_an_onnx_file_is_checked_too(
    primsplit: Run,
    model: Model,
    later: Callable[[str], Path],
    committed: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = committed("numpy")
    primsplit("export", model(SOURCE), "--onnx", tmp_path / "model.onnx")
    assert primsplit("audit", tmp_path / "model.onnx", "--check", path).status == 0
    primsplit("export", later(OTHER), "--onnx", tmp_path / "model.onnx")
    assert primsplit("audit", tmp_path / "model.onnx", "--check", path).status == 1


def test_options_that_the_listing_was_not_written_with_are_a_difference(
    primsplit: Run, model: Model, committed: Callable[[str], Path]
) -> None:
    assert primsplit("audit", model(SOURCE), "--mode", "value", "--check", committed("numpy")).status == 1


def test_what_cannot_be_checked_is_refused(primsplit: Run, model: Model, tmp_path: Path) -> None:
    path = model(SOURCE)
    page = tmp_path / "page.html"
    primsplit("audit", path, "--output", page)
    done = primsplit("audit", path, "--check", page)
    assert (done.status, "is a page" in done.error) == (1, True)
    assert "cannot read" in primsplit("audit", path, "--check", tmp_path / "missing.py").error
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    assert "no text" in primsplit("audit", path, "--check", tmp_path / "bytes.py").error
    for options in (["--frozen"], ["--output", tmp_path / "x.py"], ["--stage", "split"], ["--linear"]):
        assert primsplit("audit", path, "--check", page, *options).status == 1
