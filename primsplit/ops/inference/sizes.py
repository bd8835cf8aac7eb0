"""Evaluate integer vectors that hold sizes: Shape, and the arithmetic that shape code does with it.

```
a: int64[2] = Shape(x)           # x: float32[N,3]   ->   a is [N, 3]
b: int64[]  = ReduceProd(a)                          ->   b is 3*N
```
"""

from collections.abc import Callable

import numpy as np

from primsplit.ir import SMALL, Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ops.inference.table import Site, UnknownRank

Sizes = tuple[Dim, ...]


def known_sizes(site: Site, result: Type) -> Sizes | None:
    """Return the elements of the op's first output, if it is a short integer vector or scalar that can be evaluated."""
    reader = _READERS.get(site.kind)
    if reader is None or result.dtype.kind not in "iu" or result.shape is None or len(result.shape) > 1:
        return None
    if result.shape and not (isinstance(result.shape[0], int) and result.shape[0] <= SMALL):
        return None
    try:
        elements = reader(site)
    except UnknownRank:
        return None
    return elements if elements is None or all(_fits(d, result) for d in elements) else None


def _fits(dim: Dim, type: Type) -> bool:
    """Whether the size cannot wrap around in this dtype.

    Of symbolic ones that is assumed in wide signed dtypes only.
    """
    if isinstance(dim, Size):
        return type.dtype.kind == "i" and type.dtype.itemsize >= 4
    limits = np.iinfo(type.dtype)
    return int(limits.min) <= dim <= int(limits.max)


def _shape(site: Site) -> Sizes | None:
    return site.shape(0)[slice(site.attribute("start") or 0, site.attribute("end"))]


def _size(site: Site) -> Sizes | None:
    return (dims.product(site.shape(0)),)


def _same(site: Site) -> Sizes | None:
    return site.sizes(0)


def _gather(site: Site) -> Sizes | None:
    source, picked = site.sizes(0), site.integers(1)
    if source is None or picked is None or len(site.shape(0)) != 1:
        return None
    fits = all(-len(source) <= i < len(source) for i in picked)
    return tuple(source[i] for i in picked) if fits else None


def _concat(site: Site) -> Sizes | None:
    parts = [site.sizes(i) for i in range(len(site.inputs))]
    return None if any(p is None for p in parts) else tuple(d for p in parts if p is not None for d in p)


def _slice(site: Site) -> Sizes | None:
    source, starts, ends = site.sizes(0), site.integers(1), site.integers(2)
    steps = site.integers(4) if site.has(4) else (1,)
    if source is None or starts is None or ends is None or steps is None:
        return None
    return source[slice(starts[0], ends[0] if ends[0] > -(2**31) else None, steps[0])]


def _product(site: Site) -> Sizes | None:
    source = site.sizes(0)
    return None if source is None else (dims.product(source),)


def _negated(site: Site) -> Sizes | None:
    source = site.sizes(0)
    return None if source is None else tuple(-1 * d for d in source)


def _filled(site: Site) -> Sizes | None:
    value, count = site.attribute("value"), site.integers(0)
    if value is None or count is None:
        return None
    return (int(value.reshape(-1)[0]),) * (count[0] if count else 1)


def _expanded(site: Site) -> Sizes | None:
    source, shape = site.sizes(0), site.integers(1)
    if source is None or shape is None or len(source) not in {1, *shape[:1]}:
        return None
    return source if len(source) > 1 or not shape else source * shape[0]


def _range(site: Site) -> Sizes | None:
    ends = [site.integers(i) for i in range(3)]
    if any(end is None for end in ends):
        return None
    start, limit, step = (end[0] for end in ends if end is not None)
    return tuple(range(start, limit, step)) if step else None


def _elementwise(combine: Callable[[Dim, Dim], Dim | None]) -> Callable[[Site], Sizes | None]:
    """Return a reader that combines the elements of two inputs, or of any number for Max and Min."""

    def read(site: Site) -> Sizes | None:
        known = site.sizes(0)
        for position in range(1, len(site.inputs)):
            known = _combined(combine, known, site.sizes(position))
        return known

    return read


def _combined(combine: Callable[[Dim, Dim], Dim | None], left: Sizes | None, right: Sizes | None) -> Sizes | None:
    if left is None or right is None:
        return None
    count = max(len(left), len(right)) if left and right else 0
    wide = [s * count if len(s) == 1 else s for s in (left, right)]
    found = [combine(a, b) for a, b in zip(*wide, strict=True)]
    known = tuple(d for d in found if d is not None)
    return known if len(known) == len(found) else None


def _quotient(a: Dim, b: Dim) -> Dim | None:
    """Divide like Div, which truncates: the floor if neither is negative; unknown if the divisor may be 0."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else None
    return dims.floor_divide(a, b) if dims.at_least(a, 0) and dims.at_least(b, 1) else None


def _remainder(a: Dim, b: Dim) -> Dim | None:
    """Return the remainder where both forms of Mod agree: neither is negative, and the divisor is not 0."""
    return dims.remainder(a, b) if dims.at_least(a, 0) and dims.at_least(b, 1) else None


_READERS: dict[str, Callable[[Site], Sizes | None]] = {
    "Shape": _shape,
    "Size": _size,
    "Identity": _same,
    "Cast": _same,
    "Squeeze": _same,
    "Unsqueeze": _same,
    "Reshape": _same,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "ConstantOfShape": _filled,
    "Expand": _expanded,
    "Neg": _negated,
    "Range": _range,
    "ReduceProd": _product,
    "Add": _elementwise(lambda a, b: a + b),
    "Sub": _elementwise(lambda a, b: a - b),
    "Mul": _elementwise(lambda a, b: a * b),
    "Div": _elementwise(_quotient),
    "Mod": _elementwise(_remainder),
    "Max": _elementwise(dims.maximum),
    "Min": _elementwise(dims.minimum),
}
