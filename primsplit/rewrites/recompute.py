"""Let a pullback recompute values that it would otherwise have to keep.

```
pullback(y, g) = Mul(g, y)  with y = Exp(x) not kept   ->   pullback(x, g) = Mul(g, Exp(x))
```
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Renaming, Value, Var, free, reads, rename, renamed
from primsplit.ir.analysis.orders import AGAIN
from primsplit.ir.errors import ShapeError
from primsplit.ir.parts import Split
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.loops.hoist import is_movable

VIEWS = kinds_where(lambda t: t.permutes) | {"Slice"}
"""Operators that only rearrange their first input, or take a part of it."""


def read_views_again(ops: Sequence[Op], views: Sequence[Op], params: Iterable[Var]) -> list[Op]:
    """Return the ops of a pullback, after those that recompute the views of parameters that it reads.

    Keeping a parameter costs nothing; a part of it in another order is recomputed from it.
    """
    given = set(params)
    made_by = {op.outputs[0]: op for op in views}
    inside = {v for op in ops for v in op.outputs}
    wanted = [v for v in dict.fromkeys(v for op in ops for v in reads(op)) if v in made_by and v not in inside]
    again: dict[Var, Op] = {}
    for var in wanted:
        chain = []
        source: Value | None = var
        while isinstance(source, Var) and source in made_by:
            chain.append(made_by[source])
            source = made_by[source].inputs[0]
        if isinstance(source, Var) and source in given:
            again.update((op.outputs[0], op) for op in reversed(chain))
    if not again:
        return list(ops)
    renaming: Renaming = {}
    copies = [rename(op, renaming) for op in again.values()]
    for op in ops:
        renaming.update((v, v) for v in op.outputs)
    return [*copies, *(rename(op, renaming) for op in ops)]


def recomputing(split: Split, is_kept: Callable[[Var], bool]) -> Split:
    """The split whose pullback captures only parameters and values in `is_kept`, and recomputes the rest from them.

    Raises ShapeError if a random draw would have to be repeated.
    """
    given = {*split.primal.params, *free(split.primal)}
    missing = {c for c in split.captures if c not in given and not is_kept(c)}
    if not missing:
        return split
    again: list[Op] = []
    for op in reversed(split.primal.ops):
        if not any(v in missing for v in op.outputs):
            continue
        if not is_movable(op):
            raise ShapeError(
                f"{op.kind} draws a number of random values that depends on the data, inside a loop", place=op.place
            )
        again.append(op)
        missing.update(v for v in reads(op) if v not in given and not is_kept(v))
    renaming: Renaming = {}
    ops = [rename(op, renaming, remark=AGAIN) for op in reversed(again)]
    ops += [rename(op, renaming) for op in split.pullback.ops]
    results = tuple(renamed(r, renaming) for r in split.pullback.results)
    bare = Block(split.pullback.name, (), tuple(ops), results)
    captures = tuple(v for v in free(bare) if v not in split.cotangents)
    return replace(split, pullback=replace(bare, params=(*captures, *split.cotangents)), captures=captures)
