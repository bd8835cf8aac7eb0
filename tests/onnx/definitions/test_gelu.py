"""Gaussian error linear units of com.microsoft are what onnxruntime's kernels compute."""

from pathlib import Path

import numpy as np
import pytest

from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, loaded_with_constants, microsoft, title

rng = np.random.default_rng(0)

draw = drawing(rng)


GELUS = [
    microsoft("Gelu", draw(3, 4), declared={0: ["N", 4]}),
    microsoft("FastGelu", draw(3, 4), declared={0: ["N", 4]}),
    microsoft("FastGelu", draw(2, 3, 4), draw(4)),
    microsoft("QuickGelu", draw(3, 4), declared={0: ["N", 4]}),
    microsoft("QuickGelu", draw(3, 4), alpha=0.5),
    microsoft("QuickGelu", draw(3, 4), alpha=1.0),
    microsoft("BiasGelu", draw(2, 3, 4), draw(4), declared={0: ["B", "S", 4]}),
    microsoft("ScaledSiLU", draw(3, 4), alpha=1.5),
    microsoft("ScaledSiLU", draw(3, 4), np.asarray(0.5, np.float32)),
]


@pytest.mark.parametrize("row", GELUS, ids=title)
def test_a_gelu_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


def test_gemm_fast_gelu_is_a_product_and_its_gelu(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, w, b = random.normal(size=(3, 4)), random.normal(size=(4, 2)), random.normal(size=2)
    model = loaded_with_constants(tmp_path, "GemmFastGelu", [x, w, b], 2, "float64")

    def expected(x):
        z = x @ w + b
        return 0.5 * z * (1 + np.tanh(0.7978845608028654 * z + 0.035677408136300125 * z**3))

    np.testing.assert_allclose(model(x), expected(x), rtol=1e-6)
    check_grads(lambda x: (model(x) ** 2).sum(), x, symbolic=False)
