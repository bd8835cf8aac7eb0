"""GroupQueryAttention whose cache keeps the last words is what onnxruntime's kernel computes."""

from pathlib import Path

import numpy as np
import pytest

from primsplit.ir.errors import RunError, ShapeError
from tests.onnx.definitions.attention.nodes import ints, title
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, defined
from tests.versions import since

rng = np.random.default_rng(2)

draw = drawing(rng)

F = "float32"


GROUPS = {"num_heads": 4, "kv_num_heads": 2}

NEXT = [draw(2, 1, 32), draw(2, 1, 16), draw(2, 1, 16)]

LATER = [draw(1, 2, 32), draw(1, 2, 16), draw(1, 2, 16)]


def windowed(inputs: list[object], room: int, last: list[int], *, names: bool = False, softcap: float = 0.0) -> Node:
    """Attention whose cache has room for this many words; at these last words all of it is taken."""
    rows = len(last)
    past = [draw(rows, 2, room, 8), draw(rows, 2, room, 8)]
    return Node(
        "com.microsoft::GroupQueryAttention",
        [*inputs, *past, ints(*last), np.asarray(max(last) + 1, np.int32)],
        {**GROUPS, "sliding_window_cache": 1, "local_window_size": 3, "softcap": softcap},
        (F, F, F),
        {i: [rows, 2, "C", 8] for i in (3, 4)} if names else {},
    )


WINDOWED = [
    windowed(NEXT, 3, [4, 2]),
    windowed(NEXT, 4, [5, 3], softcap=1.5),
    windowed(LATER, 5, [7], names=True),
    windowed([draw(1, 6, 32), draw(1, 6, 16), draw(1, 6, 16)], 3, [5]),
]


@pytest.mark.parametrize("names", [False, True])
def test_a_cache_that_cannot_hold_its_window_is_refused(names: bool, tmp_path: Path) -> None:
    with pytest.raises((ShapeError, RunError), match=r"cannot hold a window of 3|out of bounds|indices element"):
        defined(windowed(NEXT, 2, [4, 2], names=names), tmp_path / "node.onnx")


KERNELS = since("onnxruntime", "1.31", "its own kernels read masks and windows otherwise, or lack inputs")


@pytest.mark.sweep(2)
@KERNELS
@pytest.mark.parametrize("row", WINDOWED, ids=title)
def test_grouped_attention_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=2 if row.declared else 1, step=2e-3)
