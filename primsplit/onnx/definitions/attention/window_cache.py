"""Keep a cache of the last words' keys and values, from which GroupQueryAttention drops many words at once.

It has room for `C` words, more than the window of `W` words that a query attends. Of `T` words so far the last L(T) are
kept, in order, in its first rows: all of them while there is room; else, as many as fit after G words were dropped once
or several times, G = C - W + 1 (the formula is in the operator's own documentation).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.onnx.definitions.attention.heads import counted
from primsplit.ops import op
from primsplit.tracing.array import Array

LATER = np.iinfo(np.int64).max
"""The position of a row that holds no word: after every query."""


@dataclass(frozen=True, slots=True)
class WindowCache:
    """Rows of the cache, the new words and a row of zeros, side by side, that are read, and that are kept.

    `read` and `kept` are [batch, words, 1], `positions` those of the rows that are read, [batch, words].
    """

    read: Array
    positions: Array
    kept: Array


def window_cache(past: Array, words: Array, length: Dim, room: Dim, window: int) -> WindowCache:
    """Return the cache in a step of `length` words, `past` before and `words` after it (each [batch]).

    Raises ShapeError if the room is known to be less than the window; else the run fails.
    """
    if isinstance(room, int) and not 0 < window <= room:
        raise ShapeError(f"a cache of {room} words cannot hold a window of {window}")
    slots, zeros_at = counted(0, room), size_as(room + length, np.int64)
    capacity = size_as(room, np.int64)
    # A Gather beyond the slots fails.
    dropped = op.Sub(capacity, op.Gather(slots, np.int64(window - 1), axis=0))
    before, after = (op.Unsqueeze(n, [1]) for n in (past, words))
    held, kept = (_kept(n, capacity, dropped) for n in (before, after))
    is_held = op.Less(slots, held)
    new = op.Add(before, counted(0, length))
    places = op.Where(is_held, op.Add(op.Sub(before, held), slots), np.int64(LATER))
    fresh = op.Add(op.Sub(new, before), capacity)
    read = op.Concat(op.Where(is_held, slots, zeros_at), fresh, axis=1)
    position = op.Add(op.Sub(after, kept), slots)
    shift = op.Where(op.Less(position, before), held, capacity)
    source = op.Where(op.Less(slots, kept), op.Add(op.Sub(position, before), shift), zeros_at)
    return WindowCache(op.Unsqueeze(read, [2]), op.Concat(places, new, axis=1), op.Unsqueeze(source, [2]))


def _kept(words: Array, capacity: Array, dropped: Array) -> Any:
    """Return how many of so many words are in the cache, L(T)."""
    beyond = op.Max(op.Sub(words, capacity), np.zeros((), np.int64))
    times = op.Div(op.Add(beyond, op.Sub(dropped, np.int64(1))), dropped)
    return op.Sub(words, op.Mul(dropped, times))
