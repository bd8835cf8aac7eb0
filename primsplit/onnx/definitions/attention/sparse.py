"""Define SparseAttention of `com.microsoft`: attention to some blocks of the words before (Abdin et al.

2024, Phi-3).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.attention.group_query import group_query_attention
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import int_scalar


@defines("com.microsoft::SparseAttention")
def sparse_attention(
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array,
    past_value: Array,
    block_rows: Array,
    block_columns: Array,
    total: Array,
    words: Array,
    cosines: Array | None = None,
    sines: Array | None = None,
    *,
    outputs: int = 3,
    num_heads: int,
    kv_num_heads: int,
    sparse_block_size: int,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
) -> tuple[Any, ...]:
    """Return `GroupQueryAttention` to the blocks that a layout admits, and the keys and values of all words so far.

    `words` is the number of words of each row. The layouts, in compressed rows, alternate over the heads. Raises
    UnsupportedFunction for layouts that only the run knows.
    """
    rows, columns = block_rows.known(), block_columns.known()
    if rows is None or columns is None:
        raise UnsupportedFunction("SparseAttention is read with a layout that is constant")
    length = query.shape[1]
    last = op.Sub(words, np.ones((), words.dtype))
    past = op.Max(op.Sub(op.Cast(words, to="int64"), size_as(length, np.int64)), np.zeros((), np.int64))
    places = op.Add(op.Unsqueeze(past, [1]), heads.counted(0, length))
    longest = op.Max(int_scalar(total), size_as(past_key.shape[2], np.int64))
    keys = op.Range(np.int64(0), longest, np.int64(1))
    admitted = _admitted(_layouts(rows, columns), places, keys, sparse_block_size, num_heads)
    hidden = op.Where(admitted, np.zeros((), query.dtype), np.asarray(np.finfo(query.dtype).min, query.dtype))
    made: tuple[Any, ...] = group_query_attention(
        query, key, value, past_key, past_value, last, total, cosines, sines, None, hidden, num_heads=num_heads,
        kv_num_heads=kv_num_heads, do_rotary=do_rotary, rotary_interleaved=rotary_interleaved, scale=scale,
    )  # fmt: skip
    is_word = op.Less(keys, op.Unsqueeze(op.Cast(words, to="int64"), [1, 2]))
    present = (
        op.Where(op.Unsqueeze(is_word, [3]), new, old, types=[old.type])
        for new, old in ((made[1], past_key), (made[2], past_value))
    )
    return made[0], *present


def _layouts(rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return [layouts, blocks, blocks]: whether the words of a block attend to those of another."""
    blocks = rows.shape[1] - 1
    found = np.zeros((rows.shape[0], blocks, blocks), np.bool_)
    for layout in range(rows.shape[0]):
        for block in range(blocks):
            found[layout, block, columns[layout, rows[layout, block] : rows[layout, block + 1]]] = True
    return found


def _admitted(layouts: npt.NDArray[np.bool_], places: Array, keys: Array, size: int, count: int) -> Any:
    """Return [batch, heads, queries, keys]: whether the block of a query's position attends to that of a key."""
    every = layouts[np.arange(count) % len(layouts)]
    last = np.int64(every.shape[1] - 1)
    here, there = (op.Min(op.Div(x, np.int64(size)), last) for x in (places, keys))
    lines = op.Gather(np.moveaxis(every, 0, 1), here, axis=0)
    return op.Transpose(op.Gather(lines, there, axis=3), perm=[0, 2, 1, 3])
