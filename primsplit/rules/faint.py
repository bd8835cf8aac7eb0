"""Set the cotangents that a long loop carries to 0 where they are close to the smallest normal number.

```
before = Add(a, b)   ->   sum = Add(a, b); before = Where(Less(Abs(sum), least), 0, sum)
```

Each operation on a number below it takes an Intel processor 100 cycles: a recurrence that forgets, whose cotangents
decay from step to step, ran 9 times as long. A step multiplies what it carries by factors below 1, so that products of
a carry above the smallest normal number are denormal too: `least` is a million times as large. `without_faint` is a
primitive whose derivative is that of the identity, so that a backward pass stays linear in its cotangents.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import Dim, Size, product
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Primitive, primitive, rrule

LONG = {"float32": 128, "float64": 1024}
"""The steps from which on a loop is long: a cotangent that halves each time is then below the normal numbers."""
UNFED = 4
"""So many times fewer steps are long if no step adds a cotangent of its own, as that of a value that it stacks: one of
which each step leaves a tenth is then below the normal numbers.
"""
LARGE = 64
"""The elements from which on a carry is large: the three operators of a step take longer than fewer denormals."""
FAR = 2.0**-40
"""The sum of the cotangents of each of a loop's results from which on a denormal number is far below their largest."""
ABOVE = 2.0**20
"""The largest multiple of the smallest normal number that counts as 0, where the sum is as many times FAR."""


@primitive
def without_faint(x: Array, least: Array) -> Array:
    """`x`, but 0 where its magnitude is below `least`; NaN stays."""
    return op.Where(op.Less(op.Abs(x), least), np.zeros((), x.dtype), x, types=[x.type])


@rrule(without_faint)
def _without_faint(x: Array, least: Array) -> tuple[Array, Callable[..., Any]]:
    return without_faint(x, least), lambda d: (d, None)


def may_be_faint(type: Type, length: Dim, *, fed: bool = True) -> bool:
    """Whether a loop of this length is long, and carries many floats of this type. It is `fed` if steps add to them.

    A length that only the run knows is long for float32, and not for float64, whose loops seldom decay to 1e-308.
    """
    if type.shape is None or type.dtype.name not in LONG:
        return False
    count = product(type.shape)
    is_large = isinstance(count, Size) or count >= LARGE
    if isinstance(length, Size):
        return is_large and type.dtype == np.float32
    return is_large and length >= LONG[type.dtype.name] // (1 if fed else UNFED)


class _Measuring(Primitive):
    """A primitive of cotangents that only says how large they are: a list that reads them by it alone is linear."""

    def attributes(self, *args: Any) -> dict[str, Any]:
        return {**super().attributes(*args), "stops": True, "measures": True}


@_Measuring
def least_beside(seeds: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """Below which magnitude a cotangent counts as 0: a part of 1e-26 of the smallest of these, of a loop's results.

    It is 1 to 2^20 times the smallest normal number. It is 0 where one of the results has cotangents that are faint as
    a whole: where a function's values have a scale of 1e-30, so have its cotangents, and each digit of them counts.
    """
    sums = [op.Cast(op.ReduceSum(op.Abs(s), keepdims=0), to=np.float32) for s in seeds]
    told = [op.Where(op.Equal(s, np.float32(0)), np.float32(1), s) for s in sums]
    smallest = op.Min(*told) if len(told) > 1 else told[0]
    times = op.Cast(op.Min(op.Mul(smallest, np.float32(1 / FAR)), np.float32(ABOVE)), to=dtype)
    least = op.Mul(times, np.finfo(dtype).tiny)
    return op.Where(op.GreaterOrEqual(smallest, np.float32(FAR)), least, np.zeros((), dtype))
