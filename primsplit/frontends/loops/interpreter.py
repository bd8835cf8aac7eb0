"""Runs a nest in plain Python and NumPy, one element after the other: the reference for the meaning of a nest.

Loads and stores are loops over every turn; reductions and scalar functions are NumPy's, on arrays with one axis per
loop.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.frontends.loops.functions import TRUTHS
from primsplit.frontends.loops.loopset import Bent, Index, Linear, LoopSet, Operation, Picked, Reference
from primsplit.frontends.loops.sizes import Sizes, sizes_of

AnyArray = npt.NDArray[Any]
Turn = Mapping[str, int]

OWN: Mapping[str, Callable[..., Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "off_zero": lambda x: np.maximum(x, np.finfo(x.dtype).smallest_subnormal),
    "cot": lambda x: 1 / np.tan(x),
    "exp10": lambda x: 10**x,
    "expit": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: np.vectorize(math.erf, otypes=[x.dtype])(x),
}
"""Functions that NumPy does not have."""

COMBINE: Mapping[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def interpret(
    nest: LoopSet,
    arrays: Mapping[str, Any],
    *,
    sizes: Sizes | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> dict[str, AnyArray]:
    """The results of a nest, by the names that the user gave them.

    `sizes` are those of another nest, where this one has loops over its arrays, as a reverse nest has; `functions` are
    the scalar functions that the nest knows by name beside those of `functions.FUNCTIONS`.
    """
    known = {name: np.asarray(array) for name, array in arrays.items()}
    outer = sizes or Sizes({}, {}, {})
    shapes = {**outer.shapes, **{name: array.shape for name, array in known.items()}}
    integers = {**outer.integers, **{name: int(known[name]) for name in nest.integers if name in known}}
    with np.errstate(all="ignore"):
        run = _Run(nest, known, sizes_of(nest, shapes, integers), functions or {})
    return {name: run.arrays[version] for name, version in nest.results}


class Numbers:
    """The result of an operation: an array over its loops. A `weak` one takes the dtype of the other operand."""

    def __init__(self, loops: tuple[str, ...], array: AnyArray, *, weak: bool = False) -> None:
        self.loops = loops
        self.array = array
        self.weak = weak

    def over(self, loops: Sequence[str]) -> AnyArray:
        """The array with an axis for each of these loops, in their order; it is 1 long where nothing depends on it."""
        return self.array.reshape([self.array.shape[self.loops.index(p)] if p in self.loops else 1 for p in loops])

    def at(self, turn: Turn, sizes: Sizes) -> Any:
        """The number of one turn."""
        return self.array[tuple(turn[loop] - int(sizes.ranges[loop][0]) for loop in self.loops)]


class _Run:
    """One run of a nest: `arrays` by their versions, `values` of the operations so far."""

    def __init__(
        self, nest: LoopSet, arrays: dict[str, AnyArray], sizes: Sizes, functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.arrays = arrays
        self.sizes = sizes
        self.functions = functions
        self.values: list[Numbers] = []
        for operation in nest.operations:
            self.values.append(self._one(operation))

    def _one(self, operation: Operation) -> Numbers:
        loops = operation.loops
        if operation.kind == "constant":
            return Numbers((), np.asarray(operation.value), weak=True)
        if operation.kind == "size":
            assert operation.length is not None
            return Numbers((), np.asarray(self.sizes.of(operation.length)), weak=True)
        if operation.kind == "index":
            start, stop = self.sizes.ranges[operation.function]
            return Numbers(loops, np.arange(int(start), int(stop)), weak=True)
        if operation.kind == "compute":
            return self._compute(operation)
        if operation.kind == "load":
            assert operation.reference is not None
            return self._load(operation.reference, loops)
        return self._reduce(operation) if operation.kind == "reduce" else self._store(operation)

    def turns(self, loops: Sequence[str]) -> Iterator[Turn]:
        """Every turn of the loops, the last one fastest."""
        for numbers in itertools.product(*(range(*self.sizes.ranges[loop]) for loop in loops)):
            yield dict(zip(loops, numbers, strict=True))

    def lengths(self, loops: Sequence[str]) -> list[int]:
        return [int(self.sizes.length(loop)) for loop in loops]

    def _compute(self, operation: Operation) -> Numbers:
        parents = [self.values[at] for at in operation.parents]
        function = self.functions.get(operation.function) or OWN.get(operation.function)
        found = (function or getattr(np, operation.function))(*(n.over(operation.loops) for n in met(parents)))
        shape = self.lengths(operation.loops)
        weak = all(n.weak for n in parents) or operation.function in TRUTHS
        return Numbers(operation.loops, np.broadcast_to(found, shape), weak=weak)

    def _load(self, reference: Reference, loops: tuple[str, ...]) -> Numbers:
        array = self.arrays[reference.array]
        found = np.zeros(self.lengths(loops), array.dtype)
        for place, turn in zip(np.ndindex(found.shape), self.turns(loops), strict=True):
            at, fill = self._place(reference, turn)
            found[place] = array[at] if at is not None else fill
        return Numbers(loops, found)

    def _reduce(self, operation: Operation) -> Numbers:
        *start, value = met([self.values[at] for at in operation.parents])
        ufunc = COMBINE[operation.function]
        every = [loop for loop in self.sizes.ranges if loop in {*operation.loops, *operation.reduced}]
        turns = np.broadcast_to(value.over(every), self.lengths(every))
        dtype = np.dtype(np.int64) if turns.dtype == bool and ufunc in {np.add, np.multiply} else turns.dtype
        inner = tuple(axis for axis, loop in enumerate(every) if loop in operation.reduced)
        found = ufunc.reduce(turns, axis=inner, dtype=dtype, initial=identity(operation.function, dtype))
        if start:
            found = ufunc(start[0].over(operation.loops), found)
        return Numbers(operation.loops, np.asarray(found), weak=value.weak)

    def _store(self, operation: Operation) -> Numbers:
        value, reference = self.values[operation.parents[0]], operation.reference
        assert reference is not None
        base = self.arrays.get(reference.array)
        if base is None:
            base = np.zeros([int(n) for n in self.sizes.shapes[operation.makes]], value.array.dtype)
        new = self.arrays[operation.makes] = base.copy()
        for turn in self.turns(operation.loops):
            at, _ = self._place(reference, turn)
            if at is not None:
                number = value.at(turn, self.sizes)
                new[at] = new[at] + number if operation.adds else number
        return Numbers((), np.zeros(()))

    def _place(self, reference: Reference, turn: Turn) -> tuple[tuple[int, ...] | None, float]:
        """The element that a reference means in a turn; None, and what is read there, where `pad` goes outside."""
        place = []
        for index in reference.indices:
            number = self._index(index, turn)
            if isinstance(index, Bent):
                length = self._linear(index.length, turn)
                if index.how == "pad" and not 0 <= number < length:
                    return None, index.fill
                number = number % length if index.how == "mod" else min(max(number, 0), length - 1)
            place.append(number)
        return tuple(place), 0.0

    def _index(self, index: Index, turn: Turn) -> int:
        if isinstance(index, Picked):
            at, _ = self._place(index.reference, turn)
            assert at is not None
            return int(self.arrays[index.reference.array][at])
        return self._linear(index.index if isinstance(index, Bent) else index, turn)

    def _linear(self, linear: Linear, turn: Turn) -> int:
        own = [term for term in linear.terms if term[0] in turn]
        rest = Linear(tuple(term for term in linear.terms if term[0] not in turn), linear.offset)
        return int(self.sizes.of(rest)) + sum(turn[str(symbol)] * factor for symbol, factor in own)


def met(values: Sequence[Numbers]) -> list[Numbers]:
    """The values, weak ones in the dtype that NumPy gives a Python number beside the others."""
    strong = [value.array.dtype for value in values if not value.weak]
    if not strong:
        return list(values)
    return [
        Numbers(v.loops, v.array.astype(np.result_type(*strong, v.array.dtype.type(0).item()))) if v.weak else v
        for v in values
    ]


def identity(function: str, dtype: np.dtype[Any]) -> Any:
    """The result of a reduction over nothing, a number of the dtype."""
    if function in {"add", "multiply"}:
        return dtype.type(function == "multiply")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return dtype.type(limits.min if function == "maximum" else limits.max)
    if dtype.kind == "b":
        return dtype.type(function == "minimum")
    return dtype.type(-np.inf if function == "maximum" else np.inf)
