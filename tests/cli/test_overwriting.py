"""No command writes over what it reads: models, weights, Python files and what they import."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as onh
import pytest

import primsplit as ps

STATE = """
import numpy as np
import primsplit as ps
from helper_of_overwriting import SCALE
count = ps.State(np.zeros(3))
def step(x):
    count[...] = count + SCALE * x
    return np.sum(count)
main = step
mode = "value"
def example_inputs():
    return (np.ones(3),)
"""


@pytest.fixture
def weights(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a model whose weight is in a file of this name."""

    def write(name: str) -> Path:
        told = oh.make_tensor_value_info
        nodes = [oh.make_node("Mul", ["x", "w"], ["a"]), oh.make_node("ReduceSum", ["a"], ["y"], keepdims=0)]
        weight = onh.from_array(np.full(8, 2, np.float32), "w")
        graph = oh.make_graph(nodes, "g", [told("x", 1, [8])], [told("y", 1, [])], [weight])
        model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / "m.onnx"
        onnx.save(model, path, save_as_external_data=True, location=name, size_threshold=0)
        np.savez(tmp_path / "in.npz", x=np.ones(8, np.float32))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("w.bin", ["grad", "m.onnx", "--onnx", "w.bin"]),
        ("w.bin", ["export", "m.onnx", "--onnx", "w.bin", "--mode", "jvp"]),
        ("w.forward.onnx", ["grad", "m.onnx", "--onnx", "w.onnx", "--form", "split"]),
        ("m.grad.onnx", ["grad", "m.onnx"]),
        ("w.bin", ["grad", "m.onnx", "--onnx", "link.onnx"]),
        ("w.npz", ["run", "m.onnx", "--inputs", "in.npz", "--out", "w.npz"]),
        ("w.bin", ["run", "m.onnx", "--inputs", "in.npz", "--out", "m.onnx"]),
        ("w.bin", ["run", "m.onnx", "--inputs", "in.npz", "--out", "in.npz"]),
        ("w.npz", ["run", "m.onnx", "--inputs", "in.npz", "--state", "w.npz"]),
        ("w.bin", ["audit", "m.onnx", "--output", "w.bin"]),
        ("w.bin", ["audit", "m.onnx", "--style", "math", "--output", "link.onnx"]),
        ("w.npz", ["audit", "m.onnx", "--output", "w.py"]),
        ("w.npz", ["audit", "m.onnx", "--style", "numpy", "--output", "w.txt"]),
        ("w.bin", ["grad", "m.onnx", "--onnx", "g.onnx", "--audit", "w.bin"]),
        ("w.npz", ["export", "m.onnx", "--onnx", "g.onnx", "--audit", "w.py"]),
    ],
)
def test_no_output_takes_the_place_of_weights(
    primsplit: Callable[..., Any],
    weights: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    weights(name)
    (tmp_path / "link.onnx").symlink_to(name)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    done = primsplit(*command)
    assert done.status == 1
    assert done.error
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert ps.load("m.onnx")(np.ones(8, np.float32)) == 16


@pytest.mark.parametrize(
    "command",
    [
        ["export", "model.py", "--onnx", "model.py"],
        ["export", "model.py", "--onnx", "helper_of_overwriting.py"],
        ["run", "model.py", "--state", "in.npz", "--inputs", "in.npz"],
        ["run", "model.py", "--out", "state.npz", "--state", "state.npz"],
    ],
)
def test_no_output_takes_the_place_of_a_python_file_or_what_it_imports(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    model(STATE)
    model("SCALE = 2.0\n", "helper_of_overwriting.py")
    np.savez(tmp_path / "in.npz", x=np.ones(3))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    assert primsplit(*command).status == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


READERS = {
    "np.load": ("w.npy", "np.load('w.npy')"),
    "an archive": ("w.npz", "np.load('w.npz')['w']"),
    "a view of a file": ("w.npy", "np.load('w.npy', mmap_mode='r')"),
    "bytes": ("w.bin", "np.fromfile('w.bin', np.float32)"),
    "a text": ("w.json", "np.array(json.load(open('w.json')), np.float32)"),
    "a model": ("w.onnx", "ps.load('w.onnx')(np.ones(8, np.float32)) * np.ones(8, np.float32)"),
    "a model's weights": ("w.data", "ps.load('w.onnx')(np.ones(8, np.float32)) * np.ones(8, np.float32)"),
    "the system": ("w.bin", "np.frombuffer(os.read(os.open('w.bin', os.O_RDONLY), 32), np.float32)"),
}
READING = """
import json, os
import numpy as np
import primsplit as ps
def table(): return {reader}
{before}
def loss(x):
    return np.sum(x * {weights})
main = loss
mode = "value"
def example_inputs():
    return ({x},)
"""


@pytest.mark.parametrize("when", ["import", "trace", "examples"])
@pytest.mark.parametrize("kind", READERS)
def test_no_output_takes_the_place_of_data_that_a_python_file_reads(
    primsplit: Callable[..., Any],
    weights: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    when: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    weights("w.data").rename(tmp_path / "w.onnx")
    numbers = np.ones(8, np.float32)
    np.save("w.npy", numbers)
    np.savez("w.npz", w=numbers)
    numbers.tofile("w.bin")
    Path("w.json").write_text("[1, 2, 3, 4, 5, 6, 7, 8]")
    name, reader = READERS[kind]
    here = {
        "before": "W = table()" if when == "import" else "",
        "weights": {"import": "W", "trace": "table()", "examples": "2"}[when],
        "x": "table()" if when == "examples" else "np.ones(8, np.float32)",
    }
    Path("model.py").write_text(READING.format(reader=reader, **here))
    Path("link.npz").symlink_to(name)
    os.link(name, "hard.npy")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    for command in (
        ["export", "--onnx", name],
        ["export", "--onnx", "new.onnx", "--audit", name],
        ["run", "--out", "link.npz"],
        ["run", "--out", "hard.npy"],
        ["audit", "--output", name],
        ["audit", "--style", "numpy", "--output", "hard.npy"],
    ):
        done = primsplit(command[0], "model.py", *command[1:])
        assert done.status == 1, command
        assert "which the program is made of" in done.error or "the program is made of it" in done.error
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before, command


def test_a_file_that_nobody_reads_is_written_over(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model(READING.format(reader="1", before="", weights="2", x="np.ones(8)"))
    for command in (["export", "--onnx", "o.onnx", "--audit", "o.txt"], ["run", "--out", "o.npz"]):
        for _ in range(2):
            assert primsplit(command[0], "model.py", *command[1:]).status == 0
