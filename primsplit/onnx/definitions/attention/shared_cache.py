"""Put new words into a past whose buffer has room for more, and return its words so far."""

from primsplit.ir import Type
from primsplit.onnx.definitions.attention.heads import counted
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose

BY_ROWS = (2, 0, 1, 3)
BY_HEADS = (1, 2, 0, 3)


def shared_caches(
    past_key: Array, past_value: Array, key: Array, value: Array, place: Array
) -> tuple[list[Array], list[Array]]:
    """Return both buffers with the new words from a position on, and the words of each up to those.

    All are [batch, heads, words, size]. A run fails if there is no room.
    """
    caches = [_put(past, new, place) for past, new in ((past_key, key), (past_value, value))]
    words = fresh("words")
    end = op.Unsqueeze(op.Add(place, op.Squeeze(op.Shape(key, start=2, end=3), [0])), [0])
    types = [Type(x.dtype, (*x.shape[:2], words, x.shape[3])) for x in caches]
    return caches, [op.Slice(x, [0], end, [2], types=[t]) for x, t in zip(caches, types, strict=True)]


def _put(past: Array, new: Array, place: Array) -> Array:
    rows = op.Add(place, counted(0, new.shape[2]))
    made = op.ScatterND(transpose(past, BY_ROWS), op.Unsqueeze(rows, [1]), transpose(new, BY_ROWS))
    return transpose(made, BY_HEADS)
