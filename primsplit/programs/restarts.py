"""Warn where a file of a training step draws random numbers: a step that is resumed draws other ones."""

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
    """Warn, once at each line that draws with a seed, where this program makes values for its next run.

    Such values are states, and results with the type of an input, gradients and single numbers apart. Draws without a
    seed promise no numbers.
    """
    places = dict.fromkeys(_draws(named.block, NOWHERE))
    if places and _goes_on(named):
        for place in places:
            warn_at(place, TOLD, RestartedDrawsWarning)


def _draws(block: Block, outer: Place) -> Iterator[Place]:
    """The lines of draws with a seed; of those in functions that record no lines, that of the call."""
    for op in block.ops:
        place = op.place.whole_line if op.place is not None and op.place.line else outer
        if traits(op.kind).random and "seed" in op.attributes:
            yield place
        for inner in op.blocks():
            yield from _draws(inner, place)


def _goes_on(named: NamedBlock) -> bool:
    """True for a step: a program with states, or with a result that may be an input of the next run."""
    if any(state.output is not None for state in named.states):
        return True
    given = {param.type.key for param in named.block.params if param.type.rank != 0}
    gradients = set(named.gradients)
    return any(r.type.key in given for i, r in enumerate(named.block.results) if i not in gradients)
