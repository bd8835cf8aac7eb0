"""Run a data-flow analysis through a loop: repeat its step until the facts about the carries no longer change."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from primsplit.ir import Op

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
