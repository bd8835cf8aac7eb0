"""Define FlexAttention: attention with the model's own function of the scores and of the probabilities."""

import numpy as np
import onnx.helper

from primsplit import tracing
from primsplit.ir import Block
from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.attention import heads
from primsplit.onnx.definitions.attention.standard import scores, weighted
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to


@defines("ai.onnx.preview::FlexAttention")
def flex_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    outputs: int = 1,
    prob_mod: Block | None = None,
    scale: float | None = None,
    score_mod: Block | None = None,
    softmax_precision: int | None = None,
) -> Array:
    """`prob_mod(softmax(score_mod(Q K^T scale))) V`, the softmax and both programs in `softmax_precision`."""
    wanted = None if softmax_precision is None else onnx.helper.tensor_dtype_to_np_dtype(softmax_precision)
    inner = (np.float64 if q.dtype == np.float64 else np.float32) if wanted is None else wanted
    found = cast_to(scores(q, k, heads.default_scale(q) if scale is None else scale), inner)
    found = modified(found, score_mod, "score_mod")
    found = modified(op.Softmax(found, axis=-1), prob_mod, "prob_mod")
    return weighted(cast_to(found, q.dtype), v)


def modified(x: Array, program: Block | None, name: str) -> Array:
    """Return a function of one parameter and one result applied to `x`.

    Raises UnsupportedFunction for other functions.
    """
    if program is None:
        return x
    if len(program.params) != 1 or len(program.results) != 1 or program.params[0].type.dtype != x.dtype:
        raise UnsupportedFunction(f"{name} of FlexAttention takes one {x.dtype} array and gives one")
    (made,) = tracing.inline(program, [x.value])
    return Array(made)
