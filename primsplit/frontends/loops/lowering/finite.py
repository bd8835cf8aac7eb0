"""Quick forms for finite numbers, which multiply what is left out by 0; the run uses exact forms for the others."""

from collections.abc import Callable, Sequence

import numpy as np

from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.regions import emit_if, record


def where_finite(arrays: Sequence[Array], quick: Callable[[], Array], exact: Callable[[], Array]) -> Array:
    """Return `quick()` if all elements of the arrays are finite, else `exact()`; the run decides.

    It also takes `exact` where the sum of the elements is infinite. A derivative is not to look at cotangents: whoever
    calls this is a primitive with a rule of its own.
    """
    watched = [array for array in arrays if array.dtype.kind == "f" and array.known() is None]
    if not watched:
        return quick()
    first, *others = (op.Less(op.ReduceL1(array, keepdims=0), np.asarray(np.inf, array.dtype)) for array in watched)
    for other in others:
        first = op.And(first, other)
    finite, not_finite = record("finite", [], lambda: [quick().value]), record("not", [], lambda: [exact().value])
    return Array(emit_if(first.value, finite, not_finite, [finite.results[0].type])[0])
