"""`primsplit export --mode` and `primsplit grad --mode`: files of every derivative from the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.userfile import load

SOURCE = """
import numpy as np
def rosenbrock(x):
    return (1.0 - x[0]) ** 2 + 100.0 * (x[1] - x[0] ** 2) ** 2
def example_inputs():
    return (np.array([1.2, 1.2]),)
"""

MODES: list[tuple[str, dict[str, Any]]] = [
    ("gradient", {"y": 5.8, "d_x": [115.6, -48.0]}),
    ("jvp", {"y": 5.8, "t_y": 19.6}),
    ("hvp", {"y": 5.8, "d_x": [115.6, -48.0], "t_d_x": [290.0, -80.0]}),
    ("jacobian", {"y": 5.8, "j_x": [115.6, -48.0]}),
    ("hessian", {"y": 5.8, "d_x": [115.6, -48.0], "h_x": [[1250.0, -480.0], [-480.0, 200.0]]}),
]


Command = Callable[..., Any]


def run(path: Path) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(str(path))
    feeds = {"x": np.array([1.2, 1.2]), "t_x": np.array([1.0, 2.0])}
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {i.name: feeds[i.name] for i in session.get_inputs()}), strict=True))


@pytest.mark.parametrize(("mode", "wanted"), MODES, ids=[m for m, _ in MODES])
def test_a_function_is_exported_with_what_the_mode_says(
    primsplit: Command, model: Command, tmp_path: Path, mode: str, wanted: dict[str, Any]
) -> None:
    done = primsplit("export", model(SOURCE), "--mode", mode, "--onnx", tmp_path / "out.onnx")
    assert done.status == 0, done.error
    found = run(tmp_path / "out.onnx")
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-12)


@pytest.mark.parametrize("mode", ["jvp", "hvp", "hessian"])
def test_an_onnx_model_gets_them_too(primsplit: Command, model: Command, tmp_path: Path, mode: str) -> None:
    ps.trace(load(str(model(SOURCE))).function, np.zeros(2)).save(str(tmp_path / "plain.onnx"))
    done = primsplit("grad", tmp_path / "plain.onnx", "--mode", mode, "--onnx", tmp_path / "out.onnx")
    assert done.status == 0, done.error
    wanted = dict(MODES)[mode]
    for name, value in run(tmp_path / "out.onnx").items():
        np.testing.assert_allclose(value, wanted[name], rtol=1e-12)


def test_linearize_writes_a_pair_and_says_so(primsplit: Command, model: Command, tmp_path: Path) -> None:
    done = primsplit("export", model(SOURCE), "--mode", "linearize", "--onnx", tmp_path / "out.onnx", "--json")
    answer = done.json
    assert [Path(f["path"]).name for f in answer["files"]] == ["out.forward.onnx", "out.linear.onnx"]
    assert set(answer["operators"]) == {"forward", "tangent"}


def test_a_file_may_say_its_mode_itself(primsplit: Command, model: Command, tmp_path: Path) -> None:
    done = primsplit("export", model(SOURCE + "mode = 'hvp'\n"), "--onnx", tmp_path / "out.onnx")
    assert done.status == 0, done.error
    assert list(run(tmp_path / "out.onnx")) == ["y", "d_x", "t_d_x"]
    done = primsplit("export", model(SOURCE + "mode = 'sideways'\n"), "--onnx", tmp_path / "out.onnx")
    assert done.status != 0
    assert "gradient, jvp" in done.error
