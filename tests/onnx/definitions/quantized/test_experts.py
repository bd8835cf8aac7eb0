"""QMoE: experts of packed integers are what onnxruntime's kernel computes, and have the gradients of their floats."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(3)
draw = drawing(rng)
TOKENS, FEATURES, INNER, EXPERTS = 5, 32, 32, 4


def packed(*shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def experts(
    bits: int, block: int = 0, *, fused: int = 1, zeros: bool = False, shares: bool = False, **attributes: Any
) -> Node:
    each, blocks = 8 // bits, (FEATURES // block,) if block else ()
    sizes = ((fused * INNER, FEATURES), (FEATURES, INNER))
    weights = [packed(EXPERTS, rows, columns // each) for rows, columns in sizes]
    scales = [rng.uniform(0.01, 0.02, (EXPERTS, rows, *blocks)).astype(np.float32) for rows, _ in sizes]
    points: list[Any] = [None, None]
    if zeros:
        points = [packed(EXPERTS, r, -(-blocks[0] // each)) if block else packed(EXPERTS, r // each) for r, _ in sizes]
    bias = [draw(EXPERTS, rows) for rows, _ in sizes]
    inputs = [draw(TOKENS, FEATURES), draw(TOKENS, EXPERTS), weights[0], scales[0], bias[0], weights[1], scales[1]]
    inputs += [bias[1], None, None, None, *points, None, rng.uniform(0.1, 0.9, (TOKENS, EXPERTS)).astype(np.float32)]
    fixed = frozenset(i for i in (2, 3, 5, 6, 11, 12) if inputs[i] is not None)
    how = {"expert_weight_bits": bits, "activation_type": "silu", "k": 2, **attributes}
    how |= {"block_size": block} if block else {}
    return Node("com.microsoft::QMoE", inputs if shares else inputs[:13], how, constant=fixed)


MIXTURES = {
    "4 bits": experts(4),
    "8 bits": experts(8),
    "blocks of 4 bits": experts(4, 16),
    "blocks of 2 bits": experts(2, 16),
    "zero points of rows": experts(4, zeros=True),
    "zero points of blocks": experts(4, 16, zeros=True),
    "shares of their own": experts(4, shares=True),
    "shares of their own that add up to one": experts(4, shares=True, normalize_routing_weights=1),
    "a gate": experts(
        4, 16, fused=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0
    ),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    check_node(MIXTURES[name], tmp_path, order=1, step=1e-3)


@pytest.mark.parametrize(
    "attributes", [{"quant_type": "fp8"}, {"use_sparse_mixer": 1}, {"weights_prepacked": 1}], ids=str
)
def test_experts_of_other_kinds_are_refused(attributes: dict[str, Any], tmp_path: Path) -> None:
    made = experts(4, **attributes)
    with pytest.raises(UnsupportedFunction, match="QMoE is read for experts"):
        ps.load(
            Node(made.kind, made.inputs, made.attributes, ranks=[2], constant=made.constant).save(tmp_path / "m.onnx")
        )
