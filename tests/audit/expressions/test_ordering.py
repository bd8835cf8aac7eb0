"""Orders, places and blocks as calls of helpers."""

import numpy as np

from tests.audit.expressions.written import text_of


def test_the_greatest_elements() -> None:
    assert text_of("TopK", "float32[4]", np.array([2]), outputs=2) == "_top_k(a, [2], axis=-1, largest=1)"
    assert text_of("TopK", "float32[4]", outputs=2, opset=1, k=3) == "_top_k(a, 3, axis=-1, largest=1)"


def test_blocks_and_diagonals() -> None:
    assert text_of("DepthToSpace", "float32[1,4,2,2]", blocksize=2) == "_depth_to_space(a, blocksize=2)"
    assert text_of("EyeLike", "float32[2,2]", k=1) == "_eye_like(a, np.float32, k=1)"
    assert text_of("EyeLike", "float32[2,2]", dtype=7) == "_eye_like(a, np.int64)"
