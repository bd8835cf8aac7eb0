"""Steps of optimizers are those of onnx's reference, which rounds them to float32."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import primsplit as ps
from primsplit.testing import check_grads

rng = np.random.default_rng(5)
TRAINING = "ai.onnx.preview.training"
STEPS = [
    ("Adagrad", 3, {"norm_coefficient": 0.01, "epsilon": 1e-5, "decay_factor": 0.1}),
    ("Adagrad", 3, {}),
    ("Momentum", 3, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.5, "mode": "standard"}),
    ("Momentum", 3, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.5, "mode": "nesterov"}),
    ("Adam", 4, {"norm_coefficient": 0.01, "alpha": 0.95, "beta": 0.1, "norm_coefficient_post": 0.25}),
    ("Adam", 4, {}),
]


def model(kind: str, count: int, attributes: dict[str, Any], tensors: int) -> onnx.ModelProto:
    names = [f"v{i}" for i in range(count * tensors)]
    shapes = [[3, 2], [4]]
    inputs = [helper.make_tensor_value_info(n, 11, shapes[i % tensors]) for i, n in enumerate(names)]
    scalars = [helper.make_tensor_value_info("r", 11, []), helper.make_tensor_value_info("t", 7, [])]
    outputs = [f"o{i}" for i in range((count - 1) * tensors)]
    node = helper.make_node(kind, ["r", "t", *names], outputs, domain=TRAINING, **attributes)
    ends = [helper.make_tensor_value_info(n, 11, shapes[i % tensors]) for i, n in enumerate(outputs)]
    graph = helper.make_graph([node], "g", [*scalars, *inputs], ends)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(("kind", "count", "attributes"), STEPS)
@pytest.mark.parametrize("tensors", [1, 2])
def test_a_step_is_that_of_the_reference(
    kind: str, count: int, attributes: dict[str, Any], tensors: int, tmp_path: Path
) -> None:
    made = model(kind, count, attributes, tensors)
    path = str(tmp_path / "step.onnx")
    onnx.save(made, path)
    program = ps.load(path)
    shapes = [(3, 2), (4,)]
    arrays = [np.abs(rng.standard_normal(shapes[i % tensors])) + 0.1 for i in range(count * tensors)]
    for step in (0, 3):
        given = [np.asarray(0.1), np.asarray(step), *arrays]
        feeds = dict(zip(["r", "t", *(f"v{i}" for i in range(count * tensors))], given, strict=True))
        expected = ReferenceEvaluator(made).run(None, feeds)
        for found, wanted in zip(program(*given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    if tensors == 1:
        check_grads(program, np.asarray(0.1), np.asarray(3), *arrays, order=1, symbolic=False)
