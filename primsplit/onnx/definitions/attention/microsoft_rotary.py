"""Define rotary position embeddings of `com.microsoft`: pairs of features, rotated by angles that grow by position."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir import AnyArray
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.attention import rotary
from primsplit.onnx.definitions.attention.heads import counted, joined_heads, split_heads
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.operators import cast_to


@defines("com.microsoft::RotaryEmbedding")
def rotary_embedding(
    x: Array,
    positions: Array,
    cosines: Array,
    sines: Array,
    *,
    outputs: int = 1,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Any:
    """Return `x`, [batch, length, heads * size] or [batch, heads, length, size], with its pairs of features rotated.

    `positions` are those of all words, or that of the first one. onnxruntime's kernel does not read `scale`.
    """
    if is_packed_batching:
        raise UnsupportedFunction("RotaryEmbedding of a packed batch is not supported")
    angles = position_rows(positions, x.shape[-2]), cosines, sines
    if len(x.shape) == 4:
        return rotated(x, *angles, interleaved=interleaved)
    by_head = split_heads(x, num_heads) if rotary_embedding_dim else _of_angles(x, cosines)
    return joined_heads(rotated(by_head, *angles, interleaved=interleaved))


@defines("com.microsoft::GemmaRotaryEmbedding")
def gemma_rotary_embedding(
    angles: Array, q: Array, q_turned: Array, k: Array, k_turned: Array, *, outputs: int = 2
) -> tuple[Any, Any]:
    """Return queries and keys [batch, heads, length, size], given also with their halves swapped, rotated by `angles`.

    The angles [batch, length, size] are those of all heads; their cosines and sines are rounded to the dtype of `q`.
    """
    cosines, sines = (op.Unsqueeze(cast_to(f(angles), q.dtype), [1]) for f in (op.Cos, op.Sin))
    turned_q = op.Add(op.Mul(q, cosines), op.Mul(q_turned, sines))
    return turned_q, op.Add(op.Mul(k, cosines), op.Mul(k_turned, sines))


@defines("com.microsoft::MRotaryEmbedding")
def multimodal_rotary_embedding(
    x: Array,
    positions: Array,
    cosines: Array,
    sines: Array,
    *,
    mrope_section: Sequence[int],
    outputs: int = 1,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    mrope_layout: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Any:
    """Return a rotary embedding whose angles belong to three positions per word, `positions` [3, batch, length].

    `mrope_section` is how many angles belong to the first, the second and the third: in that order, or, if
    `mrope_layout` is 1, every third angle to the second and third ones, as long as there are any, the rest to the first
    (Bai et al. 2025, "Qwen2.5-VL" and "Qwen3-VL").
    """
    if is_packed_batching:
        raise UnsupportedFunction("MRotaryEmbedding of a packed batch is not supported")
    streams = _streams(cosines.shape[-1], mrope_section, mrope_layout)
    cos, sin = (_of_streams(op.Gather(table, positions, axis=0), streams) for table in (cosines, sines))
    angles = op.Unsqueeze(cos, [1]), op.Unsqueeze(sin, [1]), cosines.shape[-1]
    if len(x.shape) == 4:
        return _turned(x, *angles, interleaved=interleaved)
    by_head = split_heads(x, num_heads) if num_heads else _of_angles(x, cosines)
    return joined_heads(_turned(by_head, *angles, interleaved=interleaved))


def _streams(count: Any, section: Sequence[int], layout: int) -> AnyArray:
    """Return which of the three positions each angle belongs to. Raises ShapeError if the sections do not fit."""
    if not isinstance(count, int) or len(section) != 3 or sum(section) != count:
        raise ShapeError(f"MRotaryEmbedding shares {count} angles among three positions, not {list(section)}")
    if layout == 0:
        return np.repeat(np.arange(3), section)
    found = np.zeros(count, np.int64)
    for stream in (1, 2):
        found[stream : 3 * section[stream] : 3] = stream
    return found


def _of_streams(angles: Array, streams: AnyArray) -> Array:
    """Return [batch, length, angles] of [3, batch, length, angles]: each angle by its own position."""
    by_stream = [op.Squeeze(part, [0]) for part in op.Split(angles, [1, 1, 1], axis=0, outputs=3)]
    first = op.Where(streams == 1, by_stream[1], by_stream[0])
    return op.Where(streams == 2, by_stream[2], first)


def _of_angles(x: Array, cosines: Array) -> Any:
    """Return `x` by heads, so many that the angles fit a whole head; a run of another number fails."""
    (batch, length, hidden), half = x.shape, cosines.shape[-1]
    if not isinstance(half, int) or half < 1 or (isinstance(hidden, int) and hidden % (2 * half)):
        raise ShapeError(f"{hidden} features cannot be split into heads that {half} angles rotate")
    heads = hidden // (2 * half)
    if isinstance(heads, int):
        return split_heads(x, heads)
    return op.Transpose(reshape_to(x, (batch, length, heads, 2 * half)), perm=[0, 2, 1, 3])


def position_rows(positions: Array, length: Any) -> Array:
    """Return the position of every word: [batch, length], or [1, length] from the position of the first word."""
    if len(positions.shape) == 2:
        return positions
    return op.Unsqueeze(op.Add(counted(0, length), op.Cast(positions, to="int64")), [0])


def rotated(x: Array, positions: Array, cosines: Array, sines: Array, *, interleaved: int) -> Any:
    """Return [batch, heads, length, size] with its first features, twice as many as angles, rotated in pairs.

    A pair is a feature of the first half and one of the second, or, `interleaved`, two neighbours.
    """
    cos, sin = (op.Unsqueeze(op.Gather(table, positions), [1]) for table in (cosines, sines))
    return _turned(x, cos, sin, cosines.shape[-1], interleaved=interleaved)


def _turned(x: Array, cos: Array, sin: Array, half: Any, *, interleaved: int) -> Any:
    if not isinstance(half, int):
        raise ShapeError(f"the number of angles of a rotary embedding is {half}, which only the run knows")
    turned, rest = _parts(x, 2 * half)
    found = rotary.rotated(turned, cos, sin, interleaved=bool(interleaved))
    return found if rest is None else op.Concat(found, rest, axis=-1)


def _parts(x: Array, count: int) -> tuple[Array, Array | None]:
    size = x.shape[-1]
    if not isinstance(size, int) or size < count:
        raise ShapeError(f"a head of {size} features has no {count} of them to turn")
    if size == count:
        return x, None
    turned, rest = op.Split(x, [count, size - count], axis=-1, outputs=2)
    return turned, rest
