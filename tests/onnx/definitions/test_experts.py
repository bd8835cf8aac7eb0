"""Mixtures of experts are what onnxruntime's kernels or the formulas of their documentation compute."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.definitions.kernels import Node, check_node, microsoft

rng = np.random.default_rng(4)

TOKENS, FEATURES, INNER, EXPERTS, STREAMS = 5, 4, 3, 4, 3


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32) * np.float32(0.7)


def experts(activation: str, *, is_batch: bool = False, bias: bool = True, fused: int = 1, **attributes) -> Node:
    x = draw(1, TOKENS, FEATURES) if is_batch else draw(TOKENS, FEATURES)
    return microsoft(
        "MoE",
        x,
        draw(TOKENS, EXPERTS),
        draw(EXPERTS, fused * INNER, FEATURES),
        draw(EXPERTS, fused * INNER) if bias else None,
        draw(EXPERTS, FEATURES, INNER),
        draw(EXPERTS, FEATURES) if bias else None,
        activation_type=activation,
        **attributes,
    )


@pytest.mark.parametrize("fusion", [0, 2])
def test_experts_under_gates_that_no_kernel_computes_here(fusion: int, tmp_path: Path) -> None:
    """The formula of the documentation, an expert and a token at a time."""
    x, router, second = draw(TOKENS, FEATURES), draw(TOKENS, EXPERTS), draw(EXPERTS, FEATURES, INNER)
    gates, linear = draw(EXPERTS, INNER, FEATURES), draw(EXPERTS, INNER, FEATURES)
    weights = [gates, None, second, None, linear] if fusion == 0 else [np.concatenate([gates, linear], 1), None, second]
    made = Node(
        "com.microsoft::MoE",
        [x, router, *weights],
        {"activation_type": "swiglu", "swiglu_fusion": fusion, "k": 2},
        ranks=[2],
    )
    likely = np.exp(router) / np.exp(router).sum(1, keepdims=True)
    expected = np.zeros_like(x)
    for t in range(TOKENS):
        for e in np.argsort(-router[t])[:2]:
            gate = gates[e] @ x[t]
            expected[t] += likely[t, e] * second[e] @ (gate / (1 + np.exp(-gate)) * (linear[e] @ x[t]))
    np.testing.assert_allclose(
        ps.load(made.save(tmp_path / "m.onnx"))(*made.fed().values()), expected, rtol=1e-4, atol=1e-5
    )


REFUSED = {
    "experts that are drawn": (experts("silu", k=2, use_sparse_mixer=1), "use_sparse_mixer"),
}

MIXTURES = {
    "the likeliest expert": experts("silu", k=1),
    "the two likeliest experts": experts("silu", k=2),
    "weights that add up to one": experts("gelu", k=2, normalize_routing_weights=1),
    "a batch of sequences": experts("identity", k=3, is_batch=True),
    "no biases": experts("silu", k=2, bias=False),
    "a gate beside each neighbour": experts(
        "swiglu", k=2, fused=2, swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0
    ),
    "a bounded gate": experts("swiglu", k=2, fused=2, swiglu_fusion=1, swiglu_limit=5.0, normalize_routing_weights=1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_definition_is_refused_at_its_node(name: str, tmp_path: Path) -> None:
    made, words = REFUSED[name]
    with pytest.raises(UnsupportedFunction, match=words):
        ps.load(made.save(tmp_path / "m.onnx"))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MIXTURES)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    check_node(MIXTURES[name], tmp_path, order=2, step=1e-3)
