"""Derivatives as files: what goes in and out, by name, and the numbers."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, SpecError
from primsplit.programs.export import derive
from primsplit.testing import check_model

PARAMS = {"w": ps.spec("float64", [2]), "b": ps.spec("float64")}
POINT = {
    "params.w": np.array([0.5, -1.0]),
    "params.b": np.array(0.25),
    "x": np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]),
}


def loss(params: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


def residuals(params: Any, x: Any) -> Any:
    return np.tanh(x @ params["w"] + params["b"])


X = ps.spec("float64", ["N", 2])


def run(path: str, feeds: dict[str, Any]) -> dict[str, Any]:
    """The file's outputs by name, run without primsplit."""
    check_model(onnx.load(path))
    return outputs_of(path, feeds)


def outputs_of(path: str, feeds: dict[str, Any]) -> dict[str, Any]:
    session = onnxruntime.InferenceSession(path)
    names = [o.name for o in session.get_outputs()]
    given = {i.name: np.asarray(feeds[i.name]) for i in session.get_inputs()}
    return dict(zip(names, session.run(names, given), strict=True))


def differences(function: Any, name: str, direction: Any, step: float = 1e-5) -> Any:
    """The central difference of a function of the inputs by name."""
    ahead, behind = ({**POINT, name: POINT[name] + s * step * direction} for s in (1, -1))
    return (function(ahead) - function(behind)) / (2 * step)


def value_at(feeds: dict[str, Any], function: Any = loss) -> Any:
    return function({"w": feeds["params.w"], "b": feeds["params.b"]}, feeds["x"])


def test_a_jvp_file_takes_a_tangent_for_each_input_and_gives_one_for_each_result(tmp_path: Path) -> None:
    (path,) = ps.export(residuals, PARAMS, X, mode="jvp", wrt="params", path=str(tmp_path / "f.onnx"))
    tangents = {"t_params.w": np.array([1.0, 2.0]), "t_params.b": np.array(0.0)}
    found = run(path, {**POINT, **tangents})
    assert list(found) == ["y", "t_y"]
    np.testing.assert_allclose(found["y"], value_at(POINT, residuals))
    wanted = differences(lambda p: value_at(p, residuals), "params.w", tangents["t_params.w"])
    np.testing.assert_allclose(found["t_y"], wanted, rtol=1e-8)


def test_a_linearized_pair_passes_captures_by_name(tmp_path: Path) -> None:
    paths = ps.export(residuals, PARAMS, X, mode="linearize", wrt="params", path=str(tmp_path / "f.onnx"))
    assert [Path(p).name for p in paths] == ["f.forward.onnx", "f.linear.onnx"]
    forward = run(paths[0], POINT)
    tangents = {"t_params.w": np.array([1.0, 2.0]), "t_params.b": np.array(0.0)}
    found = run(paths[1], {**POINT, **forward, **tangents})
    wanted = differences(lambda p: value_at(p, residuals), "params.w", tangents["t_params.w"])
    np.testing.assert_allclose(found["t_y"], wanted, rtol=1e-8)
    kinds = [n.op_type for n in onnx.load(paths[1]).graph.node]
    assert "Tanh" not in kinds


def test_a_product_file_gives_value_gradient_and_product(tmp_path: Path) -> None:
    (path,) = ps.export(loss, PARAMS, X, mode="hvp", wrt="params", path=str(tmp_path / "f.onnx"))
    tangents = {"t_params.w": np.array([1.0, 2.0]), "t_params.b": np.array(0.0)}
    found = run(path, {**POINT, **tangents})
    assert list(found) == ["y", "d_params.b", "d_params.w", "t_d_params.b", "t_d_params.w"]
    np.testing.assert_allclose(found["y"], value_at(POINT))
    for name in ("d_params.w", "d_params.b"):
        wanted = differences(lambda p, n=name: run(path, {**p, **tangents})[n], "params.w", tangents["t_params.w"])
        np.testing.assert_allclose(found[f"t_{name}"], wanted, rtol=1e-7)


@pytest.mark.parametrize("mode", ["jvp", "hvp"])
def test_the_tangents_of_a_gradient_are_a_function_or_a_file_of_their_own(tmp_path: Path, mode: Any) -> None:
    """Row H6: the gradient is a local function, and its tangent list another."""
    direction = {"t_params.w": np.array([1.0, 2.0]), "t_params.b": np.array(0.5)}

    def written(form: Any) -> list[str]:
        return ps.export(loss, PARAMS, X, mode=mode, form=form, wrt="params", path=tmp_path / f"{form}.onnx")

    wanted = run(*written("joint"), POINT | direction)
    (functions,), (forward, linear) = written("functions"), written("split")
    model = onnx.load(functions)
    assert [(n.domain, n.op_type) for n in model.graph.node] == [("ps", "loss"), ("ps", "loss__tangent")]
    kept = run(forward, POINT)
    onnx.checker.check_model(model, full_check=True)
    for found in (outputs_of(functions, POINT | direction), kept | run(linear, POINT | kept | direction)):
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-13, err_msg=name)


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


def test_a_product_is_the_same_program_through_every_door() -> None:
    def loss(w, x):
        return np.sum(np.tanh(np.tanh(x @ w) @ w))

    w, x = np.eye(3), np.ones((4, 3))
    exported = operators(derive(loss, w, x, mode="hvp", wrt=0).joint())
    assert operators(ps.value_grad_and_hvp(loss).program(w, x, w)) == exported
    assert operators(ps.trace(lambda *given: ps.value_grad_and_hvp(loss)(*given), w, x, w)) == exported
    alone = operators(ps.hvp(loss).program(w, x, w))
    assert alone == operators(ps.trace(ps.hvp(loss), w, x, w))
    assert alone < exported
    step = ps.trace(lambda w, x: w - 0.1 * ps.grad(loss)(w, x), w, x)
    assert (step.gradients, ps.trace(ps.grad(loss), w, x).gradients) == ((), (0,))


def operators(program: ps.Program) -> Counter[str]:
    """Return the number of nodes of each operator in the file."""
    return Counter(node.op_type for node in program.to_onnx().graph.node)
