"""Files that are written for other versions and builds of onnxruntime run without primsplit, and judge themselves."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.rules.rows import ROWS

ROOT = Path(__file__).parents[2]
RUN = ROOT / "tools" / "portability" / "run.py"


def write(folder: Path, *more: str) -> None:
    command = [sys.executable, "-m", "tools.portability.write", str(folder), *more]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


def judge(folder: Path) -> subprocess.CompletedProcess[str]:
    """The runner, in an interpreter that is not told where primsplit is."""
    return subprocess.run([sys.executable, "-P", str(RUN), str(folder)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("portability")
    write(made, "--named", "AveragePool")
    return made


def test_the_files_of_a_name_are_right_where_they_were_made(folder: Path) -> None:
    count = len(list(folder.glob("*.onnx")))
    assert count >= 2 * sum(row.kind == "AveragePool" for row in ROWS)
    done = judge(folder)
    assert done.returncode == 0, done.stdout
    assert f"{{'right': {count}}}" in done.stdout


def test_a_file_with_other_outputs_is_told(folder: Path, tmp_path: Path) -> None:
    told = json.loads((folder / "0001.json").read_text())
    (tmp_path / "1.onnx").write_bytes((folder / "0001.onnx").read_bytes())
    name, output = next(iter(told["outputs"].items()))
    output["shape"] = [1, *output["shape"]]
    (tmp_path / "1.json").write_text(json.dumps(told))
    done = judge(tmp_path)
    assert done.returncode == 1
    assert f"wrong: 1.onnx {told['name']}: {name} has the shape" in done.stdout


def test_a_file_that_does_not_load_is_told(tmp_path: Path) -> None:
    nodes = [onnx.helper.make_node("Acos", ["x"], ["y"])]
    ends = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, [1]) for n in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "1.onnx")
    (tmp_path / "1.json").write_text(json.dumps({"name": "Acos", "inputs": {}, "outputs": {}}))
    done = judge(tmp_path)
    assert done.returncode == 1
    assert "not loaded: 1.onnx Acos" in done.stdout


@pytest.mark.slow
def test_every_file_is_right_where_it_was_made(tmp_path: Path) -> None:
    write(tmp_path)
    done = judge(tmp_path)
    assert done.returncode == 0, done.stdout


def test_what_is_told_of_a_file_is_its_arrays(folder: Path) -> None:
    told = json.loads((folder / "0001.json").read_text())
    model = onnx.load(folder / "0001.onnx")
    assert set(told["inputs"]) == {i.name for i in model.graph.input}
    assert set(told["outputs"]) == {o.name for o in model.graph.output}
    assert all(np.dtype(a["dtype"]).kind in "fiub" for a in told["inputs"].values())
