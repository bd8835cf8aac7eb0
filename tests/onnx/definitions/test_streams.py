"""Experts, hyper-connections, gates, rotations by three positions and crops are what onnxruntime's kernels compute."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(4)
TOKENS, FEATURES, INNER, EXPERTS, STREAMS = 5, 4, 3, 4, 3


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32) * np.float32(0.7)


def node(name: str, *inputs: np.ndarray | None, constant: int | None = None, outputs: int = 1, **attributes) -> Node:
    fixed = frozenset() if constant is None else frozenset({constant})
    return Node(f"com.microsoft::{name}", inputs, attributes, outputs=("float32",) * outputs, constant=fixed)


def experts(activation: str, *, is_batch: bool = False, bias: bool = True, fused: int = 1, **attributes) -> Node:
    x = draw(1, TOKENS, FEATURES) if is_batch else draw(TOKENS, FEATURES)
    return node(
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
GROUPED, FLAT = (2, 3, STREAMS, FEATURES), (2, 3, STREAMS * FEATURES)
GATES = [(2, 3, STREAMS), (2, 3, STREAMS, 1), GROUPED]
MIXES = {
    "streams normalized": node("BranchwiseRMSNorm", draw(*GROUPED), draw(STREAMS, FEATURES)),
    "streams normalized alike": node(
        "BranchwiseRMSNorm", draw(*FLAT), draw(FEATURES), num_branches=STREAMS, epsilon=0.1
    ),
    "streams in one axis": node("BranchwiseRMSNorm", draw(*FLAT), draw(STREAMS * FEATURES), num_branches=STREAMS),
    "streams without a scale": node("BranchwiseRMSNorm", draw(*GROUPED)),
    **{
        f"streams added up by gates {len(shape)} {shape[-1]}": node(
            "HyperConnectionPreMix", draw(*GROUPED), draw(*shape), reduction_scale=0.5
        )
        for shape in GATES
    },
    "flat streams added up": node("HyperConnectionPreMix", draw(*FLAT), draw(*FLAT), num_branches=STREAMS),
    "flat streams added up by few gates": node(
        "HyperConnectionPreMix", draw(*FLAT), draw(*GATES[0]), num_branches=STREAMS
    ),
    **{
        f"streams mixed by gates {len(shape)} {shape[-1]}": node(
            "HyperConnectionPostMix", draw(*GROUPED), draw(2, 3, FEATURES), draw(*shape), draw(2, 3, STREAMS, STREAMS)
        )
        for shape in GATES
    },
    "flat streams kept": node(
        "HyperConnectionPostMix", draw(*FLAT), draw(2, 3, FEATURES), draw(*GATES[0]), num_branches=STREAMS
    ),
    "a decay and a rate": node("LinearAttentionGate", draw(2, 5, 3), draw(3), draw(3), draw(2, 5, 3), outputs=2),
    "a decay": node("LinearAttentionGate", draw(2, 5, 3), draw(3), draw(3)),
    "a gate by likeness": node(
        "EngramGate",
        draw(*GROUPED),
        draw(*GROUPED),
        draw(2, 3, FEATURES),
        draw(STREAMS, FEATURES),
        draw(STREAMS, FEATURES),
    ),
    "a gate by likeness, normalized": node(
        "EngramGate",
        draw(*GROUPED),
        draw(*GROUPED),
        draw(2, 3, FEATURES),
        draw(STREAMS, FEATURES),
        draw(STREAMS, FEATURES),
        draw(STREAMS, FEATURES),
        outputs=2,
    ),
}
POSITIONS = rng.integers(0, 9, (3, 2, 5))
TURNS = {
    f"sections {section}, layout {layout}, interleaved {interleaved}": node(
        "MRotaryEmbedding",
        draw(2, 3, 5, 12),
        POSITIONS,
        draw(9, 6),
        draw(9, 6),
        mrope_section=section,
        mrope_layout=layout,
        interleaved=interleaved,
    )
    for section, layout, interleaved in (([2, 3, 1], 0, 0), ([2, 2, 2], 1, 1), ([3, 2, 1], 1, 0), ([6, 0, 0], 0, 1))
} | {
    "some features of packed heads": node(
        "MRotaryEmbedding",
        draw(2, 5, 36),
        POSITIONS,
        draw(9, 4),
        draw(9, 4),
        mrope_section=[2, 1, 1],
        num_heads=3,
        rotary_embedding_dim=8,
    )
}
BOXES = np.array(
    [[0.06, 0.03, 0.88, 0.96], [0.21, 0.13, 0.68, 0.92], [-0.2, 0.31, 1.3, 0.47], [0.83, 0.88, 0.12, 0.23]]
)


def crops(mode: str, *size: int) -> Node:
    return node(
        "CropAndResize",
        draw(2, 3, 5, 6),
        BOXES.astype(np.float32),
        np.array([0, 1, 1, 0], np.int32),
        np.array(size, np.int32),
        constant=3,
        mode=mode,
        extrapolation_value=0.5,
    )


CROPS = {
    **{f"{mode} crops of {size}": crops(mode, *size) for mode in ("bilinear", "nearest") for size in ((3, 4), (1, 2))},
    "pads that are an input": node(
        "ConvTransposeWithDynamicPads",
        draw(2, 3, 4, 4),
        draw(3, 2, 3, 3),
        np.array([1, 0, 1, 2]),
        draw(2),
        constant=2,
        strides=[2, 2],
    ),
}
EVERY = {**MIXTURES, **MIXES, **TURNS, **CROPS}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", EVERY)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    order = 1 if name in MIXES or name in CROPS else 2
    check_node(EVERY[name], tmp_path, order=order, step=1e-3)


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
    "a crop of a size that only the run knows": (
        Node("com.microsoft::CropAndResize", CROPS["bilinear crops of (3, 4)"].inputs, ranks=[4]),
        "only the run knows",
    ),
    "pads that only the run knows": (
        Node("com.microsoft::ConvTransposeWithDynamicPads", CROPS["pads that are an input"].inputs, ranks=[4]),
        "only the run knows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_definition_is_refused_at_its_node(name: str, tmp_path: Path) -> None:
    made, words = REFUSED[name]
    with pytest.raises(UnsupportedFunction, match=words):
        ps.load(made.save(tmp_path / "m.onnx"))
