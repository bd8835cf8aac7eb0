"""Compute the known values of a model while it is read: exporters compute conditions and positions from constants.

```
pads = Reshape(Transpose(Const [[0, 1], [0, 1]]), [4])   ->   Const [0, 0, 1, 1]
```
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Const, Value, free, live_backwards
from primsplit.rewrites.fold import fold_constants, folded


def settled_integers(made: Sequence[Value]) -> Const | None:
    """Return the integers that the op just recorded computes from constants alone, and remove it; None for another op.

    Exporters transpose and concatenate the pads of a Pad as matrices, of whose elements inference knows nothing.
    """
    ops = tracing.current().ops
    if not ops or ops[-1].outputs != tuple(made) or [v.type.dtype.kind for v in made] != ["i"]:
        return None
    if any(isinstance(v, Const) and v.is_weight for v in ops[-1].inputs):
        return None
    found = folded(ops[-1])
    if found is not None:
        ops.pop()
    return found


def known_array(value: Value) -> npt.NDArray[Any] | None:
    """Return the numbers of a value that is computed from sizes and constants alone, None for any other."""
    if isinstance(value, Const):
        return value.numpy()
    ops = live_backwards(tracing.ops_backwards(), [value])
    params = free(Block("known", (), tuple(ops), (value,)))
    found = fold_constants(Block("known", tuple(params), tuple(ops), (value,))).results[0]
    return found.numpy() if isinstance(found, Const) else None


def known_number(value: Value) -> int | None:
    """Return the one number of a value that has one element."""
    found = known_array(value)
    return int(found.reshape(-1)[0]) if found is not None and np.size(found) == 1 else None
