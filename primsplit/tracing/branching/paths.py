"""Path: one way through a function whose branches depend on traced values, with the answers to its conditions."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Const, Op, Renaming, Value, Var
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ConcretizationError, Place, TraceError
from primsplit.ops.schema import exists, schema
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.handles.concretization import no_number

DEEPEST = 64
"""The most conditions of one path whose both ways are recorded: a loop that tests more has no end."""
MOST = 1024
"""The most paths of one function that are recorded, ..."""
FEW = 64
"""... where more than these do not compare for Python's `min`, `sorted` or `all`, ..."""
SHALLOW = 12
"""... or where one path asks more conditions than these, each an If inside another: onnxruntime loads few of those."""
COSTLY = 8, 2**11
"""... or where more paths than these record more ops than these in all."""
LONGEST = 2**18
"""The most ops that are recorded in all where the paths are more than FEW..."""
LONGEST_OF_LOOP = 2**16
"""... and where a loop among them ends by its numbers alone: its paths are seldom few."""

WAYS_OUT = (
    "Write it with ps.cond, or np.where for a choice by elements; a loop with ps.while_loop, ps.fori_loop or ps.scan;",
    "or pass what it depends on as a static Python argument. On arrays, branches='guard' records the ways they take.",
)


PLACES = "an integer index", "a hash"
"""The beginnings of the errors for a list or a dictionary that is indexed by a traced number."""


class Endless(ConcretizationError):
    """A function has more paths than are recorded."""


class NotJoined(TraceError):
    """A branch at a line of a file cannot be recorded as one If, and why.

    It may be possible if the functions of some files note what they set (`to_note`), if the lists of its function may
    grow (`grows`), or if the list at a place has an index that only the run knows (`index_at`). A loop that `goes_on`
    may have no end.
    """

    def __init__(
        self,
        at: tuple[str, int],
        why: str,
        to_note: Set[str] = frozenset(),
        *,
        grows: bool = False,
        goes_on: bool = False,
        index_at: Place | None = None,
    ) -> None:
        super().__init__(why)
        self.at, self.to_note, self.grows, self.goes_on, self.index_at = at, to_note, grows, goes_on, index_at


class Decision(NamedTuple):
    """A condition that a path tested: after how many ops, which value, and what the answer was.

    A settled one was answered by the arrays that the function is recorded for; the other way is not recorded.
    """

    position: int
    condition: Value
    outcome: bool
    place: Place | None
    settled: bool = False


@dataclass
class Path:
    """One way through the function: the answers to its conditions, then `default`, and what it recorded."""

    answers: tuple[bool, ...]
    caller: str = ""
    default: bool = True
    taken: list[Decision] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    results: list[Array] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    spec: trees.TreeSpec | None = None
    failure: Exception | SystemExit | None = None
    failed_at: Place | None = None
    renaming: Renaming = field(default_factory=dict)
    sizes: dict[str, Dim] = field(default_factory=dict)
    known: dict[Any, bool] = field(default_factory=dict)

    def decide(self, condition: Value, place: Place | None) -> bool:
        """Return this path's answer to a condition; the same one for the same condition.

        A search of SciPy's loops until it has found its result: it gets no answer, but may have a substitute.
        """
        if tracing.called_function().startswith("scipy.optimize."):
            raise no_number(condition.type, "a branch")
        recorded = tracing.current().ops
        key = _meaning(condition, {v: o for o in recorded for v in o.outputs}, 8)
        if key in self.known:
            return self.known[key]
        index = len(self.taken)
        told = tracing.outcomes_for_examples(condition)
        ways = {True, False} if told is None else set(told.values())
        if sum(not d.settled for d in self.taken) >= DEEPEST or index >= MOST:
            raise endless(place, f"one path asks more than {MOST if index >= MOST else DEEPEST} conditions")
        otherwise = self.default if len(ways) > 1 else True in ways
        outcome = self.answers[index] if index < len(self.answers) else otherwise
        _go(told, outcome)
        self.taken.append(Decision(len(recorded), condition, outcome, place, settled=len(ways) == 1))
        self.known[key] = outcome
        return outcome


def _go(told: Mapping[int, bool] | None, outcome: bool) -> None:
    """Keep those examples active for which a condition has this outcome."""
    examples = tracing.current().examples
    if told is not None and examples is not None:
        examples.active = tuple(i for i, found in told.items() if found is outcome)


def _meaning(value: Value | None, made_by: dict[Var, Op], depth: int) -> Any:
    """Return a key that is equal for conditions that are computed alike, up to `depth` ops back."""
    if isinstance(value, Const):
        return (value.type.key, value.numpy().tobytes()) if value.is_small else id(value)
    maker = made_by.get(value) if isinstance(value, Var) else None
    if value is None or maker is None or depth == 0 or not _is_told_by_inputs(maker):
        return id(value)
    attributes = tuple((name, repr(value)) for name, value in sorted(maker.attributes.items()))
    return (maker.kind, attributes, *(_meaning(v, made_by, depth - 1) for v in maker.inputs))


def _is_told_by_inputs(made: Op) -> bool:
    """Whether the op is a deterministic operator of the standard with one output and short inputs and attributes."""
    is_plain = not any(isinstance(v, Block | np.ndarray) for v in made.attributes.values())
    is_short = is_plain and len(made.inputs) <= 3 and len(made.outputs) == 1
    return is_short and exists(made.kind) and schema(made.kind).deterministic


def check_number(paths: Sequence[Path], pending: int, longest: int) -> None:
    """Raise Endless if a function has more paths than are recorded, or many that record more ops than `longest`.

    Pending paths count with as many ops as those that are recorded have on average.
    """
    count = len(paths) + pending
    if count <= FEW:
        return
    place = paths[-1].taken[-1].place
    if count > MOST:
        raise endless(place, f"it has more than {MOST} paths")
    if asks_for_order(place) or sum(len(p.ops) for p in paths) * count > longest * len(paths):
        raise endless(place, f"it has {count} paths or more, and records too much on them")


def endless(place: Place | None, why: str) -> Endless:
    """Return the error of a function that has more paths than are recorded."""
    error = Endless(
        f"the function branches on traced values without end: {why}",
        place=place,
        cure=WAYS_OUT,
    )
    error.again = asks_for_order(place)
    return error


def asks_for_order(place: Place | None) -> bool:
    """Whether the line calls Python's `min`, `sorted` or `all`, which a substitute may compute with fewer branches."""
    return place is not None and re.search(r"(?<![\w.])(min|max|sorted|all|any)\(", place.source) is not None
