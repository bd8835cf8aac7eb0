"""The order of the ops: gradients that nothing else needs come last, the one that is ready first at the very end.

onnxruntime does not run a file from top to bottom: it starts from the last sink and runs all that it needs, then the
one before. With each weight gradient at the end, the last layer's last of all, every cotangent is used up as soon as
it is there; beside the input gradients they would keep every layer's cotangent alive.
"""

from collections.abc import Sequence

from primsplit.ir import Block, Op, Var, reads

SHARED = -1


def gradients_last(block: Block, gradients: Sequence[int]) -> Block:
    """The block with the ops that lead only to one of these results after all others.

    `gradients` are the positions of the results that are gradients of parameters. The ops of one gradient stay
    together and in order; a gradient that waits longer for the other ops comes before one that waits less.
    """
    owner = _owners(block, gradients)
    common: list[Op] = []
    cones: dict[int, list[Op]] = {}
    ready: dict[Var, int] = {}
    waits: dict[int, int] = {}
    for op, position in zip(block.ops, owner, strict=True):
        if position == SHARED:
            common.append(op)
            ready.update((v, len(common)) for v in op.outputs)
        else:
            cones.setdefault(position, []).append(op)
            waits[position] = max(waits.get(position, 0), *(ready.get(v, 0) for v in reads(op)), 0)
    last = sorted(cones, key=lambda position: waits[position], reverse=True)
    ops = (*common, *(op for position in last for op in cones[position]))
    return Block(block.name, block.params, ops, block.results)


def _owners(block: Block, gradients: Sequence[int]) -> list[int]:
    """For each op the one gradient, by position, that it leads to, or SHARED."""
    leads: dict[Var, int] = {}
    for position, result in enumerate(block.results):
        if isinstance(result, Var):
            own = position if position in gradients else SHARED
            leads[result] = own if leads.get(result, own) == own else SHARED
    owner: list[int] = []
    for op in reversed(block.ops):
        found = {leads[v] for v in op.outputs if v in leads}
        mine = found.pop() if len(found) == 1 else SHARED
        owner.append(mine)
        for var in reads(op):
            leads[var] = mine if leads.get(var, mine) == mine else SHARED
    owner.reverse()
    return owner
