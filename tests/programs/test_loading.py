"""A loaded model is a program: it is called with weights of its own, inside of functions, and differentiated."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, SpecError
from tests.onnx.layers import B, W, layer, saved

rng = np.random.default_rng(11)


def test_a_loaded_model_gives_the_models_own_numbers_at_any_size(tmp_path: Path) -> None:
    path = saved(tmp_path, layer())
    program = ps.load(path)
    assert program.inputs == ("x",)
    assert set(program.params) == {"W", "b"}
    session = onnxruntime.InferenceSession(path)
    for rows in (1, 5):
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        np.testing.assert_array_equal(program(x), session.run(None, {"x": x})[0])


def test_the_gradient_with_respect_to_a_weight_is_the_analytic_one(tmp_path: Path) -> None:
    made = ps.split(ps.load(saved(tmp_path, layer())), wrt=["W", "x"])
    assert made.gradient_names == ["d_x", "d_W"]
    x = rng.standard_normal((5, 3)).astype(np.float32)
    _, dx, dw = made.joint()(x, W)
    slope = (1 - np.tanh(x @ W + B) ** 2) / 20
    np.testing.assert_allclose(dw, x.T @ slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dx, slope @ W.T, rtol=1e-5, atol=1e-6)


def test_a_call_may_give_weights_of_its_own(tmp_path: Path) -> None:
    model, x = ps.load(saved(tmp_path, layer())), rng.standard_normal((5, 3)).astype(np.float32)
    np.testing.assert_allclose(model(x, W=2 * W), np.tanh(x @ (2 * W) + B).mean(), rtol=1e-5)
    both = {"W": 2 * W, "b": B - 1}
    value, slopes = ps.value_and_grad(lambda weights: model(x, **weights))(both)
    np.testing.assert_allclose(value, np.tanh(x @ both["W"] + both["b"]).mean(), rtol=1e-5)
    slope = (1 - np.tanh(x @ both["W"] + both["b"]) ** 2) / 20
    np.testing.assert_allclose(slopes["W"], x.T @ slope, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slopes["b"], slope.sum(axis=0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"V": W}, r"another structure[\s\S]*params: W, b"),
        ({"b": B[:3]}, r"b (must be float32\[4\], not float32\[3\]|has size 3 at axis 0, not 4)"),
        ({"b": B.astype(np.float64)}, "b must be float32"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(
    weights: dict[str, Any], told: str, traced: bool, tmp_path: Path
) -> None:
    model = ps.load(saved(tmp_path, layer()))
    call = ps.grad(lambda x: model(x, **weights)) if traced else lambda x: model(x, **weights)
    with pytest.raises(PrimsplitError, match=told):
        call(np.ones((2, 3), np.float32))


def test_a_model_is_called_inside_a_traced_function(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, layer()))
    x = rng.standard_normal((4, 3)).astype(np.float32)
    gradient = ps.grad(lambda x: program(np.sin(x)) * 3.0)(x)
    slope = (1 - np.tanh(np.sin(x) @ W + B) ** 2) / 16
    np.testing.assert_allclose(gradient, 3 * (slope @ W.T) * np.cos(x), rtol=1e-4, atol=1e-6)


def test_an_unknown_name_in_wrt_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ps.PrimsplitError, match="initializers are W, b"):
        ps.split(ps.load(saved(tmp_path, layer())), wrt="weights")


def test_params_of_a_model_without_floating_point_initializers_are_told_to_be_none(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Sin (x) }'
    )
    onnx.save(model, tmp_path / "bare.onnx")
    with pytest.raises(SpecError, match="all initializers that are floating point, and there are none"):
        ps.split(ps.load(str(tmp_path / "bare.onnx")), wrt="params")


def test_what_is_no_path_is_refused_and_a_model_in_memory_is_told_its_way() -> None:
    with pytest.raises(SpecError, match="not from a ModelProto") as caught:
        ps.load(onnx.ModelProto())  # type: ignore[arg-type]
    assert "onnx.save(model, path)" in str(caught.value)
    with pytest.raises(SpecError, match="not from a int"):
        ps.load(3)  # type: ignore[arg-type]
