"""Example arrays for the inputs of a recording, which decide the ways that its Python branches go.

The recorded ways follow each other in a chain of nested Ifs: a reader of protobuf accepts 31 nested ones, and no more.
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
"""A value of at most so many bytes is remembered, so that the next condition is computed from it."""


@dataclass(frozen=True, slots=True)
class Way:
    """Arguments that took a way through a function's branches: their leaves, with copies of arrays."""

    leaves: tuple[Any, ...]
    spec: trees.TreeSpec

    @classmethod
    def of(cls, args: Sequence[Any], named: Mapping[str, Any]) -> "Way":
        """Return the arguments of a call."""
        leaves, spec = trees.in_parts((tuple(args), dict(named)))
        return cls(tuple(x.copy() if isinstance(x, np.ndarray) else x for x in leaves), spec)


class Examples:
    """One or several sets of arrays for a recording's parameters; `active` are those that go the way being recorded.

    `shared` are common to all: the states. `renaming` maps the values of a recording inside of another to the names
    that conditions read.
    """

    def __init__(self, shared: Arrays, sets: Sequence[Mapping[Var, npt.NDArray[Any]]]) -> None:
        self.shared = shared
        self.sets: list[Arrays] = [dict(own) for own in sets]
        self.active = tuple(range(len(sets)))
        self.renaming: Renaming = {}
        self.tells_numbers = False

    def outcomes(self, ops: Sequence[Op], condition: Value) -> dict[int, bool] | None:
        """Return a condition's value for each active set; None if the inputs alone do not determine it.

        They do not if random numbers are drawn, or if it depends on the step of a loop.
        """
        found = {i: self._value(self.sets[i], ops, condition) for i in self.active}
        if any(value is None for value in found.values()):
            return None
        return {i: bool(value) for i, value in found.items()}

    def value(self, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        """Return the ops' value for the first active set; None if the inputs alone do not determine it."""
        return self._value(self.sets[self.active[0]], ops, wanted)

    def _value(self, own: Arrays, ops: Sequence[Op], wanted: Value) -> npt.NDArray[Any] | None:
        given = {**self.shared, **own}
        if isinstance(wanted, Const) or wanted in given:
            return wanted.numpy() if isinstance(wanted, Const) else given[wanted]
        live = live_ops([o for o in ops if not all(v in given for v in o.outputs)], [wanted])
        read = dict.fromkeys(v for o in live for v in reads(o) if v in given)
        short = [o for o in live if all(v.type.takes_at_most(SMALL) for v in o.outputs)]
        made = [v for o in short for v in o.outputs if v is not wanted]
        block = Block("condition", tuple(read), tuple(live), (wanted, *made))
        if free(block) or any(traits(o.kind).random for o in walk(block)):
            return None
        names = [[f"{stem}{i}" for i in range(len(values))] for stem, values in (("x", read), ("y", block.results))]
        session = make_session(NamedBlock(block, tuple(names[0]), tuple(names[1]), (), {}))
        found = session.run({name: given[v] for name, v in zip(names[0], read, strict=True)})
        own.update((v, array) for v, array in zip(block.results, found, strict=True) if isinstance(v, Var))
        return own[wanted]


def example_sets(own: Way, ways: Sequence[Way] | None) -> list[list[npt.NDArray[Any] | None]]:
    """Return for each way the arrays of its leaves, None for a static one: those of `own`, and of `ways` that fit it.

    Raises SpecError if `own` are specs and there is no way that fits; without `ways`, if they are specs at all.
    """
    told = [way for way in ways or () if _fits(way, own)]
    if not told or not any(isinstance(x, Type) for x in own.leaves):
        told.append(own)
    return [[None if leaf_type(x) is None else _known(x, guarded=ways is not None) for x in way.leaves] for way in told]


def _fits(way: Way, own: Way) -> bool:
    """Whether a program for `own` accepts these arguments."""
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
            "arrays, not specs, decide which way a branch goes",
            place=user_place(),
            cure=called if guarded else of_file,
        )
    found = leaf_type(leaf)
    return np.asarray(leaf, None if found is None else found.dtype)
