"""The states of a program: the inputs and outputs that carry them from one call to the next, and their values."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.errors import SpecError
from primsplit.ir.names import StatePair
from primsplit.ir.plain_text import in_one_line
from primsplit.tracing.states import State

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A state of a program, and the input and output that carry it; one that is only read has no output.

    `declared` is the state that the user's function reads.
    """

    state: State
    input: str
    output: str | None
    declared: State

    @property
    def name(self) -> str:
        """The program's name for it: the state's own, numbered if another has it too."""
        return self.input.removeprefix("state.").removesuffix(".in")

    @property
    def pair(self) -> StatePair:
        """The file's description of it."""
        return StatePair(self.name, self.input, self.output, self.state.initial)

    def own(self) -> "Carried":
        """Return a copy whose state is a new one, at its initial value: calls of the two do not see each other."""
        return replace(self, state=self.state.own())

    @classmethod
    def of(cls, pairs: Sequence[StatePair]) -> "list[Carried]":
        """Return the states that a file describes."""
        owner = object()
        states = [State(p.name, p.initial, owner) for p in pairs]
        return [cls(s, p.input, p.output, s) for s, p in zip(states, pairs, strict=True)]


class _UnknownStateError(SpecError, KeyError):
    """A name that no state has; a KeyError too, which mappings' own methods `get` and `in` expect."""

    __str__ = SpecError.__str__


class Values(MutableMapping[str, AnyArray]):
    """The present values of a program's states, by name: copies, which may be read and set. `reset` restarts them."""

    def __init__(self, carried: Sequence[Carried]) -> None:
        self._states = {c.name: c.state for c in carried}

    def __repr__(self) -> str:
        told = (in_one_line(f"{name}: {state.type}") for name, state in self._states.items())
        return "\n".join(told) or "no states"

    def __getitem__(self, name: str) -> AnyArray:
        return self._of(name).now.copy()

    def __setitem__(self, name: str, value: npt.ArrayLike) -> None:
        self._of(name).assign(value)

    def __delitem__(self, name: str) -> None:
        raise SpecError(f"the state {name} cannot be taken away", cure="Set it, or reset() all.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def reset(self) -> None:
        """Set every state to its initial value."""
        for state in self._states.values():
            np.copyto(state.now, state.initial)

    def _of(self, name: str) -> State:
        if name not in self._states:
            raise _UnknownStateError(
                f"there is no state {name}",
                place=tracing.user_place(),
                because=(f"the states are {', '.join(self._states) or 'none'}",),
            )
        return self._states[name]


CARRYING = RLock()
"""Held while a run reads states and writes them: two runs that carry the same would lose one of their writes."""


def run_carrying(
    session: Any,
    carried: Sequence[Carried],
    outputs: Sequence[str],
    feeds: Mapping[str, Any],
    buffers: Mapping[str, AnyArray] | None = None,
) -> dict[str, AnyArray]:
    """Run once on the states' values; their next values are written into their second buffers, which become the states.

    Other outputs are the caller's: new arrays, or those in `buffers`. If the run fails no state has changed.
    """
    with CARRYING if carried else nullcontext():
        given = {**feeds, **{c.input: c.state.now for c in carried}}
        written = [c for c in carried if c.output is not None]
        into: dict[str | None, AnyArray] = {c.output: c.state.buffers[1] for c in written}
        into.update(buffers or {})
        found = session.run_into(given, [into.get(name) for name in outputs])
        for each in written:
            each.state.turn()
        return dict(zip(outputs, found, strict=True))
