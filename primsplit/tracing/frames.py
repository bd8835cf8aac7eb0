"""Track the states of a function while it is recorded: in a trace, a state is a handle like any array's.

A function that is recorded for a transform, or as a whole program, has a frame. The first read of a state in it is a
handle of the state's value around the function; in a whole program, a parameter. The last values of the states that it
writes to are further results, which whoever records the function passes to `store`. A loop's body has a frame for each
step (`tracing/control/states.py`). Branches and batches have none: states may be read there, and not written to.

A derivative rule reads no states but those that it gets by keyword: it runs later than its call. (What Mooncake calls
the state of a rule is a capture here.)
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Type, Var
from primsplit.ir.errors import TraceError
from primsplit.ir.scoped import Scoped
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.calls.recorded import StandIn, explored_call, record_call


class Slot(Protocol):
    """The part of a state that a frame uses."""

    name: str

    @property
    def type(self) -> Type:
        """dtype and shape."""
        ...

    @property
    def now(self) -> npt.NDArray[Any]:
        """The array that holds its value outside of traces."""
        ...


class _UnforeseenWriteError(Exception):
    """A path of a function wrote to a state that the paths before it did not write to."""


class Frame:
    """The states of a function that is being recorded: a handle for each, and which are `written`.

    A function is run several times, once for each path through its branches: each run has handles of its own, and
    returns the last value of every state that some path writes to.
    """

    def __init__(self) -> None:
        self.recording: tracing.Recording | None = None
        self.handles: dict[Slot, Array] = {}
        self.written: dict[Slot, None] = {}
        self.is_settled = False
        self.is_closed = False

    def opened(self) -> AbstractContextManager[object]:
        """Let states that are used inside belong to this frame."""
        return _frames.set_to((*_frames.value, self))

    def keeping(self, call: Callable[[list[Array]], Any]) -> Callable[[list[Array]], Any]:
        """Wrap the call of the function so that it also returns the last values of the states that are written to."""

        def run(handles: list[Array]) -> tuple[Any, list[Array]]:
            self.recording = tracing.current()
            self.handles = {}
            return call(handles), self._last_values()

        return run

    def _last_values(self) -> list[Array]:
        written = [state for state, handle in self.handles.items() if handle.version]
        missing = [state for state in written if state not in self.written]
        self.written.update(dict.fromkeys(missing))
        if missing and self.is_settled:
            raise _UnforeseenWriteError
        self.is_settled = True
        return [self.handle(state) for state in self.written]

    def handle(self, state: Slot) -> Array:
        """Return the handle that stands for a state in this recording."""
        if state not in self.handles and self.recording is not None:
            with tracing.resumed(self.recording):
                self.handles[state] = self.first(state)
        return self.handles[state]

    def first(self, state: Slot) -> Array:
        """Return the state before the function writes to it: its value around the function at that time."""
        around = _frames.value[: _frames.value.index(self)]
        return Array(innermost(state, around).handle(state).value)

    def check_writable(self, state: Slot) -> None:
        """Raise TraceError if what is being recorded is inside of this frame, and may run often or not at all."""
        if tracing.current() is not self.recording:
            raise TraceError(
                f"the state {state.name} is written to in a branch, ps.vmap or a primitive",
                place=tracing.user_place(),
                cure="Return the new value from there, and write it to the state behind it.",
            )


_frames = Scoped[tuple[Frame, ...]](tuple)
"""The recordings in this thread that states belong to, the innermost last."""


def without_states() -> AbstractContextManager[object]:
    """Forbid reads of states inside: what is recorded there is for calls with other states than now."""
    frame = Frame()
    frame.is_closed = True
    return frame.opened()


class _Outermost(Frame):
    """The frame of a whole program: each state becomes a parameter, whose current value is put into `known`."""

    def __init__(self, known: dict[Var, npt.NDArray[Any]]) -> None:
        super().__init__()
        self.params: dict[Slot, Var] = {}
        self.known = known

    def first(self, state: Slot) -> Array:
        """Return the parameter that stands for a state."""
        if state not in self.params and self.recording is not None:
            self.params[state] = self.recording.param(state.type, state.name)
            self.known[self.params[state]] = state.now
        return Array(self.params[state])


def innermost(state: Slot, frames: Sequence[Frame] | None = None) -> Frame:
    """Return the frame that a state belongs to here. Raises TraceError if none is being recorded."""
    for frame in reversed(_frames.value if frames is None else frames):
        if frame.is_closed:
            break
        if frame.recording is not None and tracing.is_open(frame.recording):
            return frame
    raise TraceError(
        f"the state {state.name} is used where only the arguments are known",
        place=tracing.user_place(),
        cure="A rule, or a function that is recorded for many calls, takes it as an argument: f(x, slot[...]).",
    )


@dataclass(frozen=True, slots=True)
class Kept:
    """A recorded function: its block, whose last results are the new values of `states`, and its result's structure."""

    block: Block
    result: trees.TreeSpec
    states: tuple[Slot, ...]

    @property
    def count(self) -> int:
        """The number of results that are the function's own."""
        return len(self.block.results) - len(self.states)


def record_keeping(name: str, arguments: Sequence[StandIn], call: Callable[[list[Array]], Any]) -> Kept:
    """Record a call like `record_call`, of a function that may read and write states of the function around it.

    Whoever inlines the block passes the new values of the states to `store`.
    """
    frame = Frame()
    with frame.opened():
        while True:
            try:
                block, spec = record_call(name, arguments, frame.keeping(call))
            except _UnforeseenWriteError:
                continue
            return Kept(block, spec.children()[0], tuple(frame.written))


def store(states: Sequence[Slot], values: Sequence[Array]) -> None:
    """Write new values to states, in the function that is being recorded."""
    for each, value in zip(states, values, strict=True):
        frame = innermost(each)
        frame.check_writable(each)
        frame.handle(each).assign(value)


@dataclass(frozen=True, slots=True)
class Outermost:
    """A function recorded as a program: its results, the values written to states, and the parameters of states."""

    results: list[Array]
    result: trees.TreeSpec
    written: dict[Slot, Array]
    params: dict[Slot, Var]


def explored_keeping(
    name: str,
    given: Sequence[tuple[Var, StandIn]],
    call: Callable[[list[Array]], Any],
    known: dict[Var, npt.NDArray[Any]],
    *,
    is_transform: bool = False,
) -> Outermost:
    """Record a whole program like `explored_call`; its states become parameters and results of it.

    The current values of the states are put into `known`.
    """
    into = tracing.current()
    before = into.snapshot()
    frame = _Outermost(known)
    with frame.opened():
        while True:
            try:
                arrays, spec = explored_call(name, given, frame.keeping(call), is_transform=is_transform)
            except _UnforeseenWriteError:
                into.restore(before)
                continue
            own = len(arrays) - len(frame.written)
            written = dict(zip(frame.written, arrays[own:], strict=True))
            return Outermost(arrays[:own], spec.children()[0], written, frame.params)
