"""Experts, hyper-connections, gates, rotations by three positions and crops are what onnxruntime's kernels compute."""

from pathlib import Path

import numpy as np
import pytest

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


GROUPED, FLAT = (2, 3, STREAMS, FEATURES), (2, 3, STREAMS * FEATURES)
GATES = [(2, 3, STREAMS), (2, 3, STREAMS, 1), GROUPED]
MIXES = {
    "streams normalized": microsoft("BranchwiseRMSNorm", draw(*GROUPED), draw(STREAMS, FEATURES)),
    "streams normalized alike": microsoft(
        "BranchwiseRMSNorm", draw(*FLAT), draw(FEATURES), num_branches=STREAMS, epsilon=0.1
    ),
    "streams in one axis": microsoft("BranchwiseRMSNorm", draw(*FLAT), draw(STREAMS * FEATURES), num_branches=STREAMS),
    "streams without a scale": microsoft("BranchwiseRMSNorm", draw(*GROUPED)),
    **{
        f"streams added up by gates {len(shape)} {shape[-1]}": microsoft(
            "HyperConnectionPreMix", draw(*GROUPED), draw(*shape), reduction_scale=0.5
        )
        for shape in GATES
    },
    "flat streams added up": microsoft("HyperConnectionPreMix", draw(*FLAT), draw(*FLAT), num_branches=STREAMS),
    "flat streams added up by few gates": microsoft(
        "HyperConnectionPreMix", draw(*FLAT), draw(*GATES[0]), num_branches=STREAMS
    ),
    **{
        f"streams mixed by gates {len(shape)} {shape[-1]}": microsoft(
            "HyperConnectionPostMix", draw(*GROUPED), draw(2, 3, FEATURES), draw(*shape), draw(2, 3, STREAMS, STREAMS)
        )
        for shape in GATES
    },
    "flat streams kept": microsoft(
        "HyperConnectionPostMix", draw(*FLAT), draw(2, 3, FEATURES), draw(*GATES[0]), num_branches=STREAMS
    ),
    "a decay and a rate": microsoft("LinearAttentionGate", draw(2, 5, 3), draw(3), draw(3), draw(2, 5, 3), outputs=2),
    "a decay": microsoft("LinearAttentionGate", draw(2, 5, 3), draw(3), draw(3)),
    "a gate by likeness": microsoft(
        "EngramGate",
        draw(*GROUPED),
        draw(*GROUPED),
        draw(2, 3, FEATURES),
        draw(STREAMS, FEATURES),
        draw(STREAMS, FEATURES),
    ),
    "a gate by likeness, normalized": microsoft(
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


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", MIXES)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    check_node(MIXES[name], tmp_path, order=1, step=1e-3)
