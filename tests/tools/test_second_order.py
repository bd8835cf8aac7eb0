"""A sample of `tools/second_order.py`: written gradients of models, differentiated again by inputs and weights."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from tools.node_cases import Case
from tools.second_order import frozen_cases, verdict

MODELS = {
    "a layer with a norm": """(float[2,3] x, float[3,3] W, float[3] g, float[3] b) => (float[2,3] y)
        { a = MatMul (x, W) n = LayerNormalization (a, g, b) y = Tanh (n) }""",
    "a convolution with a slope": """(float[1,2,5] x, float[2,2,3] W, float[2] b, float[1] s) => (float[1,2,3] y)
        { a = Conv (x, W, b) y = PRelu (a, s) }""",
    "a branch": """(float[2,3] x, float[3,3] W, float[3] b) => (float[2,3] y)
        { z = Constant <value = float {0.0}> ()
          s = ReduceSum <keepdims = 0> (x) c = Greater (s, z)
          y = If (c) <then_branch = t () => (float[2,3] p) { q = MatMul (x, W) p = Sin (q) },
                      else_branch = e () => (float[2,3] r) { v = Transpose (W) u = MatMul (x, v) r = Mul (u, b) }> }""",
}


@pytest.mark.parametrize("name", MODELS)
def test_a_written_gradient_has_the_second_derivatives_of_its_model(name: str, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {MODELS[name]}')
    random = np.random.default_rng(0)
    shapes = [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input]
    case = Case(name, model, [random.standard_normal(shape).astype(np.float32) for shape in shapes], [])
    said = [verdict(made, tmp_path) for made in frozen_cases(case)]
    assert said == [("right", "")] * 2
