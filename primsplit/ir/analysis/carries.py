"""Run a data-flow analysis through a loop: repeat its step until the facts about the carries no longer change."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

from primsplit.ir import Block, Op, Value, Var

Fact = TypeVar("Fact")


def lead_and_carries(op: Op) -> tuple[int, int]:
    """Return how many inputs of a Loop or Scan precede its carries, and how many carries there are."""
    if op.kind == "Loop":
        return 2, len(op.inputs) - 2
    return 0, len(op.inputs) - int(op.attributes["num_scan_inputs"])


def settled(
    op: Op,
    given: Sequence[Fact],
    counted: Fact,
    step: Callable[[Sequence[Fact]], Sequence[Fact]],
    either: Callable[[Fact, Fact], Fact],
) -> tuple[list[Fact], list[Fact]]:
    """Return the facts about a loop's condition, and those about its outputs, that follow from those about its inputs.

    `given` are the facts about the inputs; `counted` is the fact about a Loop's step number and condition in its body.
    `step` maps the facts about the body's parameters to those about its results; `either` joins two facts about one
    value. The facts about the carries are joined with those after one more step until they are a fixed point.
    """
    lead, count = lead_and_carries(op)
    carried, rows = list(given[lead : lead + count]), given[lead + count :]
    while True:
        results = step([*[counted] * lead, *carried, *rows])
        ends, results = results[: lead // 2], results[lead // 2 :]
        joined = list(map(either, carried, results[:count]))
        if joined == carried:
            return list(ends), [*carried, *results[count:]]
        carried = joined


def needed_back(
    op: Op, wanted: Sequence[bool], needed_in: Callable[[Block, Sequence[Value]], set[Var]]
) -> tuple[set[Var], list[Value | None]]:
    """Return what the wanted outputs of a loop need inside of its body, and the inputs that they need from outside.

    `needed_in` returns what some results of the body need. A carry that a step needs is wanted from the step before it:
    the wanted outputs grow by such carries until they are a fixed point. A Loop's number of steps and its condition are
    not among the inputs.
    """
    (body,) = op.blocks()
    lead, carries = lead_and_carries(op)
    results, own = body.results[lead // 2 :], body.params[lead:]
    wanted = list(wanted)
    while True:
        inside = needed_in(body, list(itertools.compress(results, wanted)))
        grown = [w or (i < carries and own[i] in inside) for i, w in enumerate(wanted)]
        if grown == wanted:
            break
        wanted = grown
    begun = [own[i] in inside or (i < carries and wanted[i]) for i in range(len(own))]
    return inside, list(itertools.compress(op.inputs[lead:], begun))
