"""Rows of a softmax that a loaded model sets to zero: the derivative is 0 there, and the softmax's elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser

import primsplit as ps
from primsplit.testing import directional_derivative

SAFE = {
    "zeros where the softmax is NaN": "n = IsNaN(s) y = Where(n, zero, s)",
    "zeros by a mask of rows": "low = ReduceMax<keepdims = 1>(bias, axes) n = Equal(low, least) y = Where(n, zero, s)",
    "zeros after a cast": "c = Cast<to = 1>(s) n = IsNaN(c) z = CastLike(zero, c) y = Where(n, z, c)",
}
BIAS = np.array([[0, -np.inf, 0.5], [-np.inf] * 3, [0.25, 0, -1]], np.float32)


def model_of(ending: str, folder: Path) -> ps.Program:
    text = f"""
        <ir_version: 10, opset_import: ["": 21]>
        f (float[N, 3] x, float[3, 3] bias) => (float[N, 3] y)
        <float zero = {{0.0}}, float least = {{-1.0}}, int64[1] axes = {{-1}}>
        {{ m = Add(x, bias) s = Softmax<axis = -1>(m) {ending} }}"""
    made = parser.parse_model(text)
    for tensor in made.graph.initializer:
        if tensor.name == "least":  # text has no infinity
            tensor.CopyFrom(onnx.helper.make_tensor("least", TensorProto.FLOAT, [], [-np.inf]))
    onnx.save(made, folder / "f.onnx")
    return ps.load(str(folder / "f.onnx"))


def by_numpy(x: Any) -> Any:
    shares = np.exp(x + BIAS)
    return shares / np.maximum(shares.sum(-1, keepdims=True), 1e-300)


@pytest.mark.parametrize("ending", SAFE.values(), ids=list(SAFE))
def test_a_row_that_is_set_to_zero_has_a_gradient_and_a_tangent_of_zero(ending: str, tmp_path: Path) -> None:
    program = model_of(ending, tmp_path)
    random = np.random.default_rng(0)
    x, seed, line = (random.standard_normal((3, 3)) for _ in range(3))
    narrow = [a.astype(np.float32) for a in (x, BIAS, seed)]
    value, gradient = ps.split(program, wrt=["x"]).joint()(*narrow)
    np.testing.assert_allclose(value, by_numpy(x), rtol=1e-5)
    assert not gradient[1].any()
    wanted = directional_derivative(lambda a: float(np.sum(by_numpy(a[0]) * seed)), [x], [line])
    np.testing.assert_allclose(np.sum(gradient * line), wanted, rtol=1e-4)
    joint = ps.split(program, wrt=["x"]).joint()
    again = ps.split(joint, wrt=["x"], of=[joint.outputs[1]]).joint()(*narrow, narrow[2])
    assert np.isfinite(again[-1]).all()
    assert not again[-1][1].any()
    _, tangent = ps.jvp(lambda a: program(a, BIAS), (narrow[0],), (line.astype(np.float32),))
    np.testing.assert_allclose(np.sum(tangent * seed), wanted, rtol=1e-4)


@pytest.mark.parametrize(
    "ending",
    [
        "n = IsNaN(m) y = Where(n, zero, s)",
        "n = Equal(bias, least) y = Where(n, zero, s)",
        "n = IsNaN(s) y = Where(n, least, s)",
    ],
)
def test_what_sets_single_elements_or_another_number_is_left_alone(ending: str, tmp_path: Path) -> None:
    program = model_of(ending, tmp_path)
    assert "MaskedSoftmax" not in program.listing()
