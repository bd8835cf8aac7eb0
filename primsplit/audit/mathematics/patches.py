"""Recognize the windows of a convolution that is written out: strided parts of an array, one for each of its weights.

```
concatenate((x[:, :, :-1, :-1].reshape(1, 1, 3, 16), ..., x[:, :, 1:, 1:].reshape(1, 1, 3, 16)), axis=2)
    ->   patches(x, (2, 2)).reshape(1, 1, 12, 16)
```

It is claimed where each part is compared: its array, its first index, its step and its length in each axis.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from primsplit.audit.mathematics.shortcuts import Idiom, only_for, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import literal, name, tree, variables_in
from primsplit.ir import Const, Op, Value, Var
from primsplit.ops.traits import kinds_where

RESHAPES = kinds_where(lambda t: t.keeps == "order")
FEWEST = 4
"""The fewest windows that are written as patches."""
SPATIAL = 2
"""The number of axes that have windows: the last ones."""


@dataclass(frozen=True, slots=True)
class _Window:
    """A part of an array, which `cut` reads: `starts`, `steps` and `lengths` of its last axes, of these `sizes`."""

    array: Var
    cut: Op
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    lengths: tuple[int, ...]
    sizes: tuple[int, ...]


def with_patches(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with `patches(x, kernel)` in the place of windows that are cut out and joined."""
    made = {v: s.op for s in statements for v in s.op.outputs}
    joins = [s for s in statements if isinstance(s, Assignment) and s.op.kind == "Concat"]
    if not any(len(s.op.inputs) >= FEWEST for s in joins):
        return [*statements]
    by_op = {s.op: s for s in statements}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in joins:
        windows = _windows(statement.op, made, sizes)
        kernel = None if windows is None else _kernel(windows)
        if windows is None or kernel is None or not _joins_channels(statement.op, windows[0], sizes):
            continue
        left = readers - Counter(read_by_statement(statement))
        ops: dict[Op, None] = {}
        for value in statement.op.inputs:
            only_for(value, made, left, by_op, ops, {windows[0].array})
        hidden.update(ops)
        found[statement.op] = _patches(statement, windows[0], kernel, [*ops], by_op, sizes)
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _windows(op: Op, made: Mapping[Var, Op], sizes: Sizes) -> list[_Window] | None:
    """Return the parts of one array that an op joins, of one length and step; None for other operands."""
    found = [_window(value, made, sizes) for value in op.inputs]
    known = [w for w in found if w is not None]
    if len(known) < max(len(found), FEWEST):
        return None
    same = {(w.array, w.steps, w.lengths) for w in known}
    return known if len(same) == 1 else None


def _window(value: Value | None, made: Mapping[Var, Op], sizes: Sizes) -> _Window | None:
    """Return the part of an array that a value is, in whatever axes; None for another value."""
    op = made.get(value) if isinstance(value, Var) else None
    while op is not None and op.kind in RESHAPES:
        value = op.inputs[0]
        op = made.get(value) if isinstance(value, Var) else None
    cuts: list[Op] = []
    while op is not None and op.kind == "Slice":
        cuts.append(op)
        value = op.inputs[0]
        op = made.get(value) if isinstance(value, Var) else None
    if not isinstance(value, Var) or not cuts:
        return None
    shape = sizes.shape(value)
    if shape is None or len(shape) <= SPATIAL or not all(isinstance(d, int) for d in shape[-SPATIAL:]):
        return None
    ranges = [range(d) if isinstance(d, int) else None for d in shape]
    for cut in reversed(cuts):
        for axis, index in _slices(cut, sizes).items():
            whole = ranges[axis]
            if whole is None or axis % len(shape) < len(shape) - SPATIAL:
                return None
            ranges[axis] = whole[index]
    last = [r for r in ranges[-SPATIAL:] if r is not None]
    if not all(last):
        return None
    own = tuple(d for d in shape[-SPATIAL:] if isinstance(d, int))
    return _Window(
        value, cuts[-1], tuple(r.start for r in last), tuple(r.step for r in last), tuple(map(len, last)), own
    )


def _slices(op: Op, sizes: Sizes) -> dict[int, slice]:
    """Return the slices of a Slice by axis."""
    given = [None if v is None else sizes.constants.get(v, v) for v in op.inputs[1:]]
    numbers = [[int(n) for n in v.numpy()] if isinstance(v, Const) else None for v in given]
    starts, stops = numbers[:2]
    if starts is None or stops is None:
        return {0: slice(0)}
    axes = (numbers[2] if len(numbers) > SPATIAL else None) or [*range(len(starts))]
    steps = (numbers[3] if len(numbers) > SPATIAL + 1 else None) or [1] * len(starts)
    return {a: slice(*rest) for a, *rest in zip(axes, starts, stops, steps, strict=True)}


def _kernel(windows: Sequence[_Window]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the lengths of the kernel and its dilations, if windows begin at its points in their order."""
    starts = [w.starts for w in windows]
    firsts = [sorted({s[i] for s in starts}) for i in range(SPATIAL)]
    gaps = [{b - a for a, b in pairwise(f)} or {1} for f in firsts]
    if starts != [*product(*firsts)] or any(f[0] != 0 for f in firsts) or any(len(g) > 1 for g in gaps):
        return None
    kernel, dilations = tuple(map(len, firsts)), tuple(g.pop() for g in gaps)
    first = windows[0]
    rows = zip(first.sizes, kernel, dilations, first.steps, strict=True)
    fits = tuple((size - apart * (k - 1) - 1) // step + 1 for size, k, apart, step in rows)
    return (kernel, dilations) if fits == first.lengths else None


def _joins_channels(op: Op, window: _Window, sizes: Sizes) -> bool:
    """Whether the parts are joined along the axis of the channels, [N, C, H, W] as [N, ..., C, H * W]."""
    array, part = sizes.shape(window.array), None if op.inputs[0] is None else sizes.shape(op.inputs[0])
    if array is None or part is None or len(array) != SPATIAL + 2:
        return False
    axis = op.attributes["axis"] % len(part)
    before = 1
    for size in part[:axis]:
        if not isinstance(size, int):
            return False
        before *= size
    return before == array[0] and part[axis] == array[1]


def _patches(
    statement: Assignment, window: _Window, kernel: tuple[tuple[int, ...], tuple[int, ...]],
    hidden: Sequence[Op], by_op: Mapping[Op, Statement], sizes: Sizes,
) -> Idiom:  # fmt: skip
    """Return the statement of the patches."""
    cut, shape = by_op[window.cut], sizes.shape(statement.op.outputs[0])
    assert isinstance(cut, Assignment)
    (own,) = variables_in(cut.value) - {"np"}
    lengths, dilations = kernel
    steps = "" if set(window.steps) == {1} else ", strides=s"
    apart = "" if set(dilations) == {1} else ", dilations=d"
    value = tree(
        f"patches(x, k{steps}{apart}).reshape(shape)", x=name(own), k=literal(lengths), s=literal(window.steps),
        d=literal(dilations), shape=literal(shape),
    )  # fmt: skip
    return Idiom(
        op=statement.op, ops=(*hidden, *statement.ops), targets=statement.targets, section=statement.section,
        value=value, note="",
    )  # fmt: skip
