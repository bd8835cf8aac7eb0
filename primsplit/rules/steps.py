"""Turns: a Scan or Loop as its derivative sees it, how to run it for more outputs, and where its values are found."""

from collections.abc import Callable
from dataclasses import dataclass

from primsplit.ir import Block, Renaming, Value, Var
from primsplit.tracing.array import Array
from primsplit.tracing.regions import Walk

Along = tuple[Value, Walk]


@dataclass(frozen=True, slots=True)
class Turns:
    """The common interface of a Scan and a Loop.

    The body's parameters are the carries, then each step's own values (the elements); its results the carries, then
    what is stacked. `run` records the loop with another body and further writes, and returns all outputs. `steps`
    records the number of steps, a vector of one element; None if only what was stacked has it. `element` returns the
    sequence of an element, from that number. `first` is the position of the first carry among the op's inputs;
    `sequences` are the inputs after the carries. `again` records the first so many steps once more, and returns the
    carries after them; None if carries keep their shape in any case.
    """

    body: Block
    inits: tuple[Value, ...]
    writes: tuple[Walk, ...]
    run: Callable[[Block, tuple[Walk, ...]], list[Value]]
    steps: Callable[[], Array] | None
    element: Callable[[int, Array], Along]
    first: int
    sequences: tuple[Along, ...]
    again: Callable[[Array], list[Value]] | None = None

    @property
    def count(self) -> int:
        """The number of carries."""
        return len(self.inits)

    @property
    def elements(self) -> tuple[Var, ...]:
        """The parameters after the carries."""
        return self.body.params[self.count :]


@dataclass(frozen=True, slots=True)
class Kept:
    """All outputs of the loop, and where each capture is found: around the loop, along one of these, or one step later.

    `later` maps a carry to the sequence of its next values, and its first one. `varying` are the carries whose shape
    changes from step to step, which are kept nowhere.
    """

    outputs: list[Value]
    around: Renaming
    along: dict[Var, Along]
    later: dict[Var, tuple[Along, Value]]
    varying: frozenset[Var]
