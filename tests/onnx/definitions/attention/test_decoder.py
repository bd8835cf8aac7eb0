"""DecoderMaskedMultiHeadAttention is what onnxruntime's kernel computes, whose cache is one buffer before and after."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, is_float, kernel, kernel_in_place, ranked
from tests.versions import since

rng = np.random.default_rng(12)
draw = drawing(rng)
BATCH, HEADS, SIZE, PAST, ROOM = 2, 3, 4, 5, 9
HIDDEN = HEADS * SIZE


def mask(length: int) -> Any:
    return np.maximum(rng.random((BATCH, length)) < 0.6, np.arange(length) == 0).astype(np.int32)


def own(past: int, *, hides: bool = False, biased: bool = False, moved: bool = False, **attributes: Any) -> Node:
    """A word beside those of its own row so far."""
    words = [draw(BATCH, 1, HIDDEN) for _ in range(3)]
    hidden = mask(past + 1) if hides else None
    moves = draw(BATCH, HEADS, 1, past + 1) if moved else None
    caches = [draw(BATCH, HEADS, ROOM, SIZE) for _ in range(2)]
    bias = draw(3 * HIDDEN) if biased else None
    inputs = [*words, hidden, moves, *caches, np.array([past], np.int32), None, None, bias]
    how = {"num_heads": HEADS, "past_present_share_buffer": 1, **attributes}
    outputs = ("float32",) * 3
    return Node("com.microsoft::DecoderMaskedMultiHeadAttention", inputs, how, outputs, ranks=[3, 4, 4])


def across(*, hides: bool = False, biased: bool = False) -> Node:
    """A word beside the keys and values of another row."""
    caches = [draw(BATCH, HEADS, PAST, SIZE) for _ in range(2)]
    inputs = [draw(BATCH, 1, HIDDEN), *caches, mask(PAST) if hides else None, *[None] * 6]
    inputs.append(draw(3 * HIDDEN) if biased else None)
    return Node("com.microsoft::DecoderMaskedMultiHeadAttention", inputs, {"num_heads": HEADS}, ranks=[3])


CASES = {
    "a word after others": own(PAST),
    "the first word": own(0),
    "some words hidden": own(PAST, hides=True),
    "queries, keys and values moved": own(PAST, biased=True),
    "scores moved": own(PAST, moved=True, scale=0.3),
    "keys of another row": across(),
    "keys of another row, some hidden": across(hides=True, biased=True),
}


@since("onnxruntime", "1.31", "its own kernel reads the caches otherwise, and ends the process at some")
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    given = CASES[name]
    path = tmp_path / "kernel.onnx"
    expected = kernel(given, path) if len(given.outputs) == 1 else kernel_in_place(given, path, {1: 5, 2: 6})
    given = ranked(given, expected)
    found = ps.load(given.save(tmp_path / "node.onnx"))(*given.fed().values())
    for mine, theirs in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    wide = given.wide()
    arrays = [x.astype(np.float64) if is_float(x) else x for x in wide.fed().values()]
    program = ps.load(wide.save(tmp_path / "wide.onnx"))
    check_grads(program, *arrays, order=1, symbolic=False, tolerance=1e-6, step=1e-3)


def test_beams_are_refused(tmp_path: Path) -> None:
    given = own(PAST)
    beams = np.zeros((BATCH, 1, ROOM), np.int32)
    inputs = [*given.inputs[:8], np.array([1], np.int32), beams, None]
    made = Node(given.kind, inputs, given.attributes, given.outputs, ranks=given.ranks)
    with pytest.raises(UnsupportedFunction, match="with beams"):
        ps.load(made.save(tmp_path / "m.onnx"))
