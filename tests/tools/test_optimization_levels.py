"""tools/optimization_levels.py tells files that onnxruntime changes while it optimizes them, and no others."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

TOOL = Path(__file__).parents[2] / "tools" / "optimization_levels.py"
RUN = """
import sys
import numpy as np
import onnxruntime
for path in sys.argv[1:]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for _ in range(2):
        session.run(None, {i.name: np.full((2, 2), 3.0) for i in session.get_inputs()})
"""


def write(path: Path, *nodes: onnx.NodeProto, **constants: np.ndarray) -> Path:
    """A file that maps a float64 matrix x to y."""
    ends = [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in (("x", [2, 2]), ("y", None))]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(list(nodes), "g", ends[:1], ends[1:], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logarithm of 1e-60 added to 0, which is dropped as a 0 of float32; a product; and draws."""
    folder = tmp_path_factory.mktemp("levels")
    product = helper.make_node("MatMul", ["x", "x"], ["p"])
    nothing = helper.make_node("Sub", ["x", "x"], ["n"])
    added = helper.make_node("Add", ["n", "c"], ["a"])
    write(folder / "faint.onnx", nothing, added, helper.make_node("Log", ["a"], ["y"]), c=np.array(1e-60))
    write(folder / "plain.onnx", product, helper.make_node("Tanh", ["p"], ["y"]))
    write(folder / "drawn.onnx", helper.make_node("RandomNormalLike", ["x"], ["y"]))
    (folder / "run.py").write_text(RUN)
    return folder


def compared(folder: Path, *names: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """The tool on a script that runs these files, in an interpreter that is not told where primsplit is."""
    command = [sys.executable, "-P", str(TOOL), *options, "run.py", *(f"{n}.onnx" for n in names)]
    told = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=told)


def test_a_file_that_another_level_makes_different_is_told_and_kept(files: Path, tmp_path: Path) -> None:
    done = compared(files, "plain", "faint", options=("--save", str(tmp_path)))
    assert done.returncode == 1, done.stderr
    assert "different: 0001.onnx from level basic on output 0 (float64) is off by" in done.stdout
    assert "in run.py plain.onnx faint.onnx" in done.stdout
    assert (tmp_path / "0001.onnx").read_bytes() == (files / "faint.onnx").read_bytes()
    assert np.array_equal(np.load(tmp_path / "0001.npz")["x"], np.full((2, 2), 3.0))


def test_what_rounds_alike_or_draws_anew_is_not_told(files: Path) -> None:
    done = compared(files, "plain", "drawn")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith("{'compared': 2, 'different': 0}")


def test_an_error_of_the_script_is_its_own(files: Path) -> None:
    done = compared(files, "missing")
    assert done.returncode == 1
    assert "missing.onnx" in done.stderr
