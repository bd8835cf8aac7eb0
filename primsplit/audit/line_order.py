"""Order the nodes of a section by the user's lines, as far as what they read allows.

```
a (line 8), b (line 7, reads nothing of a), c (line 8)   ->   a, c (line 8), then b (line 7)
```

Each node stays behind those that it reads. Otherwise the order is that in which the results demand them, not that of
the file, which a change elsewhere may turn round; of two operands the one that takes more steps comes first.
"""

from collections.abc import Sequence

from primsplit.ir import Block, Op, Var, reads
from primsplit.ir.running_order import in_order


def by_demand(block: Block) -> dict[Op, int]:
    """Return the position of each op of a block in the order in which its results demand them, operands first."""
    made = {v: op for op in block.ops for v in op.outputs}
    wanted = [made[r] for r in block.results if isinstance(r, Var) and r in made]
    steps: dict[Op, int] = {}
    for op in block.ops:
        steps[op] = 1 + max((steps[made[v]] for v in reads(op) if v in made), default=0)
    order: dict[Op, int] = {}
    waiting = [(op, False) for op in reversed([*wanted, *block.ops])]
    while waiting:
        op, is_read = waiting.pop()
        if op in order:
            continue
        if is_read:
            order[op] = len(order)
        else:
            waiting.append((op, True))
            read = [made[v] for v in reversed(reads(op)) if v in made and made[v] not in order]
            waiting += [(each, False) for each in sorted(read, key=steps.__getitem__)]
    return order


def by_lines(ops: Sequence[Op]) -> list[Op]:
    """Return the ops with those of a line one after the other."""
    made = {v: i for i, op in enumerate(ops) for v in op.outputs}
    needs = [{made[v] for v in reads(op) if v in made} for op in ops]
    return [ops[i] for i in in_order(needs, [op.line for op in ops])]
