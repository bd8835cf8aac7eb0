"""RotaryEmbedding: values of onnx's reference, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit import trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)

draw = drawing(rng, "float64")

INDEX = np.array([[0, 3, 1], [5, 2, 2]])

ROTARY: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "halves": ([draw(2, 2, 3, 4), draw(2, 3, 2), draw(2, 3, 2)], {}),
    "neighbours": ([draw(2, 2, 3, 4), draw(2, 3, 2), draw(2, 3, 2)], {"interleaved": 1}),
    "caches": ([draw(2, 2, 3, 4), draw(6, 2), draw(6, 2), INDEX], {}),
    "packed": ([draw(2, 3, 8), draw(2, 3, 2), draw(2, 3, 2)], {"num_heads": 2}),
    "packed, a part": ([draw(2, 3, 8), draw(6, 1), draw(6, 1), INDEX], {"num_heads": 2, "rotary_embedding_dim": 2}),
    "neighbours, a part": (
        [draw(2, 2, 3, 6), draw(2, 3, 2), draw(2, 3, 2)],
        {"interleaved": 1, "rotary_embedding_dim": 4},
    ),
}

CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    **{f"RotaryEmbedding, {k}": ("RotaryEmbedding", i, a, 1, None) for k, (i, a) in ROTARY.items()},
}  # fmt: skip

REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("RotaryEmbedding", [draw(2, 3, 8), draw(2, 3, 2), draw(2, 3, 2)], {}, "needs num_heads"),
    ("RotaryEmbedding", [draw(2, 2, 3, 5), draw(2, 3, 2), draw(2, 3, 2)], {}, "pairs of features, and there are 5"),
    ("RotaryEmbedding", [draw(2, 2, 3, 6), draw(2, 3, 1), draw(2, 3, 1)], {}, "a cache has 1 angles"),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes", "words"), REFUSED)
def test_a_form_that_the_standard_does_not_have_is_refused(
    kind: str, inputs: list[Any], attributes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PrimsplitError, match=words):
        trace(operator(kind, **attributes), *inputs)


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    check_grads(
        operator(kind, outputs=outputs, reference=reference, **attributes),
        *inputs,
        resize=(1,) if name.endswith("a part") else (1, 0),
    )
