"""Col2Im with an image or a block whose sizes only the run knows."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rewrites.decompositions.reference import expected, numbers


@pytest.mark.parametrize(
    ("image", "block", "attributes"),
    [
        ([5, 6], [2, 3], {}),
        ([5, 6], [2, 3], {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
        ([6, 7], [2, 2], {"dilations": [2, 3]}),
        ([7], [3], {"strides": [2]}),
    ],
)
def test_blocks_are_added_up_in_the_image(image: list[int], block: list[int], attributes: dict[str, Any]) -> None:
    rank = len(image)
    steps, apart = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
    pads = attributes.get("pads", [0] * 2 * rank)
    counts = [
        (n + pads[i] + pads[i + rank] - apart[i] * (block[i] - 1) - 1) // steps[i] + 1 for i, n in enumerate(image)
    ]
    x = numbers(2, 3 * int(np.prod(block)), int(np.prod(counts))).astype(np.float32)
    sizes = np.array(image), np.array(block)
    program = ps.trace(
        lambda x, image, block: op.Col2Im(x, image, block, **attributes), ps.spec("float32", x.shape),
        ps.spec("int64", [rank]), ps.spec("int64", [rank]),
    )  # fmt: skip
    (wanted,) = expected("Col2Im", x, *sizes, **attributes)
    np.testing.assert_allclose(program(x, *sizes), wanted, rtol=1e-6, atol=1e-6)
