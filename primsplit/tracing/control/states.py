"""Carry the states that a loop's body writes to from step to step, and write them after the loop."""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir.errors import TraceError
from primsplit.tracing.array import Array
from primsplit.tracing.frames import Frame, Slot, innermost, store


class _WriteInBodyError(Exception):
    """A step wrote to a state that its loop does not carry."""

    def __init__(self, carried: "Carried", state: Slot) -> None:
        super().__init__(state.name)
        self.carried = carried
        self.state = state


class _StepFrame(Frame):
    """The frame of one recording of a step: the states that the loop carries are handles of the step's own."""

    def __init__(self, carried: "Carried", values: Sequence[Array]) -> None:
        super().__init__()
        self.recording = tracing.current()
        self.carried = carried
        self.handles = {state: Array(x.value) for state, x in zip(carried.states, values, strict=True)}

    def check_writable(self, state: Slot) -> None:
        super().check_writable(state)
        if state not in self.carried.states:
            raise _WriteInBodyError(self.carried, state)

    def written_to(self) -> list[Slot]:
        """Return the states whose handles were written to, also by a call with `out=`."""
        return [state for state, handle in self.handles.items() if handle.version]


class Carried:
    """The states that a loop is known to write to; their values are carried beside the user's carry."""

    def __init__(self, states: tuple[Slot, ...]) -> None:
        self.states = states

    def start(self, init: Any) -> Any:
        """Return the first carry."""
        return self._beside(init, [Array(innermost(state).handle(state).value) for state in self.states])

    def step(self, carry: Any, call: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return the new carry and the step's other result; `call` computes both from the user's carry."""
        own, values = self.parted(carry)
        frame = _StepFrame(self, values)
        with frame.opened():
            after, other = call(own)
        for state in frame.written_to():
            frame.check_writable(state)
        return self._beside(after, [frame.handles[state] for state in self.states]), other

    def look(self, carry: Any, condition: Callable[[Any], Any]) -> Any:
        """Return the value of a loop's condition. Raises TraceError if it writes to a state."""
        own, values = self.parted(carry)
        frame = _StepFrame(self, values)
        with frame.opened():
            result = condition(own)
        for state in frame.written_to():
            raise TraceError(f"the state {state.name} is written to in a loop's condition", place=tracing.user_place())
        return result

    def parted(self, carry: Any) -> tuple[Any, Sequence[Array]]:
        """Return the user's own carry, and the states' values."""
        return carry if self.states else (carry, ())

    def _beside(self, carry: Any, values: Sequence[Array]) -> Any:
        return (carry, values) if self.states else carry


def with_states(record: Callable[[Carried], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return the last carry of a loop and its other results, which `record` records for the states to carry.

    It is recorded again for each state that its body turns out to write to.
    """
    states: tuple[Slot, ...] = ()
    while True:
        carried = Carried(states)
        try:
            carry, other = record(carried)
        except _WriteInBodyError as found:
            if found.carried is not carried:
                raise
            states = (*states, found.state)
            continue
        own, last = carried.parted(carry)
        store(states, last)
        return own, other
