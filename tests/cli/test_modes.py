"""`primsplit export --mode` and `primsplit grad --mode`: files of every derivative from the command line."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.programs.userfile import load

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
    assert answer["form"] == "split"
    assert set(answer["operators"]) == {"forward", "tangent"}


def test_a_file_may_say_its_mode_itself(primsplit: Command, model: Command, tmp_path: Path) -> None:
    done = primsplit("export", model(SOURCE + "mode = 'hvp'\n"), "--onnx", tmp_path / "out.onnx")
    assert done.status == 0, done.error
    assert list(run(tmp_path / "out.onnx")) == ["y", "d_x", "t_d_x"]
    done = primsplit("export", model(SOURCE + "mode = 'sideways'\n"), "--onnx", tmp_path / "out.onnx")
    assert done.status != 0
    assert "gradient, jvp" in done.error


NESTED = """
import numpy as np
def loss(params, x, *, scale):
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2) * scale
def example_inputs():
    params = {"w": np.array([0.5, -1.0]), "b": np.array(0.25)}
    return {"params": params, "x": np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]), "scale": 2.0}
wrt = ["params", "x"]
"""
POINT = {
    "params.b": np.array(0.25), "params.w": np.array([0.5, -1.0]), "x": np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]),
    "scale": np.array(2.0), "t_params.b": np.array(0.5), "t_params.w": np.array([1.0, -2.0]),
    "t_x": np.array([[0.1, 0.2], [0.3, -0.4], [-0.5, 0.6]]),
}  # fmt: skip
MOVED = ["params.b", "params.w", "x"]
APART = """
import sys, numpy, onnxruntime
feeds, out, *files = sys.argv[1:]
known = dict(numpy.load(feeds))
for i, file in enumerate(files):
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = {x.name: known[x.name] for x in session.get_inputs()}
    found = dict(zip([y.name for y in session.get_outputs()], session.run(None, given)))
    known.update(found)
    numpy.savez(f"{out}{i}.npz", **found)
assert "primsplit" not in sys.modules
"""


def run_apart(folder: Path, files: list[Path]) -> list[dict[str, Any]]:
    """The outputs of each file, run one after the other by onnxruntime in a process of its own."""
    np.savez(folder / "feeds.npz", allow_pickle=False, **POINT)
    subprocess.run([sys.executable, "-I", "-c", APART, folder / "feeds.npz", folder / "out", *files], check=True)
    return [dict(np.load(folder / f"out{i}.npz")) for i in range(len(files))]


def by_hand() -> dict[str, Any]:
    """The derivatives of `loss`, with z = x w + b: of z by its arguments, and of tanh(z)**2 by z."""
    w, x, scale = POINT["params.w"], POINT["x"], POINT["scale"]
    t = np.tanh(x @ w + POINT["params.b"])
    first, second = 2.0 * t * (1.0 - t * t) * scale, 2.0 * (1.0 - t * t) * (1.0 - 3.0 * t * t) * scale
    of_z = np.concatenate([np.ones((3, 1)), x, np.kron(np.eye(3), w)], axis=1)
    gradient, hessian = of_z.T @ first, of_z.T @ (second[:, None] * of_z)
    for row in range(3):
        for k in range(2):
            hessian[1 + k, 3 + 2 * row + k] += first[row]
            hessian[3 + 2 * row + k, 1 + k] += first[row]
    along = np.concatenate([np.ravel(POINT[f"t_{n}"]) for n in MOVED])
    wanted = {"y": np.sum(t * t) * scale, "t_y": gradient @ along}
    parts = {"params.b": slice(0, 1), "params.w": slice(1, 3), "x": slice(3, 9)}
    for name, part in parts.items():
        shape = POINT[name].shape
        wanted[f"d_{name}"] = wanted[f"j_{name}"] = gradient[part].reshape(shape)
        wanted[f"t_d_{name}"] = (hessian @ along)[part].reshape(shape)
        for other, columns in parts.items():
            wanted[f"h_{name}_{other}"] = hessian[part, columns].reshape((*shape, *POINT[other].shape))
    return wanted


OUTPUTS = {
    "jvp": ["y", "t_y"],
    "hvp": ["y", *(f"d_{n}" for n in MOVED), *(f"t_d_{n}" for n in MOVED)],
    "hessian": ["y", *(f"d_{n}" for n in MOVED), *(f"h_{a}_{b}" for a in MOVED for b in MOVED)],
    "jacobian": ["y", *(f"j_{n}" for n in MOVED)],
    "linearize": ["t_y"],
}


@pytest.mark.parametrize("source", ["a function", "a model", "a model by grad"])
def test_files_of_nested_arguments_run_without_primsplit(
    primsplit: Command, model: Command, tmp_path: Path, source: str
) -> None:
    target, command, told = model(NESTED), "export", []
    if source != "a function":
        ps.trace(load(str(target)).function, *_specs(), scale=0.0).save(str(tmp_path / "whole.onnx"))
        target, command = tmp_path / "whole.onnx", "grad" if source == "a model by grad" else "export"
        told = [part for name in MOVED for part in ("--wrt", name)]
    for mode in OUTPUTS:
        done = primsplit(command, target, "--mode", mode, "--onnx", tmp_path / f"{mode}.onnx", *told)
        assert done.status == 0, done.error
    files = [tmp_path / f"{m}.onnx" for m in OUTPUTS if m != "linearize"]
    found = run_apart(tmp_path, [*files, tmp_path / "linearize.forward.onnx", tmp_path / "linearize.linear.onnx"])
    wanted = by_hand()
    del found[-2]
    for (mode, names), outputs in zip(OUTPUTS.items(), found, strict=True):
        assert list(outputs) == names, mode
        for name, value in outputs.items():
            np.testing.assert_allclose(value, wanted[name], rtol=1e-11, atol=1e-13, err_msg=f"{mode} {name}")


def _specs() -> tuple[Any, Any]:
    params = {"w": ps.spec("float64", [2]), "b": ps.spec("float64")}
    return params, ps.spec("float64", ["N", 2])


def test_what_is_for_functions_is_refused_of_a_model(primsplit: Command, model: Command, tmp_path: Path) -> None:
    ps.trace(lambda x: np.sum(x * x), np.zeros(2)).save(str(tmp_path / "plain.onnx"))
    before = sorted(tmp_path.iterdir())
    for told, why in (
        (("--dtype", "float32"), "are for Python files"),
        (("--branches", "error"), "are for Python files"),
        (("--spec", "x:f32[2]"), "x is float64 in its file"),
    ):
        done = primsplit("export", tmp_path / "plain.onnx", *told)
        assert done.status == 1
        assert why in done.error
    assert sorted(tmp_path.iterdir()) == before
