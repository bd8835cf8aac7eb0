"""What a loop need not stack: what a few cheap ops make of values that it stacks anyway.

To write a value in each step and to read it there again is as long as some ops are, however little they work on, and
takes memory for all steps. So is what the cost table (`costs`) says of values that are large.
"""

from collections.abc import Collection, Iterable

from primsplit.ir import Const, Op, Value, Var
from primsplit.ir.analysis.costs import THRESHOLD, cost
from primsplit.ir.parts import Split

MOST = 2
"""The ops that may make a value again: a value of few elements costs about as much to keep as so many ops."""


def cheap_captures(split: Split, known: Iterable[Var]) -> set[Var]:
    """The captures that are made again, from the others and from values that are known in every step."""
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
    """The ops that make a value from those that are there; None where these do not suffice, or it takes too many."""
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
