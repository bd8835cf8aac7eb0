"""The stack of recordings: what this thread is recording, and what may be read there."""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from primsplit import ir
from primsplit.ir import Op, Type, Value, Var
from primsplit.ir.dims import Size
from primsplit.ir.errors import Place, PrimsplitError, TraceError
from primsplit.ir.scoped import Scoped, as_block
from primsplit.tracing.alike import Alike
from primsplit.tracing.variables import Variables


class Path(Protocol):
    """The way through a function's branches that is being recorded. `caller` is the file of the function's caller."""

    caller: str

    def decide(self, condition: Value, place: Place | None) -> bool:
        """Return the answer of this path to a condition that only the run knows."""
        ...


class Examples(Protocol):
    """Sets of arrays for the inputs of a recording. `active` are those that take the way being recorded.

    With `tells_numbers` they also answer requests for the integer value of a traced value.
    """

    active: tuple[int, ...]
    renaming: ir.Renaming
    tells_numbers: bool

    def outcomes(self, ops: Sequence[Op], condition: Value) -> dict[int, bool] | None:
        """Return the condition's value for each active set; None if it does not follow from the inputs."""
        ...

    def value(self, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        """Return the value that the ops compute for the first active set.

        None if it does not follow from the inputs.
        """
        ...


Source = tuple[Var, int]
"""A Var and the axis of it that a size is read from."""
Ranges = Mapping[Var, tuple[int, int]]
"""The least and the largest number that scalar integers may be."""


class Classes(NamedTuple):
    """The classes of which a number may be, and the place of the joined statement that gave it, if one did."""

    kinds: frozenset[type]
    at: tuple[str, int] | None = None


class Recording:
    """The ops recorded so far, and where each symbol's number can be read.

    `bindings` maps a parameter to the outer value that it stands for, if it stands for one alone. `counted` maps
    integers to the sizes that equal them; `alike` finds equal values. `variables` names values by the user's variables;
    a recording shares it with those inside it. `again` counts the loops around it whose bodies are being recorded once
    more, for other types. `ranges` has the numbers that integers of Python may be, `implied` those where a truth value
    is False and where it is True, and `classes` the classes of numbers that may be of several; they are shared too.
    `error_modes` are NumPy's when the outermost recording began.
    """

    __slots__ = (
        "_alike",
        "again",
        "bindings",
        "classes",
        "counted",
        "error_modes",
        "examples",
        "explores",
        "implied",
        "known",
        "ops",
        "outer",
        "path",
        "place",
        "ranges",
        "remark",
        "sources",
        "thread",
        "variables",
    )

    def __init__(
        self, outer: "Recording | None", *, place: Place | None = None, remark: str = "", explores: bool = True
    ) -> None:
        self.outer = outer
        self.explores: bool = explores and (outer is None or outer.explores)
        self.again: int = 0 if outer is None else outer.again
        self.path: Path | None = None
        self.examples: Examples | None = None if outer is None else outer.examples
        self._alike: Alike | None = None
        self.bindings: dict[Var, Value] = {}
        self.ops: list[Op] = []
        self.place: Place | None = place or (None if outer is None else outer.place)
        self.remark = remark
        self.sources: dict[str, Source] = {}
        self.thread = threading.get_ident()
        self.known: dict[str, Value] = {}
        self.counted: dict[Value, Size] = {}
        self.error_modes: dict[str, Any] = {**np.geterr()} if outer is None else outer.error_modes
        self.variables: Variables = Variables() if outer is None else outer.variables
        self.ranges: dict[Var, tuple[int, int]] = {} if outer is None else outer.ranges
        self.implied: dict[Value, tuple[Ranges, Ranges]] = {} if outer is None else outer.implied
        self.classes: dict[Value, Classes] = {} if outer is None else outer.classes

    @property
    def alike(self) -> Alike:
        """The table of its equal values, created when it is first asked for."""
        if self._alike is None:
            self._alike = Alike()
        return self._alike

    def snapshot(self) -> "Snapshot":
        """Return what was recorded so far, for `restore`."""
        sizes = dict(self.known), dict(self.counted), dict(self.sources)
        return list(self.ops), *sizes, dict(self.variables.uses)

    def restore(self, then: "Snapshot") -> None:
        """Forget what was recorded since."""
        self.ops, self.known, self.counted = list(then[0]), dict(then[1]), dict(then[2])
        self.sources, self.variables.uses = dict(then[3]), dict(then[4])

    def implications(self, condition: Value) -> tuple[Ranges, Ranges]:
        """Return the ranges of integers that follow where a condition does not hold, and where it does."""
        return self.implied.get(condition, ({}, {}))

    def param(self, type: Type, hint: str = "") -> Var:
        """Return a fresh Var that stands for an input."""
        var = Var(type, hint)
        if hint:
            self.variables.take(hint)
        self.learn(var)
        return var

    def learn(self, var: Var) -> None:
        """Remember that the sizes of this Var can be read from it."""
        for axis, dim in enumerate(var.type.shape or ()):
            if isinstance(dim, int):
                continue
            self.sources.setdefault(dim.text, (var, axis))
            part = primitive_part(dim)
            name = part.symbol or part.text
            known = self.sources.get(name)
            if known is None or (dim.text == name and dim_at(known).text != name):
                self.sources[name] = (var, axis)


Snapshot = tuple[list[Op], dict[str, Value], dict[Value, Size], dict[str, Source], dict[str, int]]


def primitive_part(dim: Size) -> Size:
    """Return the s of a size `a*s + b` whose coefficients have no common divisor: what the size is solved for."""
    if dim.symbol is not None:
        return dim
    varying = [(m, c) for m, c in dim.terms if m]
    common = math.gcd(*(c for _, c in varying)) * (1 if varying[0][1] > 0 else -1)
    return Size(tuple((m, c // common) for m, c in varying))


def dim_at(source: Source) -> Size:
    """Return the symbolic size of the axis. Raises PrimsplitError for one of a fixed size."""
    var, axis = source
    dim = (var.type.shape or ())[axis]
    if not isinstance(dim, Size):
        raise PrimsplitError(f"axis {axis} of {var} is no symbol")
    return dim


_top = Scoped[Recording | None](lambda: None)


def current() -> Recording:
    """Return the innermost recording. Raises TraceError outside of any."""
    if (top := _top.value) is None:
        raise TraceError(
            "nothing is being traced here",
            cure=(
                "Call this inside a function given to ps.trace or ps.grad; return",
                "traced values from it instead of storing them. A trace is of one thread alone.",
            ),
        )
    return top


def is_recording() -> bool:
    """Whether a function is being traced in this thread."""
    return _top.value is not None


def recording(
    *, place: Place | None = None, remark: str = "", explores: bool = True
) -> AbstractContextManager[Recording]:
    """Record what is emitted inside, in a recording nested in the current one.

    With `explores`, Python branches on traced values are followed both ways there, and in recordings inside.
    """
    inner = Recording(_top.value, place=place, remark=remark, explores=explores)
    return cast("AbstractContextManager[Recording]", _top.set_to(inner))


@as_block
def remarked(remark: str) -> Iterator[None]:
    """Give this remark to ops that are recorded inside."""
    into = current()
    before, into.remark = into.remark, remark
    try:
        yield
    finally:
        into.remark = before


def fresh_stack() -> AbstractContextManager[object]:
    """Record as if nothing else were being traced: what is recorded inside can capture nothing."""
    return _top.set_to(None)


def resumed(outer: Recording) -> AbstractContextManager[object]:
    """Record in an enclosing recording, for a value that belongs to it."""
    return _top.set_to(outer)


def levels() -> Iterator[Recording]:
    """Yield the recordings on the stack, the innermost first."""
    level = _top.value
    while level is not None:
        yield level
        level = level.outer


def recorded_ops() -> list[Op]:
    """Return the ops recorded so far, those of the outermost recording first. Raises TraceError outside of any."""
    return [*ops_backwards()][::-1]


def ops_backwards() -> Iterator[Op]:
    """Yield the ops recorded so far, the last one first. Raises TraceError outside of any recording."""
    current()
    for level in levels():
        yield from reversed(level.ops)


def readable_sizes() -> frozenset[str]:
    """Return the texts of the sizes that can be read from values here."""
    return frozenset(name for level in levels() for name in level.sources)


def is_open(recording: Recording) -> bool:
    """Whether the recording is on the stack, so that its Vars may be read."""
    return recording is _top.value or any(level is recording for level in levels())


def outcomes_for_examples(condition: Value) -> dict[int, bool] | None:
    """Return a condition's values for the current recording's examples.

    None if there are none, or they do not decide it.
    """
    examples = current().examples
    return None if examples is None else examples.outcomes(*_as_examples_know(examples, condition))


def number_for_examples(value: Value) -> npt.NDArray[Any] | None:
    """Return a value for the first active one of the current recording's examples; None if they do not determine it."""
    examples = current().examples
    if examples is None or not examples.tells_numbers:
        return None
    return examples.value(*_as_examples_know(examples, value))


def _as_examples_know(examples: Examples, value: Value) -> tuple[list[Op], Value]:
    """Return the ops recorded so far, and a value, in the Vars of the examples' recording."""
    renaming = examples.renaming
    ops: list[Op] = []
    for inner in reversed(list(levels())):
        renaming.update((p, ir.renamed(v, renaming)) for p, v in inner.bindings.items())
        ops += [ir.rename(op, renaming) for op in inner.ops]
    return ops, ir.renamed(value, renaming)
