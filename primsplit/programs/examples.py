"""Arrays for the inputs of a recording, which tell the ways that its Python branches go.

The ways that such arrays settled follow each other in a chain of Ifs, each in the one before: a reader of protobuf
takes 31 of them in one another, and no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Block, Const, Op, Renaming, Type, Value, Var, free, live_ops, reads, walk
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ir.errors import SpecError
from primsplit.ir.names import NamedBlock
from primsplit.ops.traits import traits
from primsplit.programs.doors import make_session
from primsplit.tracing import trees, user_place
from primsplit.tracing.specs import leaf_type, may_be

Arrays = dict[Var, npt.NDArray[Any]]

SMALL = 2**16
"""The bytes of a value up to which it is remembered, so that the next condition begins where this one ended."""


@dataclass(frozen=True, slots=True)
class Way:
    """Arguments that took a way through a function's branches: their leaves, of which arrays are copies."""

    leaves: tuple[Any, ...]
    spec: trees.TreeSpec

    @classmethod
    def of(cls, args: Sequence[Any], named: Mapping[str, Any]) -> "Way":
        """The arguments of a call."""
        leaves, spec = trees.in_parts((tuple(args), dict(named)))
        return cls(tuple(x.copy() if isinstance(x, np.ndarray) else x for x in leaves), spec)


class Examples:
    """One or several sets of arrays for a recording's parameters; `active` are those that go the way being recorded.

    `shared` are what all have in common: the states. `renaming` tells by what name conditions read the values of a
    recording that is made inside of another.
    """

    def __init__(self, shared: Arrays, sets: Sequence[Mapping[Var, npt.NDArray[Any]]]) -> None:
        self.shared = shared
        self.sets: list[Arrays] = [dict(own) for own in sets]
        self.active = tuple(range(len(sets)))
        self.renaming: Renaming = {}
        self.tells_numbers = False

    def outcomes(self, ops: Sequence[Op], condition: Value) -> dict[int, bool] | None:
        """What a condition that the ops compute is for each active set; None where the inputs alone do not tell.

        They do not where random numbers are drawn, or where it depends on the step of a loop.
        """
        found = {i: self._value(self.sets[i], ops, condition) for i in self.active}
        if any(value is None for value in found.values()):
            return None
        return {i: bool(value) for i, value in found.items()}

    def value(self, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        """What the ops compute for the first active set; None where the inputs alone do not tell."""
        return self._value(self.sets[self.active[0]], ops, wanted)

    def _value(self, own: Arrays, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        given = {**self.shared, **own}
        if isinstance(wanted, Const) or wanted in given:
            return wanted.numpy() if isinstance(wanted, Const) else given[wanted]
        live = live_ops([o for o in ops if not all(v in given for v in o.outputs)], [wanted])
        read = dict.fromkeys(v for o in live for v in reads(o) if v in given)
        made = [v for o in live if all(map(_is_small, o.outputs)) for v in o.outputs if v is not wanted]
        block = Block("condition", tuple(read), tuple(live), (wanted, *made))
        if free(block) or any(traits(o.kind).random for o in walk(block)):
            return None
        names = [[f"{stem}{i}" for i in range(len(values))] for stem, values in (("x", read), ("y", block.results))]
        session = make_session(NamedBlock(block, tuple(names[0]), tuple(names[1]), (), {}))
        found = session.run({name: given[v] for name, v in zip(names[0], read, strict=True)})
        own.update((v, array) for v, array in zip(block.results, found, strict=True) if isinstance(v, Var))
        return own[wanted]


def _is_small(value: Var) -> bool:
    size = value.type.literal_nbytes()
    return size is not None and size <= SMALL


def example_sets(own: Way, ways: Sequence[Way] | None) -> list[list[npt.NDArray[Any] | None]]:
    """For each way the arrays of its leaves, None for a static one: those of `own`, and those of `ways` that fit it.

    Raises SpecError where `own` are specs and there is no way that fits; without `ways`, where they are specs at all.
    """
    told = [way for way in ways or () if _fits(way, own)]
    if not told or not any(isinstance(x, Type) for x in own.leaves):
        told.append(own)
    return [[None if leaf_type(x) is None else _known(x, guarded=ways is not None) for x in way.leaves] for way in told]


def _fits(way: Way, own: Way) -> bool:
    """True for arguments that are among those which a program for `own` takes."""
    if way.spec != own.spec:
        return False
    types = [(leaf_type(a), leaf_type(b)) for a, b in zip(way.leaves, own.leaves, strict=True)]
    if not all((a is None) == (b is None) and (a is None or b is None or may_be(a, b)) for a, b in types):
        return False
    static = [(a, b) for a, b, (t, _) in zip(way.leaves, own.leaves, types, strict=True) if t is None]
    return all(fingerprint(a) == fingerprint(b) for a, b in static)


def _known(leaf: Any, *, guarded: bool) -> npt.NDArray[Any]:
    if isinstance(leaf, Type) or not trees.is_array(leaf):
        of_file = "Pass arrays as the arguments to record for; those of a file are its example_inputs()."
        called = "Pass arrays, or a function of ps.guarded that was called on arrays of every way before."
        raise SpecError(
            "which way a branch goes is told by arrays, not by specs",
            place=user_place(),
            cure=called if guarded else of_file,
        )
    found = leaf_type(leaf)
    return np.asarray(leaf, None if found is None else found.dtype)
