"""The loops and arrays of a nest during lowering: their lengths, and the ranges of indices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from primsplit.frontends.loops.loopset import Linear
from primsplit.frontends.loops.sizes import Sizes
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.numpy.contraction import Term, widened
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import count_up, expand_to, size_scalar


@dataclass(frozen=True, slots=True)
class Course:
    """The course of an index: `offset` plus the sum of loops times whole numbers."""

    terms: tuple[tuple[str, int], ...]
    offset: Dim

    @property
    def loops(self) -> tuple[str, ...]:
        """The loops that it depends on."""
        return tuple(loop for loop, _ in self.terms)

    def shifted(self, by: Dim) -> "Course":
        """The course that is `by` ahead."""
        return Course(self.terms, self.offset + by)


@dataclass(frozen=True, slots=True)
class Run:
    """A loop by its numbers: `count` turns from `start` on, to before `stop`, which may be below the start."""

    start: Dim
    count: Dim
    stop: Dim

    @staticmethod
    def between(start: Dim, stop: Dim) -> "Run":
        """The loop from a start to before a stop."""
        return Run(start, dims.maximum(0, stop - start), stop)


class Space:
    """The ranges of a nest's loops, and its arrays. A store adds loops: axes that it sums into."""

    def __init__(self, sizes: Sizes, runs: Mapping[str, Run], arrays: Mapping[str, Array]) -> None:
        self.sizes = sizes
        self.runs = dict(runs)
        self.arrays = dict(arrays)

    def count(self, loop: str) -> Dim:
        """Return the number of turns of a loop."""
        return self.runs[loop].count

    def counts(self, loops: tuple[str, ...]) -> tuple[Dim, ...]:
        """Return the number of turns of each of these loops: the shape of an array over them."""
        return tuple(self.runs[loop].count for loop in loops)

    def course(self, index: Linear) -> Course:
        """The course of an index."""
        terms = tuple((s, f) for s, f in index.terms if isinstance(s, str) and s in self.runs)
        rest = tuple(term for term in index.terms if term not in terms)
        return Course(terms, self.sizes.of(Linear(rest, index.offset)))

    def lowest(self, course: Course) -> Dim:
        """The lowest value of the index, if no loop of it is empty."""
        total = course.offset
        for loop, factor in course.terms:
            run = self.runs[loop]
            total = total + factor * (run.start if factor > 0 else run.start + run.count - 1)
        return total

    def reach(self, course: Course) -> Dim:
        """Return the number of integers from the lowest to the highest value of an index."""
        if len(course.terms) == 1 and abs(course.terms[0][1]) == 1:
            return self.count(course.terms[0][0])
        total: Dim = 1
        for loop, factor in course.terms:
            total = total + abs(factor) * (self.count(loop) - 1)
        return dims.maximum(total, 0)

    def is_whole(self, course: Course, size: Dim) -> bool:
        """Return whether the index runs over all of an axis, if its loops run at all, by forward steps."""
        if any(factor < 0 for _, factor in course.terms) or not dims.same(self.lowest(course), 0):
            return False
        last = course.offset
        for loop, factor in course.terms:
            last = last + factor * (self.runs[loop].stop - 1)
        return dims.same(last + 1, size)

    def ends(self, course: Course) -> Sequence[tuple[str, int]]:
        """The two loops of a course with their factors, the one with more turns first.

        Of numbers only the run knows, the longer is taken to be the one that takes longer to write: `N - K + 1`, not
        `K`; and else the outer one of the nest.
        """
        places = list(self.runs)

        def length(term: tuple[str, int]) -> tuple[int, int, int]:
            count = self.count(term[0])
            size = (0, count) if isinstance(count, int) else (1, len(str(count)))
            return (*size, -places.index(term[0]))

        return sorted(course.terms, key=length, reverse=True)

    def add(self, start: Dim, count: Dim) -> str:
        """A loop of its own, by its name."""
        name = f"axis {len(self.runs)}"
        self.runs[name] = Run(start, count, start + count)
        return name

    def number(self, loop: str) -> Term:
        """The number of the loop's turn: int64."""
        return Term(counted(self.runs[loop].start, self.count(loop)), (loop,))

    def places(self, course: Course) -> Term:
        """The index as numbers: int64, one for each turn of its loops."""
        offset = course.offset
        found: Array | None = None
        loops = course.loops
        for loop, factor in course.terms:
            run = self.runs[loop]
            offset = offset + run.start * factor
            steps = count_up(run.count)
            part = over(Term(steps if factor == 1 else op.Mul(steps, factor), (loop,)), loops)
            found = part if found is None else op.Add(found, part)
        if found is None:
            return Term(size_scalar(offset), ())
        return Term(found if dims.same(offset, 0) else op.Add(found, size_scalar(offset)), loops)

    def wide(self, term: Term, loops: tuple[str, ...]) -> Array:
        """The array over exactly these loops: repeated along those that it does not depend on."""
        return expand_to(over(term, loops), self.counts(loops))


def counted(start: Dim, count: Dim) -> Array:
    """`count` numbers from `start` on: int64."""
    numbers = count_up(count)
    return numbers if dims.same(start, 0) else op.Add(numbers, size_scalar(start))


def over(term: Term, loops: tuple[str, ...]) -> Array:
    """The array with an axis for each of these loops, of size 1 for one that it lacks; leading ones are left out."""
    return widened(term.ordered(loops), loops)
