"""Follow shapes that the model computes, some of whose sizes are literal; inference needs all of them.

```
s = Concat(Shape(x)[0:1], [8, -1])   ->   (None, 8, -1), so that Reshape(x, s) is of shape [?, 8, ?]
```
"""

from collections.abc import Mapping, Sequence
from typing import Any

from primsplit.ir import Type, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.ops.inference import fresh
from primsplit.ops.inference.table import MOST_AXES

Parts = tuple[Dim | None, ...]
"""The elements of a vector, None for one that only the run knows."""

Known = dict[Value, Parts]
"""The vectors that are known in part."""


def joined(inputs: Sequence[Value | None], attributes: Mapping[str, Any], known: Mapping[Value, Parts]) -> Parts | None:
    """Return the elements of a Concat of vectors; None if nothing is known of them, or all is."""
    if attributes.get("axis") not in {0, -1}:
        return None
    found: list[Dim | None] = []
    for value in inputs:
        parts = None if value is None else parts_of(value, known)
        if parts is None:
            return None
        found += parts
    return tuple(found) if None in found and any(d is not None for d in found) else None


def parts_of(value: Value, known: Mapping[Value, Parts]) -> Parts | None:
    """Return the elements of an integer vector; None for another value, or one of unknown length."""
    if value.sizes is not None and value.type.rank == 1:
        return tuple(value.sizes)
    if value in known:
        return known[value]
    shape = value.type.shape
    if value.type.dtype.kind != "i" or shape is None or len(shape) != 1 or not isinstance(shape[0], int):
        return None
    return (None,) * shape[0] if shape[0] <= MOST_AXES else None


def declared(kind: str, inputs: Sequence[Value | None], known: Mapping[Value, Parts]) -> list[Type] | None:
    """Return the type of a Reshape or Expand to a shape that is known in part; None for another node.

    Raises ShapeError if the known part does not fit.
    """
    if kind not in {"Reshape", "Expand"} or len(inputs) != 2 or inputs[1] not in known:
        return None
    source, vector = inputs[0], inputs[1]
    if source is None or vector is None or source.type.shape is None:
        return None
    wanted = known[vector]
    if kind == "Reshape":
        if any(isinstance(d, int) and d < -1 for d in wanted):
            raise ShapeError(f"Reshape to a size below -1: {[d for d in wanted if isinstance(d, int)]} are known")
        # 0 and -1 stand for other sizes, and a symbol may be either.
        sizes = [d if isinstance(d, int) and d > 0 else fresh("reshaped") for d in wanted]
        return [Type(source.type.dtype, sizes)]
    rank = max(len(wanted), len(source.type.shape))
    shape = (1,) * (rank - len(source.type.shape)) + tuple(source.type.shape)
    asked = (1,) * (rank - len(wanted)) + wanted
    return [Type(source.type.dtype, [_stretched(a, b) for a, b in zip(shape, asked, strict=True)])]


def _stretched(dim: Dim, wanted: Dim | None) -> Dim:
    """Return a size broadcast with one that may be unknown."""
    if isinstance(wanted, int) and wanted > 1:
        if isinstance(dim, int) and dim not in {1, wanted}:
            raise ShapeError(f"Expand cannot broadcast: {dim} meets {wanted}")
        return wanted
    if dims.same(wanted, 1) if wanted is not None else isinstance(dim, int) and dim > 1:
        return dim
    return fresh("expanded")
