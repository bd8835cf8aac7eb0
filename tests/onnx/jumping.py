"""A model with a node whose value jumps, and the ways to differentiate it."""

from pathlib import Path

import numpy as np
import onnx

import primsplit as ps

MODEL = """<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
    pipeline (float[N, 2] x, float[2] w) => (float[N, 2] y) {
        scaled = ai.onnx.ml.Scaler<offset = [0.5], scale = [2.0]>(x)
        [step] jumped = %s(scaled)
        y = Mul(jumped, w)
    }"""


TREE = (
    "ai.onnx.ml.TreeEnsembleRegressor<n_targets = 2, nodes_featureids = [0, 0, 0], nodes_falsenodeids = [2, 0, 0],"
    'nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids = [0, 1, 2], nodes_treeids = [0, 0, 0],'
    "nodes_truenodeids = [1, 0, 0], nodes_values = [0.0, 0.0, 0.0], target_ids = [0, 1], target_nodeids = [1, 2],"
    "target_treeids = [0, 0], target_weights = [3.0, 5.0]>"
)


STEPS = {
    "TreeEnsembleRegressor": (TREE, "between its thresholds"),
    "Binarizer": ("ai.onnx.ml.Binarizer<threshold = 0.25>", "both sides of its threshold"),
    "LabelEncoder": (
        "ai.onnx.ml.LabelEncoder<keys_floats = [0.0], values_floats = [3.0], default_float = 1.0>",
        "looked up among keys",
    ),
}


X, W = np.array([[0.25, 0.5], [1.0, 2.0]], np.float32), np.array([2.0, 4.0], np.float32)


def saved(name: str, folder: Path) -> str:
    onnx.save(onnx.parser.parse_model(MODEL % STEPS[name][0]), folder / "pipeline.onnx")
    return str(folder / "pipeline.onnx")


TRANSFORMS = {
    "grad": lambda f, x: ps.grad(lambda x: np.sum(f(x)))(x),
    "jvp": lambda f, x: ps.jvp(f, (x,), (x,)),
    "hvp": lambda f, x: ps.value_grad_and_hvp(lambda x: np.sum(f(x)))(x, x),
    "jacobian": lambda f, x: ps.jacobian(f)(x),
    "grad of vmap": lambda f, x: ps.grad(lambda x: np.sum(ps.vmap(lambda row: f(row[None]))(x)))(x),
    "vmap of grad": lambda f, x: ps.vmap(ps.grad(lambda row: np.sum(f(row[None]))))(x),
}
