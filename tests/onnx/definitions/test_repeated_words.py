"""Operators of com.microsoft on words: what would repeat them, and their quantized embeddings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(9)


@pytest.mark.parametrize("length", [1, 2, 8, 30])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_words_that_would_repeat_what_was_said_are_hidden_as_by_the_kernel(
    size: int, length: int, tmp_path: Path
) -> None:
    words, scores = rng.integers(0, 5, (3, length)), rng.standard_normal((3, 7)).astype(np.float32)
    given = Node(
        "com.microsoft::NGramRepeatBlock",
        [words, scores],
        {"ngram_size": size},
        declared={0: ["B", "L"], 1: ["B", "V"]},
    )
    check_node(given, tmp_path, order=0)


def integers(*shape: int) -> Any:
    return rng.integers(0, 255, shape).astype(np.uint8)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("is_segmented", [False, True])
def test_quantized_embeddings_are_those_of_the_kernel(is_segmented: bool, is_masked: bool, tmp_path: Path) -> None:
    words = rng.integers(0, 10, (2, 3)).astype(np.int32)
    segments = np.array([[0, 1, 0], [1, 1, 0]], np.int32) if is_segmented else None
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32) if is_masked else None
    scales: list[Any] = [np.array(s, np.float32) for s in (0.1, 0.05, 0.2, 0.01, 0.02)]
    zeros: list[Any] = [np.array(z, np.uint8) for z in (120, 130, 125, 20, 128)]
    tables: list[Any] = [integers(10, 8), integers(5, 8), integers(2, 8), integers(8), integers(8)]
    if not is_segmented:
        tables[2] = scales[2] = zeros[2] = None
    inputs = [words, segments, *tables, mask, *scales, *zeros]
    fixed = frozenset(i for i in (*range(2, 7), *range(8, 18)) if inputs[i] is not None)
    given = Node("com.microsoft::QEmbedLayerNormalization", inputs, outputs=("float32", "int32"), constant=fixed)
    check_node(given, tmp_path, order=0)
