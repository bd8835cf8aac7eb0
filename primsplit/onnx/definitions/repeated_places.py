"""Differentiate writes of a loaded model that may name a place twice: the last one stays, and gets the gradient alone.

```
ScatterND(x, indices, updates)   ->   call::primsplit::Overwrite(x, indices, updates)
```

The standard leaves the result of such a ScatterND or ScatterElements open. onnxruntime writes one after the other, as
NumPy does. The rules of the two operators, which NumPy's writes use with each place once, give every writer the
cotangent of its place. `with_last_writers` replaces such an operator by `Overwrite` unless all places are known to
differ; its value is that of the operator. A MaxUnpool of windows that overlap is treated likewise: one maximum belongs
to several windows, and would get the cotangent of its place from each.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Value, Var, dims, walk
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.pooling import unpooled_shape
from primsplit.rewrites.rewriting import Rewriter
from primsplit.rules.unpooling import max_unpool
from primsplit.targets.faults.shared_places import are_distinct
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import count_up, reshape_to, zeros

KIND = "primsplit::Overwrite"
UNPOOL = "primsplit::MaxUnpool"
SCATTERS = frozenset({"ScatterND", "ScatterElements"})
MOVES = frozenset({"Cast", "Identity", "Transpose", "Unsqueeze", "Squeeze"})
"""Operators through which indices pass, each once, and the axis of NonZero's result stays one.

No trait: Reshape keeps each element too, but may mix that axis with others.
"""


def overwrite(data: Array, indices: Array, updates: Array, *, outputs: int = 1, along: int | None = None) -> Array:
    """Return the array with the updates written to it: a ScatterND, or a ScatterElements along an axis."""
    return _written(data, indices, updates, along, "none")


def _written(data: Array, indices: Array, updates: Array, along: int | None, reduction: str) -> Array:
    if along is None:
        return op.ScatterND(data, indices, updates, reduction=reduction)
    return op.ScatterElements(data, indices, updates, axis=along, reduction=reduction)


def _read(data: Array, indices: Array, updates: Array, along: int | None) -> Array:
    """Return the elements at the places of the updates, which have their shape."""
    if along is None:
        return op.GatherND(data, indices)
    return op.GatherElements(data, indices, axis=along)


def _rule(data: Array, indices: Array, updates: Array, *, outputs: int, along: int | None) -> tuple[Array, Any]:
    """The cotangent of a place goes to its last writer, and to the array only where nothing was written."""
    given = [data.value, indices.value, updates.value]
    z = Array(record_call(KIND, given, {} if along is None else {"along": along})[0])

    def pullback(dz: Array) -> tuple[Array, None, Array]:
        stays = _is_last(data, indices, updates, along)
        there = op.Where(stays, _read(dz, indices, updates, along), 0, types=[updates.type])
        return _written(dz, indices, zeros(updates.shape, dz.dtype), along, "none"), None, there

    return z, pullback


def _is_last(data: Array, indices: Array, updates: Array, along: int | None) -> Array:
    """Return which updates no later one overwrites: each place keeps the highest number of its writers."""
    shape = indices.shape[:-1] if along is None else indices.shape
    whole = data.shape[: int(indices.shape[-1])] if along is None else data.shape
    numbers = reshape_to(count_up(dims.product(shape)), shape)
    highest = _written(zeros(whole, np.dtype(np.int64)), indices, numbers, along, "max")
    is_last = op.Equal(_read(highest, indices, numbers, along), numbers)
    behind = len(updates.shape) - len(shape)
    return op.Unsqueeze(is_last, list(range(len(shape), len(updates.shape)))) if behind else is_last


defines(KIND, rule=_rule)(overwrite)


def _unpool_rule(
    x: Array, indices: Array, shape: Array | None = None, *, outputs: int, **windows: Any
) -> tuple[Array, Any]:
    """The cotangent of a place goes to its last writer; indices count over the whole area that the windows cover."""
    given = [x.value, indices.value, *([] if shape is None else [shape.value])]
    z = Array(record_call(UNPOOL, given, windows)[0])
    _, back = max_unpool(x, indices, shape, **windows)
    counted = dims.product(unpooled_shape(x.shape, **{"strides": None, "pads": None, **windows}))

    def pullback(dz: Array) -> tuple[Array | None, ...]:
        places = reshape_to(indices, (dims.product(indices.shape),))
        line = zeros((counted,), x.dtype)
        is_last = reshape_to(_is_last(line, places, reshape_to(x, places.shape), 0), x.shape)
        dx, *others = back(dz)
        return (op.Where(is_last, dx, 0, types=[x.type]), *others)

    return z, pullback


@defines(UNPOOL, rule=_unpool_rule)
def _unpool(
    x: Array,
    indices: Array,
    shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    outputs: int = 1,
) -> Array:
    """The operator of the standard."""
    return op.MaxUnpool(x, indices, shape, kernel_shape=kernel_shape, strides=strides, pads=pads)


def with_last_writers(block: Block) -> Block:
    """Return the block with an `Overwrite` for each of these operators; itself if there is none."""
    return _Overwriting().run(block) if any(step.kind in {*SCATTERS, "MaxUnpool"} for step in walk(block)) else block


class _Overwriting(Rewriter):
    """A walk that knows the op that defines each Var."""

    def __init__(self) -> None:
        super().__init__()
        self.origins: dict[Var, Op] = {}

    def visit(self, op: Op) -> Op | None:
        self.origins.update((v, op) for v in op.outputs)
        if op.kind == "MaxUnpool" and not self.is_of_windows_apart(op.inputs[1]):
            self.define(op, UNPOOL, dict(op.attributes))
            return None
        if op.kind not in SCATTERS or not self.may_repeat(op):
            return super().visit(op)
        self.define(op, KIND, {} if op.kind == "ScatterND" else {"along": int(op.attributes.get("axis", 0))})
        return None

    def define(self, step: Op, kind: str, attributes: dict[str, Any]) -> None:
        """Record an operator of these definitions for a step."""
        with tracing.fresh_stack(), tracing.recording(place=step.place, remark=step.remark) as around:
            for known in step.inputs:
                if isinstance(known, Var):
                    around.learn(known)
            (made,) = record_call(kind, step.inputs, attributes)
        self.kept.extend(around.ops)
        self.replaced[step.outputs[0]] = made

    def is_of_windows_apart(self, indices: Value | None) -> bool:
        """Whether these are the indices of a MaxPool here whose windows share no element."""
        pool = self.origins.get(indices) if isinstance(indices, Var) else None
        if pool is None or pool.kind != "MaxPool":
            return False
        kernel = pool.attributes["kernel_shape"]
        strides, dilations = (pool.attributes.get(name) or [1] * len(kernel) for name in ("strides", "dilations"))
        return all(s > (k - 1) * d for k, s, d in zip(kernel, strides, dilations, strict=True))

    def may_repeat(self, step: Op) -> bool:
        """Whether it is a write of floats without a reduction that may name a place twice."""
        data, indices, updates = step.inputs
        if text(step.attributes.get("reduction", "none")) != "none" or data is None or not data.type.is_float:
            return False
        shapes = [None if v is None else v.type.shape for v in (data, indices, updates)]
        if indices is None or updates is None or None in shapes:
            return False
        rows = shapes[1] or ()
        if self.found_in(indices) == (1 if step.kind == "ScatterElements" else rows[-1]):
            return False
        if step.kind == "ScatterElements":
            return not _are_apart(indices, int(step.attributes.get("axis", 0)))
        is_one = dims.same(dims.product(rows[:-1]), 1)
        return isinstance(rows[-1], int) and not is_one and not are_distinct(indices, shapes[0] or ())

    def found_in(self, indices: Value) -> int | None:
        """Return the rank of the array in which a NonZero found these places, each of which it names once.

        Else None.
        """
        step = self.origins.get(indices) if isinstance(indices, Var) else None
        while step is not None and step.kind in MOVES:
            source = step.inputs[0]
            step = self.origins.get(source) if isinstance(source, Var) else None
        searched = step.inputs[0] if step is not None and step.kind == "NonZero" else None
        return None if searched is None else searched.type.rank


def _are_apart(indices: Value, axis: int) -> bool:
    """Whether no two indices of one row along an axis are equal, as constants or as single ones."""
    shape = indices.type.shape or ()
    if dims.is_one(shape[axis]):
        return True
    if not isinstance(indices, Const):
        return False
    found = indices.numpy()
    if (found < 0).any() and (found >= 0).any():
        return False
    return not found.size or bool((np.diff(np.sort(found, axis=axis), axis=axis) != 0).all())
