"""No output is written over a file that its program was made of."""

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as onh
import pytest

import primsplit as ps
from primsplit.ir.errors import FileError
from primsplit.onnx import files, sources

X = np.ones(100, np.float32)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model of two outputs whose weights are in two files beside it."""
    monkeypatch.chdir(tmp_path)
    told = oh.make_tensor_value_info
    weights = [onh.from_array(np.full(100, 2 + i, np.float32), f"w{i}") for i in range(2)]
    nodes = [node for i in range(2) for node in _scaled_sum(i)]
    graph = oh.make_graph(nodes, "g", [told("x", 1, [100])], [told(f"y{i}", 1, []) for i in range(2)], weights)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8)
    for i, tensor in enumerate(model.graph.initializer):
        Path(f"w{i}.bin").write_bytes(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=f"w{i}.bin")
    Path("m.onnx").write_bytes(model.SerializeToString())
    return "m.onnx"


def _scaled_sum(i: int) -> list[onnx.NodeProto]:
    return [
        oh.make_node("Mul", ["x", f"w{i}"], [f"a{i}"]),
        oh.make_node("ReduceSum", [f"a{i}"], [f"y{i}"], keepdims=0),
    ]


def contents() -> dict[str, bytes]:
    """Every file below the current folder."""
    return {str(p): p.read_bytes() for p in Path().rglob("*") if p.is_file()}


def spellings(name: str) -> list[str]:
    """The names of a file: its own, and links to it that are made for it."""
    os.symlink(name, f"link_to_{name}")
    os.link(name, f"hard_{name}")
    os.mkdir("folder")
    os.symlink("..", "folder/up")
    return [name, os.path.abspath(name), f"./folder/../{name}", f"folder/up/{name}", f"link_to_{name}", f"hard_{name}"]


SAVES: dict[str, Callable[[Any, str], Any]] = {
    "a program": lambda program, to: program.save(to),
    "a gradient of one output": lambda program, to: ps.split(program, wrt="x", of="y0").joint().save(to),
    "a forward and a backward file": lambda program, to: ps.split(program, wrt="x", of="y0").save(to, form="functions"),
    "a function that calls the model": lambda program, to: ps.export(
        lambda x: program(x)[0] * 2.0, ps.spec("float32", [100]), path=to
    ),
}


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("name", ["m.onnx", "w0.bin", "w1.bin"])
def test_no_form_of_a_file_is_written_over_a_model_or_its_weights(path: str, save: str, name: str) -> None:
    program = ps.load(path)
    for spelling in spellings(name):
        before = contents()
        with pytest.raises(FileError, match="the program is made of"):
            SAVES[save](program, spelling)
        assert contents() == before
    np.testing.assert_array_equal(np.stack(ps.load(path)(X)), [200, 300])


def test_a_folder_changed_since_makes_no_difference(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ps.load(path)
    os.mkdir("inside")
    monkeypatch.chdir("inside")
    for name in ("m.onnx", "w1.bin"):
        with pytest.raises(FileError, match="the program is made of"):
            program.save(f"../{name}")


def test_data_beside_an_output_are_not_written_over_weights(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("primsplit.onnx.save.LARGEST", 0)
    os.rename("w1.bin", "out.onnx.data")
    model = onnx.load(path, load_external_data=False)
    model.graph.initializer[1].external_data[0].value = "out.onnx.data"
    Path(path).write_bytes(model.SerializeToString())
    before = contents()
    program = ps.load(path)
    with pytest.raises(FileError, match=r"cannot write .*out.onnx.data: the program is made of it"):
        program.save("out.onnx")
    assert contents() == before
    program.save("other.onnx")
    np.testing.assert_array_equal(np.stack(ps.load("other.onnx")(X)), [200, 300])


def test_a_function_is_not_written_over_its_own_file_nor_over_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("helper_of_sources.py").write_text("SCALE = 2.0\n")
    Path("model_of_sources.py").write_text("def loss(x):\n    return (x * x).sum()\n")
    loaded = {}
    for name in ("helper_of_sources", "model_of_sources"):
        spec = importlib.util.spec_from_file_location(name, f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        loaded[name] = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, loaded[name])
        spec.loader.exec_module(loaded[name])
    before = contents()
    for name in loaded:
        with pytest.raises(FileError, match="the program is made of"):
            ps.export(loaded["model_of_sources"].loss, ps.spec("float32", [3]), path=f"{name}.py")
    assert contents() == before


def test_a_file_of_an_earlier_export_is_written_again(path: str) -> None:
    program = ps.load(path)
    for _ in range(2):
        program.save("out.onnx")
        ps.export(lambda x: np.sum(x * 2.0), ps.spec("float32", [3]), path="loss.onnx")
    np.testing.assert_array_equal(ps.load("out.onnx")(X)[0], 200)


def test_another_spelling_is_the_same_file_where_the_system_finds_it_by_that(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that takes capitals for small letters gives both names the same number."""
    found = os.stat("w0.bin")
    monkeypatch.setattr(sources, "_stat", lambda name: found if name.lower().endswith("w0.bin") else None)
    with pytest.raises(FileError, match=r"cannot write W0.BIN: it is w0.bin"):
        files.check_apart(["W0.BIN"], lambda: ["w0.bin"])


@pytest.mark.parametrize("part", ["all", "a view", "a few"])
def test_an_array_that_is_mapped_into_memory_keeps_its_file(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.arange(4000.0))
    whole = np.load("w.npy", mmap_mode="r")
    array = {"all": whole, "a view": whole[10:].reshape(2, -1), "a few": whole[:3]}[part]
    x = np.ones(array.shape)
    before = Path("w.npy").read_bytes()
    os.link("w.npy", "other.onnx")
    for name in ("w.npy", "other.onnx"):
        with pytest.raises(FileError, match="the program is made of"):
            ps.export(lambda x: np.sum(x * array), x, path=name)
        with pytest.raises(FileError, match="the program is made of"):
            ps.trace(lambda x: x * array, x).save(name)
    assert Path("w.npy").read_bytes() == before
