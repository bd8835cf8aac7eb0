"""Derivatives as files: what goes in and out, by name, and the numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, SpecError
from tests.programs.exported import POINT, differences, loss, residuals, run

PARAMS = {"w": ps.spec("float64", [2]), "b": ps.spec("float64")}


X = ps.spec("float64", ["N", 2])


def test_a_jacobian_file(tmp_path: Path) -> None:
    (path,) = ps.export(residuals, PARAMS, X, mode="jacobian", wrt="params", path=str(tmp_path / "f.onnx"))
    found = run(path, POINT)
    assert list(found) == ["y", "j_params.b", "j_params.w"]
    slope = 1.0 - found["y"] ** 2
    np.testing.assert_allclose(found["j_params.b"], slope)
    np.testing.assert_allclose(found["j_params.w"], slope[:, None] * POINT["x"])


@pytest.mark.parametrize("chunk", [None, 1, 2])
def test_a_hessian_file(tmp_path: Path, chunk: int | None) -> None:
    (path,) = ps.export(loss, PARAMS, X, mode="hessian", wrt="params", chunk=chunk, path=str(tmp_path / "f.onnx"))
    found = run(path, POINT)
    pairs = ["h_params.b_params.b", "h_params.b_params.w", "h_params.w_params.b", "h_params.w_params.w"]
    assert list(found) == ["y", "d_params.b", "d_params.w", *pairs]
    for i, direction in enumerate(np.eye(2)):
        wanted = differences(lambda p: run(path, p)["d_params.w"], "params.w", direction)
        np.testing.assert_allclose(found[pairs[3]][:, i], wanted, rtol=1e-7)
    np.testing.assert_allclose(found[pairs[1]], found[pairs[2]])


def test_the_weights_of_a_loaded_model_have_products_too(tmp_path: Path) -> None:
    weights = np.array([[0.5, 0.2], [-1.0, 0.3]])
    ps.trace(lambda x: np.sum(np.tanh(x @ weights) ** 2), X).save(str(tmp_path / "model.onnx"))
    model = ps.load(str(tmp_path / "model.onnx"))
    (name,) = [n for n, v in model.params.items() if v.shape == (2, 2)]
    (path,) = ps.export(model, mode="hvp", wrt=name, path=str(tmp_path / "f.onnx"))
    tangent = np.array([[1.0, 0.0], [0.0, 2.0]])
    found = run(path, {"x": POINT["x"], name: weights, f"t_{name}": tangent})
    t = np.tanh(POINT["x"] @ weights)
    curvature = 2.0 * (1.0 - t * t) * (1.0 - 3.0 * t * t)
    np.testing.assert_allclose(found[f"t_d_{name}"], POINT["x"].T @ (curvature * (POINT["x"] @ tangent)))


def test_names_that_are_taken_are_numbered(tmp_path: Path) -> None:
    (path,) = ps.export(
        lambda x, t_x: np.sum(x * t_x), ps.spec("float64", [2]), ps.spec("float64", [2]), wrt="x", mode="jvp",
        path=str(tmp_path / "f.onnx"),
    )  # fmt: skip
    session = onnxruntime.InferenceSession(path)
    assert [i.name for i in session.get_inputs()] == ["x", "t_x", "t_x_1"]


@pytest.mark.parametrize("mode", ["hvp", "hessian"])
def test_a_product_or_hessian_is_of_the_result_that_is_named(mode: Any, tmp_path: Path) -> None:
    """A model that gives its scores beside its loss."""

    def model(x: Any) -> Any:
        scores = np.sin(x)
        return {"loss": np.sum(scores * scores), "scores": scores}

    path, x = str(tmp_path / "f.onnx"), np.array([0.3, 1.2])
    with pytest.raises(
        ShapeError, match=r"one scalar result, not float64, float64\[2\]\n  Say which it is: of='loss'; --of"
    ):
        ps.export(model, ps.spec("float64", [2]), mode=mode, path=path)
    ps.export(model, ps.spec("float64", [2]), mode=mode, of="loss", path=path)
    session = onnxruntime.InferenceSession(path)
    feeds = {"x": x, "t_x": np.array([1.0, 2.0])}
    found = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})
    curvature = 2 * np.cos(2 * x)
    np.testing.assert_allclose(found[-2], np.sin(2 * x))
    np.testing.assert_allclose(found[-1], curvature * feeds["t_x"] if mode == "hvp" else np.diag(curvature), atol=1e-15)


WRONG = [
    ("a vector's hvp", {"mode": "hvp"}, ShapeError, "one scalar result"),
    ("an unknown mode", {"mode": "sideways"}, SpecError, "gradient, jvp, linearize"),
    ("a chunk of a gradient", {"chunk": 2}, SpecError, "chunk=2 is for a jacobian or hessian"),
    ("a chunk of a product", {"chunk": 2, "mode": "hvp"}, SpecError, "and not for mode='hvp'"),
    ("functions of a jacobian", {"mode": "jacobian", "form": "functions"}, SpecError, "derivatives with two passes"),
    ("an unknown form of a jvp", {"mode": "jvp", "form": "whole"}, SpecError, "there is no form 'whole'"),
]


@pytest.mark.parametrize(("options", "error", "told"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_cannot_be_exported_is_refused(tmp_path: Path, options: Any, error: Any, told: str) -> None:
    with pytest.raises(error) as caught:
        ps.export(residuals, PARAMS, X, path=str(tmp_path / "f.onnx"), **options)
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("specs", "told"),
    [
        ((), {"mode": "hvp"}),
        ((), {"wrt": "x"}),
        ((), {"of": "y"}),
        ((), {"chunk": 3}),
        ((X,), {}),
        ((), {"seed": "ones"}),
    ],
)  # fmt: skip
def test_what_is_said_of_a_split_too_late_is_refused(tmp_path: Path, specs: Any, told: Any) -> None:
    made = ps.split(loss, PARAMS, X)
    with pytest.raises(SpecError, match="comes too late"):
        ps.export(made, *specs, path=str(tmp_path / "f.onnx"), **told)
    assert list(tmp_path.iterdir()) == []
    assert ps.export(made, path=str(tmp_path / "f.onnx"), form="split") == [
        str(tmp_path / f"f.{part}.onnx") for part in ("forward", "backward")
    ]


def test_paths_may_be_path_objects(tmp_path: Path) -> None:
    assert ps.export(loss, PARAMS, X, path=tmp_path / "f.onnx") == [str(tmp_path / "f.onnx")]
    assert ps.export(loss, PARAMS, X, path=tmp_path / "g.onnx", mode="hessian") == [str(tmp_path / "g.onnx")]
    ps.trace(loss, PARAMS, X).save(tmp_path / "h.onnx")
    assert ps.load(tmp_path / "h.onnx").inputs == ("params.b", "params.w", "x")
