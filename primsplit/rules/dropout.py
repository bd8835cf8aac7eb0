"""The derivative rule of dropout: the pullback reads the mask that the forward pass drew, and never draws."""

import numpy as np

from primsplit.ops import op
from primsplit.rules.normalization import as_dtype
from primsplit.rules.table import Pullback, rrule
from primsplit.tracing.array import Array


@rrule("Dropout")
def dropout(
    x: Array, ratio: Array | None = None, training_mode: Array | None = None, *, seed: int | None = None
) -> tuple[tuple[Array, ...], Pullback]:
    """Elements that were kept get their cotangent over 1 - ratio, while training; else dropout is the identity.

    The ratio has no tangent: the mask, which is drawn by it, does not vary smoothly.
    """
    given = [ratio, training_mode]
    while given and given[-1] is None:
        given.pop()
    none: list[Array | None] = [None] * len(given)
    trains = False if training_mode is None else training_mode.known()
    outputs = op.Dropout(x, *given, seed=seed, outputs=2)
    if trains is not None and not np.any(trains):
        return outputs, lambda dz, _=None: [dz, *none]
    y, mask = outputs

    def spread(x: Array) -> Array:
        """Return a value or cotangent divided by the share that is kept, 0 where the mask drops it."""
        kept: Array | float = 0.5 if ratio is None else 1.0 - as_dtype(ratio, x.dtype)
        if trains is None:
            kept = op.Where(training_mode, np.asarray(kept, x.dtype) if ratio is None else kept, 1.0)
        return op.Where(mask, x / kept, 0.0, types=[x.type])

    # onnxruntime computes the share in float32 whatever the dtype.
    return (spread(x) if x.dtype == np.float64 else y, mask), lambda dz, _=None: [spread(dz), *none]
