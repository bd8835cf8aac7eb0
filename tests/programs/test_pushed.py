"""A program with its tangent program: files of tangents, products and linearized pairs."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.programs.export import derive
from tests.programs.exported import POINT, differences, loss, outputs_of, residuals, run

PARAMS = {"w": ps.spec("float64", [2]), "b": ps.spec("float64")}


X = ps.spec("float64", ["N", 2])


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
