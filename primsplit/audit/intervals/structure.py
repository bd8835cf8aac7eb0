"""Find the ranges of values whose elements are moved, counted or constant.

```
x in [0, 1]       Transpose(x): [0, 1]        Pad(x): [0, 1], with the 0 of the padding
x of 3 rows       Shape(x): [3, ...]          ArgMax(x, axis=0): [0, 2]
```
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import At
from primsplit.audit.intervals.ranges import Range, Shape, either, limits, of_array, planes
from primsplit.ir import AnyArray
from primsplit.ops.traits import Positions, traits
from primsplit.rewrites.evaluation import evaluate

LONGEST = 2.0**31
"""The most elements that an axis of unknown size is taken to have; it has at least one."""


def moved(at: At, positions: Positions) -> list[Range]:
    """Return the ranges of outputs that consist of the elements of these inputs, at other places."""
    sources = [at.take(i) for i in positions if at.given(i) is not None]
    if at.op.kind == "Identity":
        return [sources[0]]
    found = _placed(at, positions, sources)
    if found is not None:
        return [found]
    row = traits(at.op.kind)
    if row.fills and not (at.op.kind == "Pad" and at.given(2) is not None):
        error = None if sources[0].error is None else np.zeros(())
        sources.append(replace(of_array(np.zeros((), sources[0].dtype)), error=error))
    whole = either(r.hull() for r in sources)
    return [replace(whole, dtype=dtype, shape=shape, attains=None) for dtype, shape in at.types]


def _placed(at: At, positions: Positions, sources: Sequence[Range]) -> Range | None:
    """Return the range of each element at its new place; None where the places are not known."""
    others = [at.known(i) for i in range(len(at.inputs)) if i not in positions and at.given(i) is not None]
    if len(at.types) != 1 or len(sources) != len(positions) or any(o is None for o in others):
        return None
    if (
        all(r.low.ndim == 0 and r.high.ndim == 0 for r in sources)
        and not traits(at.op.kind).fills
        and len(sources) == 1
    ):
        return None  # one bound for all elements is no other elsewhere

    def run(*arrays: AnyArray) -> AnyArray | None:
        inputs: list[AnyArray | None] = [at.known(i) for i in range(len(at.inputs))]
        for position, array in zip(positions, arrays, strict=True):
            inputs[position] = array
        return at.compute(at.op, inputs)

    found = planes(sources, run)
    nonzero = all(r.nonzero for r in sources) and not traits(at.op.kind).fills
    return None if found is None else replace(found, dtype=at.dtype, nonzero=nonzero)


def constant(at: At) -> Range:
    """Return the range of a Constant node's array."""
    value = next(iter(at.op.attributes.values()), None)
    return of_array(np.asarray(value).astype(at.dtype, copy=False))


def filled(at: At) -> Range:
    """Return the range of ConstantOfShape: one number."""
    value = at.op.attributes.get("value", np.zeros(1, np.float32))
    return replace(of_array(np.asarray(value).reshape(())), dtype=at.dtype, shape=at.shape, value=None)


def shape(at: At) -> Range:
    """Return the range of Shape: the sizes that are known, else more than 0."""
    sizes = at.take(0).shape
    if sizes is None:
        return _counts(at)
    part = sizes[at.op.attributes.get("start", 0) : at.op.attributes.get("end", len(sizes))]
    if None not in part:
        return of_array(np.array(part, np.int64))
    low, high = (np.array([end if d is None else d for d in part]) for end in (1.0, LONGEST))
    return Range(low, high, at.dtype, (len(part),), nonzero=True)


def size(at: At) -> Range:
    """Return the range of Size."""
    count = at.take(0).count
    return _counts(at) if count is None else of_array(np.asarray(count, np.int64))


def _counts(at: At) -> Range:
    return Range(np.ones(()), np.asarray(LONGEST), at.dtype, at.shape, nonzero=True)


def place(at: At) -> Range:
    """Return the range of ArgMax, ArgMin: row numbers of an axis."""
    sizes, axis = at.take(0).shape, at.op.attributes.get("axis", 0)
    count = None if sizes is None else sizes[axis]
    return Range(np.zeros(()), np.asarray(LONGEST if count is None else count - 1.0), at.dtype, at.shape)


def counted(at: At) -> Range:
    """Return the range of Range: from the start to the limit."""
    start, limit, delta = (at.take(i) for i in range(3))
    low = min(start.ends[0], limit.ends[0]) if delta.ends[0] < 0 else start.ends[0]
    high = max(start.ends[1], limit.ends[1]) if delta.ends[1] > 0 else start.ends[1]
    return Range(np.asarray(low), np.asarray(high), at.dtype, at.shape)


def same_elements(at: At) -> list[Range]:
    """Return the ranges of outputs with elements of the first input and places of them: TopK, Unique, MaxPool."""
    first = replace(at.take(0).hull(), dtype=at.dtype, shape=at.shape)
    rest = [Range(np.zeros(()), np.asarray(limits(dtype)[1]), dtype, sizes) for dtype, sizes in at.types[1:]]
    return [first, *rest]


def nonzero(at: At) -> Range:
    """Return the range of NonZero: places."""
    return Range(np.zeros(()), np.asarray(limits(at.dtype)[1]), at.dtype, at.shape)


def split(at: At) -> list[Range]:
    """Return the ranges of the parts of a Split."""
    x, axis = at.take(0), at.op.attributes.get("axis", 0)
    sizes = [None if s is None or axis >= len(s) else s[axis] for _, s in at.types]
    whole = x.whole()
    if whole is None or any(s is None for s in sizes) or x.is_uniform:
        return [replace(x.hull(), shape=s) for _, s in at.types]
    ends = np.cumsum([s for s in sizes if s is not None])[:-1]

    def parts(array: AnyArray | None) -> list[Any]:
        full = None if array is None else np.broadcast_to(array, whole[0].shape)
        return [None] * len(at.types) if full is None else np.split(full, ends, axis)

    pieces = zip(at.types, *map(parts, (x.low, x.high, x.error)), strict=True)
    return [x.like(low, high, shape=low.shape, error=error, nonzero=x.nonzero) for _, low, high, error in pieces]


def hot(at: At) -> Range:
    """Return the range of OneHot, EyeLike and the windows: between 0 and 1, or the two given values."""
    if at.op.kind == "OneHot":
        return replace(at.take(2).hull(), dtype=at.dtype, shape=at.shape)
    return Range(np.zeros(()), np.ones(()), at.dtype, at.shape)


def folded(at: At) -> Range | None:
    """Return the range of a result whose inputs are all known: its elements. None if it cannot be computed."""
    if not at.inputs or len(at.types) != 1 or at.op.blocks():
        return None
    values = [None if r is None else r.value for r in at.inputs]
    if any(r is not None and r.value is None for r in at.inputs) or at.op.kind in {"Constant", "ConstantOfShape"}:
        return None
    is_whole = at.dtype.kind in "iub" and all(v is None or v.dtype.kind in "iub" for v in values)
    row = traits(at.op.kind)
    if not is_whole and not (row.moves and not row.elementwise):
        return None
    there = [v for v in values if v is not None]
    found = evaluate(at.op.kind, there, at.op.attributes) if len(there) == len(values) else None
    return None if found is None or found.dtype != at.dtype else of_array(found)


STRUCTURE: Mapping[str, Callable[[At], Range | list[Range]]] = {
    "ArgMax": place, "ArgMin": place, "BlackmanWindow": hot, "Constant": constant, "ConstantOfShape": filled,
    "EyeLike": hot, "GlobalMaxPool": same_elements, "HammingWindow": hot, "HannWindow": hot, "Hardmax": hot,
    "MaxPool": same_elements, "NonZero": nonzero, "OneHot": hot, "Range": counted, "Shape": shape, "Size": size,
    "Split": split, "TopK": same_elements, "Unique": same_elements,
}  # fmt: skip
"""The ranges of the results of operators that count, choose places or hold constants."""


def known_shape(sizes: Sequence[Any]) -> Shape:
    """Return sizes, None for those that are no numbers."""
    return tuple(d if isinstance(d, int) else None for d in sizes)
