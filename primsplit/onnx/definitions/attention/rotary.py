"""Define the rotary position embedding (Su et al. 2021, "RoFormer", section 3.4.2)."""

from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to


@defines("RotaryEmbedding")
def rotary_embedding(
    x: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    *,
    outputs: int = 1,
    interleaved: int = 0,
    num_heads: int | None = None,
    rotary_embedding_dim: int = 0,
) -> Array:
    """Rotate pairs of features by an angle that depends on the position.

    `x` is [batch, heads, length, size] or [batch, length, heads * size]. The caches are [batch, length, half], or with
    `position_ids` [positions, half].
    """
    is_packed = len(x.shape) == 3
    if is_packed and not num_heads:
        raise UnsupportedFunction("RotaryEmbedding of three axes needs num_heads")
    by_head = heads.unpacked(x, num_heads or 1) if is_packed else x
    angles = [c if position_ids is None else op.Gather(c, position_ids, axis=0) for c in (cos_cache, sin_cache)]
    cos, sin = (op.Unsqueeze(c, [2 if is_packed else 1]) for c in angles)
    size = by_head.shape[-1]
    if rotary_embedding_dim and not dims.same(rotary_embedding_dim, size):
        turned, kept = op.Split(by_head, [rotary_embedding_dim, size - rotary_embedding_dim], axis=-1, outputs=2)
        made = op.Concat(rotated(turned, cos, sin, interleaved=bool(interleaved)), kept, axis=-1)
    else:
        made = rotated(by_head, cos, sin, interleaved=bool(interleaved))
    return heads.packed(made) if is_packed else made


def rotated(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    """Rotate each pair (a, b) to (a cos - b sin, a sin + b cos): neighbours if `interleaved`, else one of each half."""
    _check(x.shape[-1], cos, sin)
    if interleaved:
        pairs = reshape_to(x, (*x.shape[:-1], x.shape[-1] // 2, 2))
        first, second = (op.Squeeze(part, [-1]) for part in op.Split(pairs, axis=-1, num_outputs=2))
    else:
        # Sizes are said, since onnxruntime does not split an axis of size 0 into a number of parts.
        half = x.shape[-1] // 2
        first, second = op.Split(x, [half, x.shape[-1] - half], axis=-1, outputs=2)
    real, imaginary = op.Sub(cos * first, sin * second), op.Add(sin * first, cos * second)
    if not interleaved:
        return op.Concat(real, imaginary, axis=-1)
    together = op.Concat(op.Unsqueeze(real, [-1]), op.Unsqueeze(imaginary, [-1]), axis=-1)
    return reshape_to(together, x.shape)


def _check(size: Dim, *caches: Array) -> None:
    """Raise ShapeError if the features are no pairs, or the caches hold another number of angles."""
    if isinstance(size, int) and size % 2:
        raise ShapeError(f"RotaryEmbedding turns pairs of features, and there are {size}")
    for cache in caches:
        angles = cache.shape[-1]
        if isinstance(size, int) and isinstance(angles, int) and angles != size // 2:
            raise ShapeError(f"RotaryEmbedding turns {size // 2} pairs of features, and a cache has {angles} angles")
