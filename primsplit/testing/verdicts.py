"""Compares an exported file with the function it was made from: values with plain NumPy, gradients with differences.

Derivatives are five-point central differences of the function itself in float64, along single elements of small inputs
and along random directions of large ones: see `lines`. Where a run takes long there are fewer: see `hurried`.

A gradient that misses the differences is right only if the same program in float64 agrees with them, and the file is no
further from that program than NumPy is in the program's own dtypes.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from primsplit.ir import BFLOAT16, Type, walk
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.programs.api import SplitProgram
from primsplit.programs.binding import ARRAY
from primsplit.programs.plain import arrays_of, as_given, plain_results
from primsplit.testing.hurried import Claims, confirmed_lines, is_long
from primsplit.testing.lines import ROUNDINGS, ROUNDS, Errors, Line, Verdict, compared
from primsplit.testing.reference import Reference, evaluate, play
from primsplit.tracing import trees

Array = npt.NDArray[Any]
Outputs = Mapping[str, Array]

TOLERANCES = {"float64": (1e-10, 1e-6), "float32": (1e-4, 1e-3), "float16": (2e-2, 5e-2), "bfloat16": (1e-1, 2e-1)}
"""The relative errors allowed in values and in gradients, by the dtype in which they are computed."""

SEARCHES = frozenset(f"call::{name}" for name in ("fixed_point", "least_squares", "minimize", "newton", "root"))
"""The searches that SciPy ends at its own tolerance, and a file at rounding."""
STEPS = frozenset({"call::other_steps"})
"""The calls in which a file takes other steps than SciPy, with the same tolerance."""
SOONER, DOUBTFUL = 1e-5, 1e-3
"""The errors that default tolerances explain, and those that they may explain."""
TOLERATED = {"SciPy's own search ends sooner": SEARCHES, "SciPy takes other steps": STEPS}
FEW, MANY_DIRECTIONS = 12, 6
_NOTHING = Line(0.0, "ok", "no elements")
CALLS = 4
UNSTEADY = "the function gives another value in each call"
OWN_ONLY = "of the program: the function refuses float64"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: of an output's value (`against` plain NumPy), or of a gradient (against central differences)."""

    name: str
    type: str
    against: str
    error: float
    verdict: Verdict
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For JSON; an infinite error is None."""
        return {**asdict(self), "error": self.error if np.isfinite(self.error) else None}


def difference_row(name: str, derivative: Array, lines: Sequence[Line]) -> Row:
    """The row of a derivative that was compared along these lines; the worst of them decides."""
    worst = max(lines, key=lambda line: ("ok", "unclear", "wrong").index(line.verdict), default=_NOTHING)
    error = max((line.error for line in lines if line.verdict == worst.verdict), default=0.0)
    note = worst.note or next((line.note for line in lines if line.note), "")
    return Row(name, told_type(derivative), "central differences", error, worst.verdict, note)


class FileCheck:
    """The comparisons of one file. `values` is a call of the function (positional and keyword arguments).

    `file` maps inputs and cotangents by name to outputs and gradients by name. `tolerance` replaces the gradients'
    tolerance. `against` is the name of the function in rows.
    """

    def __init__(
        self,
        made: SplitProgram,
        function: Callable[..., Any],
        values: tuple[tuple[Any, ...], dict[str, Any]],
        file: Callable[[Outputs], Outputs],
        *,
        tolerance: float | None = None,
        seed: int = 0,
        against: str = "plain NumPy",
    ) -> None:
        self.made, self.function, self.file, self.tolerance = made, function, file, tolerance
        self.against = against
        self.random = np.random.default_rng(seed)
        self.leaves, self.structure = trees.in_parts(values)
        self.positions = [i for i, s in enumerate(made.program.static) if s is ARRAY]
        self.point = arrays_of(made.program, values)
        self.wide = [in_float64(x) for x in self.point]
        self.evaluated: dict[int, tuple[Array, Array]] | None = None
        self.height = 0.0
        self.seconds = np.inf
        """The least time of a run in float64."""

    def plain(self, arrays: Sequence[Array]) -> list[Array]:
        """The results in plain NumPy, for one array per input."""
        moved = list(self.leaves)
        given = [arrays[i] for i in self.made.program.given]
        for position, array in zip(self.positions, given, strict=True):
            moved[position] = as_given(array, self.leaves[position])
        with np.errstate(all="ignore"):
            return plain_results(self.made.program, self.function, trees.unflatten(self.structure, moved), arrays)

    @cached_property
    def takes_float64(self) -> bool:
        """False for a function that accepts only its own dtypes, such as one that calls a loaded float32 model."""
        if all(a.dtype == b.dtype for a, b in zip(self.wide, self.point, strict=True)):
            return True
        try:
            self.plain(self.wide)
        except (PrimsplitError, AssertionError, TypeError, ValueError):
            self.plain(self.point)
            return False
        return True

    @cached_property
    def repeats(self) -> bool:
        """Whether the function returns the same in each call, which is false for one that draws random numbers.

        A drawn mask may happen to be the same in two calls.
        """
        once, *more = (self.plain(self.point) for _ in range(CALLS))
        return all(_is_same(a, b) for again in more for a, b in zip(once, again, strict=True))

    @cached_property
    def reference(self) -> Reference:
        """The recorded program in float64."""
        return Reference(self.made.program.block)

    def widely(self, arrays: Sequence[Array]) -> list[Array]:
        """The results for float64 arrays: in plain NumPy, or by the program if the function refuses float64."""
        run = self.plain if self.takes_float64 else lambda arrays: self.reference(*arrays)
        started = time.perf_counter()
        found = run(arrays)
        self.seconds = min(self.seconds, time.perf_counter() - started)
        return found

    def rows(self) -> Iterator[Row]:
        """The comparisons, one by one: each takes a while."""
        made = self.made
        expected, own = self.widely(self.wide), self._promised()
        cotangents = self._cotangents(expected, own)
        seeds = {n: cotangents[i] for n, i in zip(made.cotangent_names, made.split.of, strict=True)}
        found = self._found(seeds, [*made.program.outputs, *made.gradient_names])
        yield from self._value_rows(found, expected, own)
        yield from self._gradient_rows(found, expected, cotangents)

    def _found(self, more: Outputs, names: Sequence[str]) -> Outputs:
        """The file's outputs for the inputs and for `more`. Raises SpecError if it lacks a name."""
        found = self.file({**dict(zip(self.made.program.inputs, self.point, strict=True)), **more})
        if missing := [n for n in names if n not in found]:
            raise SpecError(f"the file does not give {', '.join(missing)}", because=(f"it gives {', '.join(found)}",))
        return found

    def _value_rows(self, found: Outputs, expected: Sequence[Array], own: Sequence[Array]) -> Iterator[Row]:
        wides = expected if self.takes_float64 else [in_float64(x) for x in own]
        for name, wide, value in zip(self.made.program.outputs, wides, own, strict=True):
            row = self._value_row(name, found[name], wide, value)
            yield row if self.repeats else replace(row, verdict="unclear", note=UNSTEADY)

    def _gradient_rows(self, found: Outputs, expected: Sequence[Array], cotangents: Sequence[Array]) -> Iterator[Row]:
        made, wides = self.made, [in_float64(c) for c in cotangents]
        with np.errstate(all="ignore"):
            self.height = float(sum(np.sum(np.abs(expected[i] * wides[i])) for i in made.split.of))
        of = dict(zip(made.differentiated, made.gradient_names, strict=True))
        known = self._hurried({i: found[name] for i, name in of.items()}, wides) if self._is_long(len(of)) else {}
        for i, name in of.items():
            row = difference_row(name, found[name], [known[i]]) if i in known else None
            yield self.told(row or self._gradient_row(i, name, found[name], wides))

    def _is_long(self, gradients: int) -> bool:
        return self.repeats and is_long(self.seconds, gradients)

    def _hurried(self, gradients: Mapping[int, Array], cotangents: Sequence[Array]) -> dict[int, Line]:
        """The comparisons of gradients that few differences confirm."""
        fitting = {i: in_float64(g) for i, g in gradients.items() if told_type(g) == told_type(self.point[i])}
        claims = Claims(
            {i: g for i, g in fitting.items() if np.all(np.isfinite(g))},
            {i: self._tolerance(gradients[i]) for i in fitting},
            lambda moved: float(self._scalar(moved, cotangents)),
            dict(enumerate(self.wide)),
            self.height,
        )
        with np.errstate(all="ignore"):
            return confirmed_lines(claims, self.seconds, self._random_direction)

    def _random_direction(self, position: int) -> Array:
        return np.asarray(self.random.standard_normal(self.wide[position].shape) * self._scale(position))

    def told(self, row: Row) -> Row:
        """The row, with a note if the differences are not of the function itself, or calls of the function differ."""
        if not self.repeats:
            return replace(row, verdict="unclear", note=UNSTEADY)
        return row if self.takes_float64 or row.note else replace(row, note=OWN_ONLY)

    def _promised(self) -> list[Array]:
        """The results in plain NumPy, in the dtypes that the file must have.

        Those are NumPy's own, except with bfloat16 inputs: NumPy does not know how bfloat16 is promoted, so the dtypes
        are those of the trace.
        """
        own = self.plain(self.point)
        if all(x.dtype != BFLOAT16 for x in self.point):
            return own
        types = [r.type for r in self.made.program.block.results]
        return [x.astype(t.dtype) for x, t in zip(own, types, strict=True)]

    def _cotangents(self, expected: Sequence[Array], own: Sequence[Array]) -> list[Array]:
        return [self._cotangent(i, e, o) for i, (e, o) in enumerate(zip(expected, own, strict=True))]

    def _cotangent(self, position: int, expected: Array, own: Array) -> Array:
        if position not in self.made.split.of:
            return np.zeros_like(expected)
        if self.made.seeded:
            return np.ones(expected.shape, own.dtype)
        return self.random.standard_normal(expected.shape).astype(own.dtype)

    def _value_row(self, name: str, value: Array, wide: Array, own: Array) -> Row:
        told = told_type(value)
        if value.dtype != own.dtype or value.shape != own.shape:
            note = f"{self.against} gives {told_type(own)}"
            return Row(name, told, self.against, np.inf, "wrong", note)
        if value.dtype.name not in TOLERANCES:
            wrong = int(np.sum(value != own))
            return Row(name, told, self.against, float(wrong), "wrong" if wrong else "ok")
        finite = np.isfinite(wide)
        size = float(np.max(np.abs(wide[finite]), initial=0.0))
        if not finite.all():
            same = np.array_equal(np.isfinite(value), finite)
            return Row(name, told, self.against, np.inf, "unclear" if same else "wrong", "not finite at these inputs")
        error = float(np.max(np.abs(in_float64(value) - wide), initial=0.0)) / (size or 1.0)
        if error <= self._tolerances(value)[0]:
            return Row(name, told, self.against, error, "ok")
        rounding = float(np.max(np.abs(in_float64(own) - wide), initial=0.0)) / (size or 1.0)
        if error <= ROUNDINGS * rounding:
            return Row(name, told, self.against, error, "ok", ROUNDS)
        kinds = {op.kind for op in walk(self.made.program.block)}
        note = next((n for n, those in TOLERATED.items() if those & kinds), "")
        if error <= DOUBTFUL and note:
            return Row(name, told, self.against, error, "ok" if error <= SOONER else "unclear", note)
        return Row(name, told, self.against, error, "wrong")

    def _tolerances(self, array: Array) -> tuple[float, float]:
        """The tolerances of the least precise dtype involved: a float64 result of float32 inputs is no more precise."""
        dtypes = {a.dtype.name for a in (array, *self.point)} & set(TOLERANCES)
        return max(TOLERANCES[name] for name in dtypes)

    def _gradient_row(self, position: int, name: str, gradient: Array, cotangents: Sequence[Array]) -> Row:
        primal = self.point[position]
        told = told_type(gradient)
        if gradient.shape != primal.shape or gradient.dtype != primal.dtype:
            note = f"the input is {told_type(primal)}"
            return Row(name, told, "central differences", np.inf, "wrong", note)
        wide = in_float64(gradient)
        if not np.all(np.isfinite(wide)):
            return Row(name, told, "central differences", np.inf, "wrong", self._not_finite(cotangents))
        with np.errstate(all="ignore"):
            lines = [self._line(position, d, wide, cotangents) for d in self._directions(position, wide)]
        return difference_row(name, gradient, lines)

    def _not_finite(self, cotangents: Sequence[Array]) -> str:
        """A note with the first line whose pullback returns an infinity or NaN."""
        made = self.made
        given = [*self.wide, *([] if made.seeded else [cotangents[i] for i in made.split.of])]
        for op, values in play(made.joint().block, given, np.float64):
            is_finite = all(np.all(np.isfinite(v)) for v in values if v.dtype.kind == "f")
            if op.remark and op.place is not None and not is_finite:
                return f"not finite: {op.remark}, {str(op.place).partition(' in ')[0]}"
        return "not finite"

    def _directions(self, position: int, gradient: Array) -> list[Array]:
        """Single elements if there are few; else random directions, and the elements with the largest slopes."""
        x, scale = self.wide[position], self._scale(position)
        if x.size <= FEW:
            chosen = list(range(x.size))
        else:
            slopes = np.abs(gradient * scale).reshape(-1)
            chosen = [int(i) for i in np.argsort(slopes)[[-1, slopes.size // 2]]]
        units = []
        for index in chosen:
            unit = np.zeros_like(x)
            unit.reshape(-1)[index] = scale.reshape(-1)[index]
            units.append(unit)
        if x.size > FEW:
            units += [self._random_direction(position) for _ in range(MANY_DIRECTIONS)]
        return units

    def _scale(self, position: int) -> Array:
        """Return the distance that a step of 1 moves each element of an input."""
        x = self.wide[position]
        level = float(np.sqrt(np.mean(x**2))) if x.size else 0.0
        # A parameter at exactly zero has no scale of its own: it moves by a step as for 1 where all of them are zero.
        return np.maximum(np.abs(x), 0.1 * level) if level else np.ones_like(x)

    def _scalar(self, moved: Mapping[int, Array], cotangents: Sequence[Array]) -> Array:
        """The results times their cotangents, with these arrays in the place of inputs."""
        results = self.widely([moved.get(i, x) for i, x in enumerate(self.wide)])
        return np.asarray(sum(np.sum(results[i] * cotangents[i]) for i in self.made.split.of))

    def _line(self, position: int, direction: Array, gradient: Array, cotangents: Sequence[Array]) -> Line:
        """The comparison along one direction."""

        def scalar(moved: list[Array]) -> Array:
            return self._scalar({position: moved[0]}, cotangents)

        found = np.sum(gradient * direction)
        steep = float(np.max(np.abs(gradient), initial=0.0) * np.max(np.abs(direction), initial=0.0))
        size = max(float(np.sqrt(np.sum((gradient * direction) ** 2))), 1e-3 * steep)
        errors = Errors(
            self._tolerance(gradient), size, self.height, lambda: self._rounded(position, cotangents, direction)
        )
        return compared(found, scalar, [self.wide[position]], [direction], errors)

    def _tolerance(self, derivative: Array) -> float:
        return self._tolerances(derivative)[1] if self.tolerance is None else self.tolerance

    def _rounded(self, position: int, cotangents: Sequence[Array], direction: Array) -> tuple[Array, float]:
        """The slope along the direction by the gradient's program in float64, and how far its own dtypes may be off."""
        if self.evaluated is None:
            made, block = self.made, self.made.joint().block
            wide = [*self.wide, *([] if made.seeded else [cotangents[i] for i in made.split.of])]
            own = [a.astype(p.type.dtype) for a, p in zip(wide, block.params, strict=True)]
            pairs = list(zip(evaluate(block, wide), evaluate(block, own, None), strict=True))
            self.evaluated = dict(zip(made.differentiated, pairs[len(made.program.outputs) :], strict=True))
        exact, rounded = self.evaluated[position]
        rounding = float(np.sum(np.abs((in_float64(rounded) - exact) * direction)))
        return np.sum(exact * direction), rounding + self.height * epsilon(self.point[position])


def _is_same(a: Array, b: Array) -> bool:
    """Return whether the results of two calls differ at most by rounding."""
    if a.dtype.name not in TOLERANCES:
        return np.array_equal(a, b)
    wide = in_float64(a), in_float64(b)
    size = float(np.max(np.abs(wide[0]), initial=0.0, where=np.isfinite(wide[0])))
    return np.allclose(*wide, rtol=0.0, atol=TOLERANCES[a.dtype.name][0] * size, equal_nan=True)


def epsilon(array: Array) -> float:
    """The distance from 1 to the next larger number of the array's dtype."""
    return float(ml_dtypes.finfo(array.dtype).eps)  # type: ignore[no-untyped-call]


def in_float64(array: Array) -> Array:
    """A floating-point array in float64; others unchanged."""
    return array.astype(np.float64) if array.dtype.name in TOLERANCES else array


def told_type(array: Array) -> str:
    """The array's dtype and shape, as in rows."""
    return str(Type(array.dtype, array.shape))
