"""SparseAttention is what onnxruntime's kernel computes, whose cache is one buffer before and after."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, is_float, kernel_in_place

rng = np.random.default_rng(8)
draw = drawing(rng)
BLOCK, ROOM, HEADS, SHARED, SIZE = 16, 64, 4, 2, 16


def compressed(layouts: list[Any]) -> tuple[Any, Any]:
    """The row and column indices of block masks, the shorter ones filled up with -1."""
    columns = [[int(c) for line in mask for c in np.flatnonzero(line)] for mask in layouts]
    rows = [[0, *np.cumsum([line.sum() for line in mask])] for mask in layouts]
    longest = max(map(len, columns))
    return np.array(rows, np.int32), np.array([c + [-1] * (longest - len(c)) for c in columns], np.int32)


def node(length: int, past: int, *, layouts: int = 2, is_packed: bool = False, rotary: int | None = None) -> Node:
    count = ROOM // BLOCK
    masks = [np.tril(rng.random((count, count)) < 0.5) | np.eye(count, dtype=bool) for _ in range(layouts)]
    query = draw(2, length, (HEADS + 2 * SHARED if is_packed else HEADS) * SIZE)
    key, value = (None if is_packed else draw(2, length, SHARED * SIZE) for _ in range(2))
    angles = rng.uniform(0, 6, (ROOM, SIZE // 2))
    turns = [None, None] if rotary is None else [f(angles).astype(np.float32) for f in (np.cos, np.sin)]
    total = past + length
    caches = (draw(2, SHARED, ROOM, SIZE), draw(2, SHARED, ROOM, SIZE))
    inputs = [
        query,
        key,
        value,
        *caches,
        *compressed(masks),
        np.array(total, np.int32),
        np.full(2, total, np.int32),
        *turns,
    ]
    how = {"num_heads": HEADS, "kv_num_heads": SHARED, "sparse_block_size": BLOCK}
    how |= {} if rotary is None else {"do_rotary": 1, "rotary_interleaved": rotary}
    return Node(
        "com.microsoft::SparseAttention",
        inputs,
        how,
        outputs=("float32",) * 3,
        ranks=[3, 4, 4],
        constant=frozenset({5, 6}),
    )


CASES = {
    "a prompt": node(20, 0),
    "a word after others": node(1, 37),
    "one layout for all heads": node(1, 50, layouts=1),
    "queries, keys and values in one": node(33, 0, is_packed=True),
    "turned by position": node(30, 0, rotary=0),
    "a word turned in pairs": node(1, 20, rotary=1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_kernels(name: str, tmp_path: Path) -> None:
    given = CASES[name]
    expected = kernel_in_place(given, tmp_path / "kernel.onnx", {1: 3, 2: 4})
    found = ps.load(given.save(tmp_path / "node.onnx"))(*given.fed().values())
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["a prompt", "a word turned in pairs"])
def test_the_gradient_is_right(name: str, tmp_path: Path) -> None:
    given = CASES[name].wide()
    program = ps.load(given.save(tmp_path / "wide.onnx"))
    arrays = [x.astype(np.float64) if is_float(x) else x for x in given.fed().values()]
    check_grads(program, *arrays, order=1, symbolic=False, tolerance=1e-6, step=1e-3)


def test_a_layout_that_only_the_run_knows_is_refused(tmp_path: Path) -> None:
    given = node(1, 20)
    with pytest.raises(UnsupportedFunction, match="layout that is constant"):
        ps.load(
            Node(given.kind, given.inputs, given.attributes, given.outputs, ranks=given.ranks).save(tmp_path / "m.onnx")
        )
