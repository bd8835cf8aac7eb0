"""What is known of a loop's carries: taken through its steps until one more step changes nothing."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from primsplit.ir import Op

Fact = TypeVar("Fact")


def lead_and_carries(op: Op) -> tuple[int, int]:
    """How many inputs of a Loop or Scan stand before its carries, and how many carries there are."""
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
    """What is known of the condition that a Loop's step gives, and of each output, from what is known of the inputs.

    `counted` is known of a Loop's count of steps and condition in its body; `step` tells of the body's results what
    follows from its parameters, `either` what holds of what is now the one, now the other. These grow step by step to
    what no further one changes.
    """
    lead, count = lead_and_carries(op)
    carried, rows = list(given[lead : lead + count]), given[lead + count :]
    while True:
        results = step([*[counted] * lead, *carried, *rows])
        ends, results = results[: lead // 2], results[lead // 2 :]
        turned = list(map(either, carried, results[:count]))
        if turned == carried:
            return list(ends), [*carried, *results[count:]]
        carried = turned
