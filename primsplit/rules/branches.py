"""The derivative rule of If: each branch has its own primal and pullback, and the untaken side keeps nothing.

```
y = If(c): then Exp(x), else Sin(x)   ->   dx = If(c): then Mul(dy, y), else Mul(dy, Cos(x))
```
"""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, rename, renamed
from primsplit.ir.errors import ShapeError
from primsplit.ir.parts import Split
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.rewrites.untaken_sides import BRANCHES, KEPT
from primsplit.rules.table import Pullback, Site, block_rule
from primsplit.tracing.array import Array
from primsplit.tracing.branching.raising import raise_at_run_time, raising_op
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.regions import as_declared, emit_if, record


@block_rule("If")
def branch(site: Site) -> tuple[list[Array], Pullback]:
    """The pullback is an If on the same condition.

    A value that one branch keeps is an output, empty after the other.
    """
    condition = site.input(0)
    outer = [a.value for a in site.outer]
    params = tuple(v for v in outer if isinstance(v, Var))
    wanted = [i - 1 for i in site.wrt if i > 0]
    splits = []
    for name in BRANCHES:
        body: Block = site.attributes[name]
        splits.append(site.split(Block(body.name, params, body.ops, body.results), wanted, site.of))
    kept = [_kept(s, params) for s in splits]
    made = _forward(site, condition, splits, kept)
    count = len(site.op.outputs)
    outputs, stored = made[:count], made[count:]
    targets = sorted({t for s in splits for t in s.targets})

    def pullback(*cotangents: Array | None) -> list[Array | None]:
        given = [c.value for c in cotangents if c is not None]
        blocks = []
        begin = 0
        for split, own in zip(splits, kept, strict=True):
            saved = dict(zip(own, stored[begin : begin + len(own)], strict=True))
            begin += len(own)
            failing = raising_op(split.primal.ops)
            if failing is None:
                blocks.append(_backward(split, params, outputs, saved, given, targets))
            else:
                blocks.append(_raising(condition, failing, [params[t].type for t in targets]))
        found = emit_if(condition.value, blocks[0], blocks[1], [params[t].type for t in targets])
        gradients: list[Array | None] = [None] * (1 + len(outer))
        for target, value in zip(targets, found, strict=True):
            gradients[1 + target] = Array(value)
        return gradients

    return [Array(v) for v in outputs], pullback


def _raising(condition: Array, failing: Op, types: Sequence[Type]) -> Block:
    """Return the pullback of a branch that ends in an error; it ends in the same error."""
    return record("pullback", [], lambda: raise_at_run_time(condition.value, types, failing.place, failing.remark))


def _kept(split: Split, params: Sequence[Var]) -> list[Var]:
    """Return the captures that the branch must return: those that are neither captured by it nor its results."""
    known = {*params, *(r for r in split.primal.results if isinstance(r, Var))}
    return [c for c in split.captures if c not in known]


def _forward(site: Site, condition: Array, splits: Sequence[Split], kept: Sequence[Sequence[Var]]) -> list[Value]:
    """Record the If of the primals, whose last outputs are the values that the branches keep."""
    blocks = [_primal(split, i, kept) for i, split in enumerate(splits)]
    types = [v.type for v in site.op.outputs]
    for own in kept:
        types += [Type(c.type.dtype, [fresh(KEPT) for _ in range(max(_rank(c.type), 1))]) for c in own]
    return emit_if(condition.value, blocks[0], blocks[1], types)


def _primal(split: Split, side: int, kept: Sequence[Sequence[Var]]) -> Block:
    def body() -> list[Value]:
        for step in split.primal.ops:
            tracing.append(step)
        results = list(split.primal.results)
        for i, own in enumerate(kept):
            results += [_with_axis(c) if i == side else _nothing(c.type) for c in own]
        return results

    return record(BRANCHES[side], [], body)


def _with_axis(capture: Var) -> Value:
    """Return the capture; a number gets an axis, so that it can be empty."""
    return capture if _rank(capture.type) else op.Unsqueeze(Array(capture), [0]).value


def _nothing(type: Type) -> Const:
    """Return an array without elements in place of a value of this type."""
    return Const(np.zeros((0,) * max(_rank(type), 1), type.dtype))


def _rank(type: Type) -> int:
    """Return the rank of a value that a branch keeps. Raises ShapeError if it is unknown."""
    if type.rank is None:
        raise ShapeError("a branch keeps a value with an unknown number of axes for its pullback")
    return type.rank


def _backward(
    split: Split,
    params: Sequence[Var],
    outputs: Sequence[Value],
    saved: dict[Var, Value],
    given: Sequence[Value],
    targets: Sequence[int],
) -> Block:
    """Return the branch's pullback as a block: one cotangent for each of `targets`, zeros where it has none."""
    results = dict(zip(split.primal.results, outputs, strict=False))

    def body() -> list[Value]:
        known: Renaming = {}
        for capture in split.captures:
            if capture in saved:
                value = saved[capture]
                bare = value if _rank(capture.type) else op.Squeeze(Array(value), [0]).value
                known[capture] = as_declared(bare, capture.type)
            elif capture not in params:
                known[capture] = as_declared(results[capture], capture.type)
        # The If may tell less of a result's sizes than the branch does.
        known.update((c, as_declared(v, c.type)) for c, v in zip(split.cotangents, given, strict=True))
        for step in split.pullback.ops:
            tracing.append(rename(step, known))
        cotangents_out = {t: renamed(r, known) for t, r in zip(split.targets, split.pullback.results, strict=True)}
        return [cotangents_out[t] if t in cotangents_out else zeros_of(params[t]) for t in targets]

    return record("pullback", [], body)


def zeros_of(var: Var) -> Value:
    """Return zeros in the shape of a value."""
    return zeros_like(Array(var)).value
