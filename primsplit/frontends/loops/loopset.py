"""A loop nest as data: loops, and a list of operations that each run over some of them.

`C[m, n] += A[m, k] * B[k, n]` is

    load A[m, k]            over m, k
    load B[k, n]            over k, n
    multiply                over m, k, n
    reduce add              over m, n        reduced k
    store C[m, n]           over m, n

An operation runs over the loops that its value depends on, and over no other: what does not depend on `n` is computed
once for all `n`. The order of iterations means nothing, so a nest is a list of operations, each with its own loops,
and a nest of several statements is one list after the other.

Operations name their parents by position in the list. Two spellings of one nest are equal as data.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, order=True)
class Axis:
    """The length of an array's axis, counted from 0."""

    array: str
    axis: int


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest of some linear expressions."""

    which: Literal["min", "max"]
    of: tuple["Linear", ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """`of // by`, rounded down; `by` is positive."""

    of: "Linear"
    by: int


Symbol = str | Axis | Extreme | Quotient
"""A symbol of a linear expression: a loop or integer argument by its name, or the length of an axis.

An Extreme or a Quotient stands for a part that is no polynomial of these. They occur in the bounds of loops and in
lengths only, never in an index.
"""


@dataclass(frozen=True, slots=True)
class Linear:
    """`offset` and the sum of symbols times whole numbers; terms are sorted, each symbol once, none times 0."""

    terms: tuple[tuple[Symbol, int], ...] = ()
    offset: int = 0

    @staticmethod
    def of(terms: Iterable[tuple[Symbol, int]], offset: int = 0) -> "Linear":
        """The expression in its normal form."""
        sums: dict[Symbol, int] = {}
        for symbol, factor in terms:
            sums[symbol] = sums.get(symbol, 0) + factor
        kept = sorted(((s, f) for s, f in sums.items() if f), key=lambda term: (isinstance(term[0], str), str(term[0])))
        return Linear(tuple(kept), offset)

    def __add__(self, other: "Linear | int") -> "Linear":
        if isinstance(other, int):
            return Linear(self.terms, self.offset + other)
        return Linear.of((*self.terms, *other.terms), self.offset + other.offset)

    def __sub__(self, other: "Linear | int") -> "Linear":
        return self + (other * -1)

    def __mul__(self, factor: int) -> "Linear":
        return Linear.of(((s, f * factor) for s, f in self.terms), self.offset * factor)

    def __radd__(self, other: int) -> "Linear":
        return self + other

    def __rsub__(self, other: int) -> "Linear":
        return self * -1 + other

    def __rmul__(self, factor: int) -> "Linear":
        return self * factor

    def factor(self, symbol: Symbol) -> int:
        """The factor of the symbol; 0 if it does not occur."""
        return dict(self.terms).get(symbol, 0)

    def symbols(self) -> frozenset[Symbol]:
        """The symbols that occur."""
        return frozenset(s for s, _ in self.terms)


@dataclass(frozen=True, slots=True)
class Picked:
    """An index that is read from an array of integers: `A[rows[i], j]`."""

    reference: "Reference"


@dataclass(frozen=True, slots=True)
class Bent:
    """An index that is brought into an axis of `length`: by `mod`, by `clamp` to its ends, or by `pad`.

    With `pad`, what lies outside is read as `fill`, and is not written.
    """

    how: Literal["mod", "clamp", "pad"]
    index: Linear
    length: Linear
    fill: float = 0.0


Index = Linear | Picked | Bent


@dataclass(frozen=True, slots=True)
class Reference:
    """An element of an array, which is one of the nest's arguments or what a store before made (see `Operation`)."""

    array: str
    indices: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop by its name, from `start` to before `stop`; its bounds are of axes and integer arguments, not of loops.

    `stop` may be below `start`: then the loop is as empty as one that stops where it starts. An empty loop is defined:
    nothing is stored, a sum is 0. With `agreeing`, the range was read from the axes that the loop indexes, and those
    that it indexes alone must be equally long; else it was given, and needs only to stay inside of them. `letter` is
    what the user calls it.
    """

    name: str
    start: Linear
    stop: Linear
    agreeing: bool = field(default=True, compare=False)
    letter: str = field(default="", compare=False)


Kind = Literal["constant", "index", "size", "load", "compute", "reduce", "store"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One line of a nest.

    `loops` are in the order of the nest's.

    - "constant": `value`, which takes the dtype of what it meets, as a Python number does; `function` is its text,
      which tells 1, 1.0 and True apart.
    - "index": the number of the loop `function`, typed like a constant.
    - "size": the number that `length` is, typed like a constant.
    - "load": an element at `reference`.
    - "compute": the scalar function `function` of `parents`, by NumPy's name ("multiply", "log1p", "where", "less");
      `functions.py` has the table. What is true or false is typed like a constant, and is 1 or 0 where numbers meet it.
    - "reduce": the last of `parents` combined over `reduced` by `function` ("add", "multiply", "maximum", "minimum");
      with two parents the first is what it starts from, and does not depend on `reduced`. A value that does not depend
      on a reduced loop counts as often as the loop runs. Over nothing: 0, 1, and the dtype's lowest and highest number.
      Truths are added and multiplied as integers.
    - "store": the only parent goes to `reference`, for each turn of `loops`, which may be more than the parent's. With
      `adds`, it is added to what is there, and several turns may meet one element; without, each has its own. What a
      store makes is an array of its own, named `makes`; elements that it does not reach are those of
      `reference.array`, or 0 where that is no array yet: then `LoopSet.shapes` tells its shape.
    """

    kind: Kind
    loops: tuple[str, ...]
    function: str = ""
    parents: tuple[int, ...] = ()
    reduced: tuple[str, ...] = ()
    reference: Reference | None = None
    value: float | int | bool | None = None
    length: Linear | None = None
    adds: bool = False
    makes: str = ""
    name: str = field(default="", compare=False)
    """The user's name of the value, where there is one."""
    place: str = field(default="", compare=False)
    """The user's line."""


@dataclass(frozen=True, slots=True)
class LoopSet:
    """A nest: its arguments with their ranks (an integer argument has rank 0), its loops from outside in, its lines.

    `results` are pairs of the name that the user gave an array and the name of its last version (`Operation.makes`),
    in the order that they were first written in. A version of `A` is called `A`, `A.1`, `A.2`. `shapes` are those of
    the arrays that a store makes from nothing: lengths of axes of arguments and integer arguments, no loops. An axis
    whose length comes out below 0 has length 0. `integers` are the arguments that are whole numbers known to whoever
    calls, since ranges or indices depend on them.
    """

    arguments: tuple[tuple[str, int], ...]
    loops: tuple[Loop, ...]
    operations: tuple[Operation, ...]
    results: tuple[tuple[str, str], ...]
    shapes: tuple[tuple[str, tuple[Linear, ...]], ...] = ()
    integers: tuple[str, ...] = ()
    name: str = field(default="", compare=False)

    def ranges(self) -> Mapping[str, Loop]:
        """Each loop by its name."""
        return {loop.name: loop for loop in self.loops}
