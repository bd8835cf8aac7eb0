"""Define scores that hide words which would repeat a phrase, of `com.microsoft`."""

import numpy as np

from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros


@defines("com.microsoft::NGramRepeatBlock")
def ngram_repeat_block(words: Array, scores: Array, *, outputs: int = 1, ngram_size: int) -> Array:
    """The scores [batch, vocabulary] of the next word, -inf for one that would repeat a phrase of `ngram_size` words.

    `words` is [batch, length]. A word is hidden if the last words stand somewhere before it.
    """
    before = ngram_size - 1
    followers = op.Slice(words, [before], [np.iinfo(np.int64).max], [1])
    hits = op.ConstantOfShape(op.Shape(followers), value=np.ones(1, np.float32))
    for place in range(before):
        said = op.Slice(op.Slice(words, [place], [np.iinfo(np.int64).max], [1]), [0], [place - before], [1])
        last = op.Slice(words, [place - before], [place - before + 1 or np.iinfo(np.int64).max], [1])
        hits = op.Mul(hits, op.Cast(op.Equal(said, last), to=np.float32))
    found = op.ScatterElements(
        zeros(scores.shape, np.dtype(np.float32)), op.Cast(followers, to="int64"), hits, axis=1, reduction="max"
    )
    return op.Where(op.Greater(found, 0), np.asarray(-np.inf, scores.dtype), scores)
