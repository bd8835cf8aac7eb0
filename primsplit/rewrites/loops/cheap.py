"""Choose values that a loop recomputes rather than stacks: those that a few cheap ops compute from stacked ones.

Writing a value in each step and reading it again takes as long as some ops, however small it is, and takes memory for
all steps. So does recomputing a large value, by the cost table (`costs`).
"""

from collections.abc import Collection, Iterable

from primsplit.ir import Const, Op, Value, Var
from primsplit.ir.analysis.costs import THRESHOLD, cost
from primsplit.ir.parts import Split

MOST = 2
"""The most ops that recompute a value: keeping a small value costs about as much as so many ops."""


def cheap_captures(split: Split, known: Iterable[Var]) -> set[Var]:
    """Return the captures that are recomputed, from the others and from values that every step knows."""
    made: dict[Value | None, Op] = {op.outputs[0]: op for op in split.primal.ops if len(op.outputs) == 1}
    there = {*known, *split.captures}
    stays = {*split.primal.params, *split.primal.results}
    found: set[Var] = set()
    for capture in split.captures:
        chain = None if capture in stays else _chain(made, capture, there)
        if chain is not None and len(chain) <= MOST and sum(cost(op.kind) for op in chain) <= THRESHOLD:
            found.add(capture)
    return found


def _chain(made: dict[Value | None, Op], wanted: Var, there: Collection[Var]) -> list[Op] | None:
    """Return the ops that compute a value from the values at hand.

    None if these do not suffice, or it takes too many.
    """
    chain: list[Op] = []
    waiting: list[Value | None] = [wanted]
    while waiting:
        value = waiting.pop()
        is_there = value is None or isinstance(value, Const) or (value in there and value is not wanted)
        if is_there or any(value in op.outputs for op in chain):
            continue
        op = made.get(value)
        if op is None or op.blocks() or len(chain) == MOST:
            return None
        chain.append(op)
        waiting += op.inputs
    return chain
