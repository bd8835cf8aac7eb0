"""The forms of sequences and optional values while a model is read: tensors, and how they belong together.

A program has only tensors. A `Listed` sequence has as many elements as are known while reading, a `Stacked` one a
number that only the run knows, of one shape, a `Ragged` one such a number of several shapes. An optional value that is
given is its content; one that is not is `Absent`, one that the run decides on a `Maybe`. A `Growing` one is what the
body of a Loop has added to a sequence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from primsplit import tracing
from primsplit.ir import Const, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ops import op
from primsplit.tracing.array import Array

MOST_ITEMS = 256
"""The longest sequence that is listed element by element if it could be a stack."""


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """A sequence of these elements, whose shapes may differ."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """A sequence whose elements are the parts of a tensor along its first axis."""

    tensor: Value


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """A sequence whose elements follow one another in a row; `shapes` [count, axes] separate them.

    If it is `mixed`, an element may have fewer axes: -1 stands for each that it lacks, behind its own.
    """

    elements: Value
    shapes: Value
    mixed: bool = False

    @property
    def rank(self) -> int:
        """Return the most axes of the elements."""
        shape = self.shapes.type.shape or (0, 0)
        return int(shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """An optional value that is not given."""


@dataclass(frozen=True, slots=True, eq=False)
class Maybe:
    """An optional value that the run gives or not: the one row of a tensor that has no rows if it is not given."""

    tensor: Value


@dataclass(frozen=True, slots=True, eq=False)
class MaybeSequence:
    """An optional sequence that the run gives or not; it has no elements if it is not `given`."""

    given: Value
    rows: Ragged


@dataclass(frozen=True, slots=True, eq=False)
class Growing:
    """The sequence that a Loop, `owner`, carries at this place, with these elements after it."""

    owner: object
    place: int
    items: tuple[Value, ...] = ()


Sequenced = Listed | Stacked | Ragged
Held = Sequenced | Absent | Maybe | MaybeSequence | Growing
Entry = Value | Held


def is_held(entry: object) -> bool:
    """Whether an entry is not a tensor."""
    return isinstance(entry, Held)


def told(entry: Entry) -> str:
    """Return a description of an entry."""
    if isinstance(entry, Listed):
        return f"a sequence of {len(entry.items)}"
    if isinstance(entry, Absent):
        return "an optional value that is not given"
    if isinstance(entry, Maybe | MaybeSequence):
        return "an optional value that only the run gives or not"
    if isinstance(entry, Growing):
        return f"the sequence of a Loop with {len(entry.items)} more"
    return "a sequence" if isinstance(entry, Stacked | Ragged) else "a tensor"


def leaves(entries: Iterable[Entry]) -> list[Value]:
    """Return the tensors in entries, in order."""
    return [value for entry in entries for value in _leaves(entry)]


def _leaves(entry: Entry) -> Sequence[Value]:
    if isinstance(entry, Listed | Growing):
        return entry.items
    if isinstance(entry, Stacked | Maybe):
        return (entry.tensor,)
    if isinstance(entry, Ragged):
        return entry.elements, entry.shapes
    if isinstance(entry, MaybeSequence):
        return entry.given, entry.rows.elements, entry.rows.shapes
    return () if isinstance(entry, Absent) else (entry,)


def rebuilt(entries: Iterable[Entry], tensors: Iterable[Value]) -> list[Entry]:
    """Return the entries with these tensors in them."""
    left = iter(tensors)
    return [_rebuilt(entry, left) for entry in entries]


def _rebuilt(entry: Entry, left: Iterator[Value]) -> Entry:
    if isinstance(entry, Listed):
        return Listed(tuple(next(left) for _ in entry.items))
    if isinstance(entry, Growing):
        return Growing(entry.owner, entry.place, tuple(next(left) for _ in entry.items))
    if isinstance(entry, Stacked):
        return Stacked(next(left))
    if isinstance(entry, Ragged):
        return Ragged(next(left), next(left), entry.mixed)
    if isinstance(entry, MaybeSequence):
        return MaybeSequence(next(left), Ragged(next(left), next(left), entry.rows.mixed))
    if isinstance(entry, Maybe):
        return Maybe(next(left))
    return entry if isinstance(entry, Absent) else next(left)


def is_same_form(a: Entry, b: Entry) -> bool:
    """Whether one can replace the other: both tensors, or of the same form."""
    if not is_held(a) or not is_held(b):
        return not is_held(a) and not is_held(b)
    if isinstance(a, Growing) and isinstance(b, Growing) and (a.owner is not b.owner or a.place != b.place):
        return False
    if isinstance(a, MaybeSequence) and isinstance(b, MaybeSequence):
        a, b = a.rows, b.rows
    if isinstance(a, Ragged) and isinstance(b, Ragged):
        return (a.rank, a.mixed) == (b.rank, b.mixed)
    return type(a) is type(b) and (isinstance(a, Stacked) or len(_leaves(a)) == len(_leaves(b)))


def has_one_shape(items: Sequence[Value]) -> bool:
    """Whether all elements provably have one shape and dtype."""
    first = items[0].type
    return first.shape is not None and all(
        v.type.dtype == first.dtype and v.type.shape is not None and dims.same_shape(first.shape, v.type.shape)
        for v in items
    )


def element_shape(entry: Listed | Stacked) -> tuple[Dim, ...] | None:
    """Return the shape that all elements provably have; None if none is known."""
    if isinstance(entry, Stacked):
        shape = entry.tensor.type.shape
        return None if shape is None else shape[1:]
    return entry.items[0].type.shape if entry.items and has_one_shape(entry.items) else None


def stack(items: Sequence[Value]) -> Value:
    """Return the elements, at least one, along a new first axis."""
    parts = [op.Unsqueeze(Array(v), [0]) for v in items]
    joined: Array = parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)
    return joined.value


def stacked_like(entry: Listed | Stacked, shape: Sequence[Dim]) -> Value | None:
    """Return the entry as a tensor, its elements of this shape; None if they may be of another, or it is empty."""
    if isinstance(entry, Listed):
        known = element_shape(entry)
        return stack(entry.items) if known is not None and dims.same_shape(known, tuple(shape)) else None
    known = element_shape(entry)
    return entry.tensor if known is not None and dims.same_shape(known, tuple(shape)) else None


def listed(entry: Sequenced) -> Listed | None:
    """Return the entry element by element; None if only the run knows how many they are, or they are too many."""
    if not isinstance(entry, Stacked):
        return entry if isinstance(entry, Listed) else None
    shape = entry.tensor.type.shape
    count = None if shape is None else shape[0]
    if not isinstance(count, int) or count > MOST_ITEMS:
        return None
    return Listed(tuple(apart(entry.tensor, count)))


def apart(tensor: Value, count: int, axis: int = 0, *, keeps: bool = False) -> list[Value]:
    """Return the parts along an axis of literal size; they keep it as an axis of size 1, or lack it."""
    if count == 0:
        return []
    pieces = (Array(tensor),) if count == 1 else op.Split(Array(tensor), [1] * count, axis=axis, outputs=count)
    return [piece.value if keeps else op.Squeeze(piece, [axis]).value for piece in pieces]


class GrowingRead(UnsupportedFunction):
    """A sequence is read inside the Loop that it grows in, by an operator of this kind."""

    def __init__(self, kind: str, entry: Growing) -> None:
        super().__init__(
            f"{kind} reads a sequence inside the Loop that it grows in",
            place=tracing.current().place,
            because=("what its elements are, the model does not say",),
            cure="Declare the type of the sequence in the graph of the Loop, or read the sequence after the Loop.",
        )
        self.entry = entry


def require_sequence(entry: Entry | None, kind: str) -> Sequenced:
    """Return the entry if its elements can be read. Raises UnsupportedFunction if not, GrowingRead inside a Loop."""
    if isinstance(entry, Sequenced):
        return entry
    if isinstance(entry, Growing):
        raise GrowingRead(kind, entry)
    what = "nothing" if entry is None else told(entry)
    raise UnsupportedFunction(f"{kind} takes a sequence, not {what}", place=tracing.current().place)


def require_tensor(entry: Entry | None, kind: str) -> Value:
    """Return the entry if it is a tensor. Raises UnsupportedFunction if not."""
    if entry is not None and not isinstance(entry, Held):
        return entry
    what = "nothing" if entry is None else told(entry)
    raise UnsupportedFunction(f"{kind} takes a tensor, not {what}", place=tracing.current().place)


def refused(what: str, why: str, cure: str) -> UnsupportedFunction:
    """Return the error for an operator that cannot be expressed in tensors."""
    return UnsupportedFunction(what, place=tracing.current().place, because=(why,), cure=cure)


def scalar(number: int | bool) -> Const:
    """Return a scalar constant."""
    return tracing.constant(number)
