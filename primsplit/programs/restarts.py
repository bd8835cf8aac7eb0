"""Warn if a file of a training step draws random numbers: a resumed step draws other ones."""

from collections.abc import Iterator

from primsplit.ir import Block
from primsplit.ir.errors import Place, RestartedDrawsWarning, warn_at
from primsplit.ir.names import NamedBlock
from primsplit.ops.traits import traits

TOLD = (
    "a program draws on from run to run, and starts again when its file is loaded: a training step that is stopped "
    "and resumed draws other numbers than one that goes on. To resume exactly, draw outside, and pass the numbers "
    "as an argument."
)

NOWHERE = Place("<program>", 1, "")


def report_restarting_draws(named: NamedBlock) -> None:
    """Warn, once at each line that draws with a seed, if this program computes values for its next run.

    Such values are states, and results with the type of an input, except gradients and single numbers. Draws without a
    seed promise no numbers.
    """
    places = dict.fromkeys(_draws(named.block, NOWHERE))
    if places and _goes_on(named):
        for place in places:
            warn_at(place, TOLD, RestartedDrawsWarning)


def _draws(block: Block, outer: Place) -> Iterator[Place]:
    """Yield the lines of draws with a seed; for functions that record no lines, that of the call."""
    for op in block.ops:
        place = op.place.whole_line if op.place is not None and op.place.line else outer
        if traits(op.kind).random and "seed" in op.attributes:
            yield place
        for inner in op.blocks():
            yield from _draws(inner, place)


def _goes_on(named: NamedBlock) -> bool:
    """Whether it is a step: a program with states, or with a result that may be an input of the next run."""
    if any(state.output is not None for state in named.states):
        return True
    given = {param.type.key for param in named.block.params if param.type.rank != 0}
    gradients = set(named.gradients)
    return any(r.type.key in given for i, r in enumerate(named.block.results) if i not in gradients)
