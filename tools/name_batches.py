"""Check NumPy's and SciPy's functions, as in the tests, on batches: `ps.vmap` against the points one by one.

    python -m tools.name_batches [--verbose] [pytest's arguments, such as tests/frontends/scipy]

Runs tests with `check_grads` and `check_agrees` replaced. A function's values and gradients, which the tests compare
with NumPy's and with differences, are taken at three points near its arguments; in a batch they are to be the same. All
floating-point arguments differ between the examples, then one at a time; the number of examples is known, or only the
run's, 3, 1 and 0 of them. One line for what is wrong or refused, then a table, and the functions of the coverage table
that no batch went through.
"""

import collections
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import testing
from primsplit.audit.coverage import name_rows
from primsplit.ir.errors import PrimsplitError, RunError
from primsplit.tracing import trees
from primsplit.tracing.specs import leaf_type
from tests.numpy import agreement
from tools.node_differences import Verdict, refused
from tools.watching import Watcher

Function = Callable[..., Any]
SAID = {"right", "nothing to batch", "results of different shapes", "a size that differs between examples"}
"""Verdicts that have no line of their own."""
POINTS = 3
TOLERANCES = {"float16": 5e-3, "float32": 1e-4, "float64": 1e-9}
"""Of a batch against its examples, relative to the largest number: sums in another order round otherwise."""


@dataclass(frozen=True, slots=True)
class Case:
    """A function of some arrays that gives its results and its gradients, its program, and points to call it at."""

    function: Function
    program: Any
    points: Sequence[Sequence[Any]]

    def at(self, point: Sequence[Any]) -> list[Any]:
        """Values and gradients at a point alone."""
        return list(map(np.asarray, self.program(*point)))


def case_of(function: Function, args: tuple[Any, ...], *, graded: bool) -> Case:
    """The function of its floating-point arguments alone; its gradients are those of a sum of its results."""
    leaves, structure = trees.flatten(args)
    moved = _floats(leaves)
    given = [np.asarray(leaves[i]) for i in moved]
    random = np.random.default_rng(0)
    points = [[_beside(x, 0.01 * b, random) for x in given] for b in range(POINTS)]

    def values(*arrays: Any) -> list[Any]:
        placed = dict(zip(moved, arrays, strict=True))
        nested = trees.unflatten(structure, [placed.get(i, x) for i, x in enumerate(leaves)])
        return trees.flatten(function(*nested))[0]

    with np.errstate(all="ignore"):
        likes = [np.asarray(y) for y in values(*points[0])]
    weights = [np.cos(np.arange(y.size) + 0.3).reshape(y.shape).astype(y.dtype) for y in likes]

    def loss(*arrays: Any) -> Any:
        pairs = zip(values(*arrays), weights, strict=True)
        return sum(np.sum(y * weight) for y, weight in pairs if weight.dtype.kind == "f")

    slopes = ps.grad(loss, wrt=tuple(range(len(moved)))) if graded else None

    def both(*arrays: Any) -> list[Any]:
        return [*values(*arrays), *(slopes(*arrays) if slopes else ())]

    return Case(both, ps.trace(both, *points[0]), points)


def _floats(leaves: Sequence[Any]) -> list[int]:
    return [i for i, x in enumerate(leaves) if (found := leaf_type(x)) is not None and found.is_float]


def _beside(x: Any, relative: float, random: np.random.Generator) -> Any:
    """The array with each element moved; one that rises or falls goes on doing so."""
    steps = np.diff(x) if x.ndim else np.zeros(0)
    is_sorted = np.all(steps >= 0) or np.all(steps <= 0)
    return (x * (1 + relative * random.uniform(-1, 1, () if is_sorted else x.shape))).astype(x.dtype)


def verdict(function: Function, args: tuple[Any, ...], *, graded: bool) -> Verdict:
    """The verdict on what a test checks: values, and where they are `graded` gradients."""
    if not _floats(trees.flatten(args)[0]):
        return "nothing to batch", ""
    try:
        case = case_of(function, args, graded=graded)
        shapes = {tuple(y.shape for y in case.at(point)) for point in case.points}
    except PrimsplitError as error:
        return refused(error, "refused for one")
    if len(shapes) > 1:
        return "results of different shapes", ""
    count = len(case.points[0])
    for chosen in [range(count), *([k] for k in range(count) if count > 1)]:
        word, reason = _asked(case, chosen)
        if word != "right":
            return word, f"arguments {list(chosen)} differ: {reason}"
    return "right", ""


def _asked(case: Case, chosen: Sequence[int]) -> Verdict:
    """The verdict where the arguments `chosen` differ between the examples."""
    try:
        return _batched(case, chosen)
    except RunError as error:
        return "crashed", " ".join(str(error).splitlines()[:2])
    except PrimsplitError as error:
        is_size = "would differ between examples" in str(error)
        word = "a size that differs between examples" if is_size else "refused in a batch"
        return word, " ".join(str(error).splitlines()[:2])
    except Exception as error:  # noqa: BLE001  # this is sought
        return "crashed", f"{type(error).__name__}: {error}"


def _batched(case: Case, chosen: Sequence[int]) -> Verdict:
    points = [[x if k in chosen else case.points[0][k] for k, x in enumerate(point)] for point in case.points]
    wanted = [case.at(point) for point in points]
    batch = ps.vmap(case.function, in_axes=tuple(0 if k in chosen else None for k in range(len(points[0]))))
    given = [np.stack(xs) if k in chosen else xs[0] for k, xs in enumerate(zip(*points, strict=True))]
    specs = [ps.spec(x.dtype, ["B", *x.shape[1:]]) if k in chosen else x for k, x in enumerate(given)]
    for program, sizes in ((ps.trace(batch, *given), [POINTS]), (ps.trace(batch, *specs), [POINTS, 1, 0])):
        for size in sizes:
            found = program(*(x[:size] if k in chosen else x for k, x in enumerate(given)))
            far = _distance(found, wanted, size)
            if far:
                return "wrong", f"{size} of {'a known' if len(sizes) == 1 else 'any'} number of examples: {far}"
    return "right", ""


def _distance(found: Sequence[Any], wanted: Sequence[Sequence[Any]], size: int) -> str:
    """Return the difference of a batch's results from its examples'; an empty text if there is none."""
    for number, (value, examples) in enumerate(zip(found, zip(*wanted, strict=True), strict=True)):
        expected = np.stack(examples)[:size]
        if (value.shape, value.dtype) != (expected.shape, expected.dtype):
            return f"result {number} is {value.dtype}{value.shape} for {expected.dtype}{expected.shape}"
        tolerance = TOLERANCES.get(expected.dtype.name, 0.0)
        largest = float(np.max(np.abs(expected), initial=1e-3, where=np.isfinite(expected)))
        if not np.allclose(value, expected, tolerance, tolerance * largest, equal_nan=True):
            far = np.nanmax(np.abs(value.astype(float) - expected.astype(float)))
            return f"result {number} of {len(found)} is off by {far:.3g} of {largest:.3g}"
    return ""


class Sweep:
    """Asks for a verdict on each check of each test."""

    def __init__(self, *, verbose: bool) -> None:
        self.verbose = verbose
        self.watcher = Watcher()
        self.watcher.install()
        self.counts: collections.Counter[str] = collections.Counter()
        self.names: set[str] = set()
        self.lines: list[str] = []
        self.test = ""

    def check_grads(self, function: Function, *args: Any, **options: Any) -> None:
        """Values and gradients in a batch."""
        self._note(function, args, graded=True)

    def check_agrees(self, function: Function, *args: Any, **options: Any) -> None:
        """Values in a batch."""
        self._note(function, args, graded=False)

    def _note(self, function: Function, args: tuple[Any, ...], *, graded: bool) -> None:
        self.watcher.clear()
        word, reason = verdict(function, args, graded=graded)
        self.counts[word] += 1
        if word == "right":
            self.names |= self.watcher.seen["traced"]
        if word not in SAID or self.verbose:
            self.lines.append(f"{word}: {self.test}: {' '.join(reason.split())[:200]}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Know which test it is."""
        self.test = item.nodeid
        return (yield)


def main(arguments: list[str]) -> int:
    """Run the tests; print the table."""
    sweep = Sweep(verbose="--verbose" in arguments)
    testing.check_grads = agreement.check_grads = sweep.check_grads
    agreement.check_agrees = sweep.check_agrees
    given = [a for a in arguments if a != "--verbose"]
    pytest.main(["-q", "-p", "no:cacheprovider", *given], plugins=[sweep])
    print(*sweep.lines, sep="\n")
    for word, count in sweep.counts.most_common():
        print(f"{count:6} {word}")
    names = {row.name for row in name_rows() if row.status == "traced"}
    print(f"no batch went through {len(names - sweep.names)} of {len(names)}: {', '.join(sorted(names - sweep.names))}")
    return int(bool(sweep.counts["wrong"] or sweep.counts["crashed"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
