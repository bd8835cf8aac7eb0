"""Batch the functions that are recorded by name as calls of themselves, so that a batch of them has the name too.

```
max(x: [4], axis=0)   ->   max(x: [B,4], axis=1)
```
"""

from collections.abc import Callable
from typing import Any

from primsplit.numpy.extrema import NAMED
from primsplit.numpy.log_sums import log_sum_exp
from primsplit.numpy.repetition import sliding_windows
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Primitive
from primsplit.transforms.batching.rules import batch


def _along_next_axes(target: Primitive) -> Callable[..., Any]:
    def rule(batched: tuple[bool, ...], x: Array, *, axis: int | tuple[int, ...], **options: Any) -> Any:
        return target(x, axis=axis + 1 if isinstance(axis, int) else tuple(a + 1 for a in axis), **options)

    return rule


for _target in (*NAMED.values(), log_sum_exp, sliding_windows):
    batch(_target)(_along_next_axes(_target))
