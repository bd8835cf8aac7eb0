"""The sizes of a nest at a call: how far its loops run, and the lengths of the arrays that it makes.

A size may be a symbol of the program that is being recorded. Two symbols are equal only where that is proven; where it
cannot be proven, the nest is refused, with a way out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from primsplit.frontends.loops.loopset import (
    Axis,
    Bent,
    Extreme,
    Index,
    Linear,
    Loop,
    LoopSet,
    Picked,
    Quotient,
    Reference,
)
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape
from primsplit.ir.errors import IndexingError, ShapeError


@dataclass(frozen=True)
class Sizes:
    """`ranges` of the loops, a start and a stop that is not below it; `shapes` of all arrays; `integers` as given."""

    ranges: Mapping[str, tuple[Dim, Dim]]
    shapes: Mapping[str, Shape]
    integers: Mapping[str, Dim]

    def length(self, loop: str) -> Dim:
        """Return the number of turns of a loop."""
        start, stop = self.ranges[loop]
        return stop - start

    def of(self, linear: Linear) -> Dim:
        """The value of a linear expression without loops."""
        total: Dim = linear.offset
        for symbol, factor in linear.terms:
            total = total + self._of_symbol(symbol) * factor
        return total

    def _of_symbol(self, symbol: object) -> Dim:
        if isinstance(symbol, Axis):
            return self.shapes[symbol.array][symbol.axis]
        if isinstance(symbol, Quotient):
            return dims.floor_divide(self.of(symbol.of), symbol.by)
        if isinstance(symbol, Extreme):
            candidates = [self.of(candidate) for candidate in symbol.of]
            best = candidates[0]
            for other in candidates[1:]:
                best = dims.minimum(best, other) if symbol.which == "min" else dims.maximum(best, other)
            return best
        return self.integers[str(symbol)]


def sizes_of(nest: LoopSet, shapes: Mapping[str, Sequence[Dim]], integers: Mapping[str, Dim] | None = None) -> Sizes:
    """The sizes of a nest for arguments of these shapes, as `check` has found them to fit.

    `shapes` may have arrays that are no arguments of this nest: those of a forward nest, for its reverse.
    """
    known: dict[str, Shape] = {name: tuple(shape) for name, shape in shapes.items()}
    given = Sizes({}, known, dict(integers or {}))
    for name, lengths in nest.shapes:
        known[name] = tuple(dims.maximum(0, given.of(length)) for length in lengths)
    for operation in nest.operations:
        if operation.kind == "store" and operation.reference is not None and operation.makes not in known:
            known[operation.makes] = known[operation.reference.array]
    ranges: dict[str, tuple[Dim, Dim]] = {}
    for loop in nest.loops:
        start = given.of(loop.start)
        ranges[loop.name] = (start, dims.maximum(start, given.of(loop.stop)))
    return Sizes(ranges, known, given.integers)


def check(nest: LoopSet, shapes: Mapping[str, Sequence[Dim]], integers: Mapping[str, Dim] | None = None) -> Sizes:
    """The sizes of a nest, once arguments of these shapes were found to fit it.

    Raises ShapeError where an array has another rank than the nest's indices, where lengths differ, or may differ, that
    one loop must run over, naming both; IndexingError where an index leaves its axis, or may.
    """
    for name, rank in nest.arguments:
        if len(shapes[name]) != rank:
            raise ShapeError(
                f"{name} has {len(shapes[name])} axes, and {rank} indices in the nest {nest.name}".rstrip(),
                cure=f"Write as many indices as {name} has axes.",
            )
    sizes = sizes_of(nest, shapes, integers)
    uses = [(axis, index, _loops(index, sizes)) for axis, index in _indexed(nest, made=False)]
    first: dict[str, Axis] = {}
    for axis, index, _ in uses:
        loop = nest.ranges().get(_plain(index))
        if loop is not None and loop.agreeing:
            _agree(loop, first.setdefault(loop.name, axis), axis, nest, sizes)
    alone = {loops[0] for _, index, loops in uses if len(loops) == 1 and isinstance(index, Linear)}
    uses += [(axis, index, _loops(index, sizes)) for axis, index in _indexed(nest, made=True)]
    for axis, index, loops in uses:
        fitted = [len(loops) == 1 or name not in alone for name in loops if nest.ranges()[name].agreeing]
        if isinstance(index, Bent) or (isinstance(index, Linear) and not any(fitted)):
            _stay(axis, index, [nest.ranges()[name] for name in loops], nest, sizes)
    return sizes


def _loops(index: Index, sizes: Sizes) -> list[str]:
    """The loops that an index has in it, not those of an array that it is read from."""
    if isinstance(index, Picked):
        return []
    linear = index.index if isinstance(index, Bent) else index
    return [s for s in linear.symbols() if isinstance(s, str) and s in sizes.ranges]


def _indexed(nest: LoopSet, *, made: bool) -> Iterator[tuple[Axis, Index]]:
    """Each axis that is indexed, and by what: where a store makes an array from nothing, or everywhere else."""
    for operation in nest.operations:
        reference = operation.reference
        if reference is not None and made == (operation.kind == "store" and operation.makes == reference.array):
            yield from _axes(reference)


def _axes(reference: Reference) -> Iterator[tuple[Axis, Index]]:
    for axis, index in enumerate(reference.indices):
        yield Axis(reference.array, axis), index
        if isinstance(index, Picked):
            yield from _axes(index.reference)


def _plain(index: Index) -> str:
    """The loop that an index is, with nothing else; "" where it is something else."""
    if isinstance(index, Linear) and len(index.terms) == 1 and index.offset == 0 and index.terms[0][1] == 1:
        return str(index.terms[0][0])
    return ""


def _lengths(axis: Axis, nest: LoopSet, sizes: Sizes) -> tuple[Dim, Dim]:
    """The length of an axis; and, of an array that the nest makes, what it is said to be, which may be below 0."""
    length = sizes.shapes[axis.array][axis.axis]
    said = dict(nest.shapes).get(axis.array.partition(".")[0])
    return length, length if said is None else sizes.of(said[axis.axis])


def _agree(loop: Loop, first: Axis, axis: Axis, nest: LoopSet, sizes: Sizes) -> None:
    ones, twos = _lengths(first, nest, sizes), _lengths(axis, nest, sizes)
    if any(dims.same(one, two) for one in ones for two in twos):
        return
    both = f"{loop.letter or loop.name} is {ones[0]} by {told(first)} and {twos[0]} by {told(axis)}"
    if isinstance(ones[0], int) and isinstance(twos[0], int):
        raise ShapeError(both, cure="An index runs over one range: give arrays that agree, or use another letter.")
    raise ShapeError(
        f"{both}, which may differ at run time",
        cure="Give the two axes one size in the specs, or tell the range of the loop.",
    )


def told(axis: Axis) -> str:
    """An axis in words: `A's axis 1`."""
    return f"{axis.array.partition('.')[0]}'s axis {axis.axis}"


def _stay(axis: Axis, index: Linear | Bent, loops: Sequence[Loop], nest: LoopSet, sizes: Sizes) -> None:
    """Raise unless the index stays inside of the axis for every turn of its loops, or has no turn."""
    _, length = _lengths(axis, nest, sizes)
    if any(dims.same(sizes.length(loop.name), 0) for loop in loops):
        return
    if isinstance(index, Bent):
        _inside(0, sizes.of(index.length) - 1, length, axis)
        return
    low = high = sizes.of(Linear(tuple(term for term in index.terms if term[0] not in sizes.ranges), index.offset))
    for loop in loops:  # none of which is empty, so that it ends where it says
        factor = index.factor(loop.name)
        ends = (sizes.of(loop.start) * factor, (sizes.of(loop.stop) - 1) * factor)
        low, high = low + ends[factor < 0], high + ends[factor > 0]
    _inside(low, high, length, axis)


def _inside(low: Dim, high: Dim, length: Dim, axis: Axis) -> None:
    if dims.at_least(low, 0) and dims.at_least(length, high + 1):
        return
    numbers = all(isinstance(number, int) for number in (low, high, length))
    verb = "runs" if numbers else "may run"
    raise IndexingError(
        f"an index of {told(axis)}, of length {length}, {verb} from {low} to {high}",
        cure="Bend it with mod, clamp or pad, or tell a range for its loops that stays inside.",
    )
