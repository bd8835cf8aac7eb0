"""Checks the file of a derivative other than the gradient against the function it was made from.

Tangents and Jacobians are compared with central differences of the function; products and Hessians with those of its
gradient's program in float64. That gradient, which is in the same file, is compared with differences of the function
itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from primsplit.programs.api import SplitProgram
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram
from primsplit.testing.lines import Array, Errors, Line, compared
from primsplit.testing.reference import Reference, evaluate
from primsplit.testing.verdicts import FileCheck, Row, difference_row, epsilon, in_float64, told_type


class DerivedCheck(FileCheck):
    """The comparisons of one file that returns values with tangents or a Jacobian.

    With `second`, derivatives of the gradient.

    `derived` is the derivative program, `made` the gradient of the same function; the rest is as for FileCheck.
    """

    def __init__(
        self, derived: PushedProgram | Program, made: SplitProgram, *args: Any, second: bool, **named: Any
    ) -> None:
        super().__init__(made, *args, **named)
        self.derived, self.second = derived, second
        self.program = derived.joint() if isinstance(derived, PushedProgram) else derived
        self.base = made.joint() if second else made.program
        self.gradient = Reference(self.base.block)
        self.tangents: dict[int, Array] = {}

    def rows(self) -> Iterator[Row]:
        """The comparisons, one by one: each takes a while."""
        expected, own = self.widely(self.wide), self._promised()
        given = {}
        if isinstance(self.derived, PushedProgram):
            self.tangents = {i: self._tangent(self.point[i]) for i in self.derived.pushed.wrt}
            given = dict(zip(self.derived.tangent_names, self.tangents.values(), strict=True))
        found = self._found(given, self.program.outputs)
        yield from self._value_rows(found, expected, own)
        if self.second:
            yield from self._gradient_rows(found, expected, self._cotangents(expected, own))
        for name, of, wrt in self._derivatives():
            yield self.told(self._derivative_row(name, found[name], of, wrt))

    def _tangent(self, x: Array) -> Array:
        return np.asarray(self.random.standard_normal(x.shape)).astype(x.dtype)

    def _derivatives(self) -> list[tuple[str, int, int | None]]:
        """Each derivative of a result of `base` with respect to an input; None if it is along the tangents."""
        if isinstance(self.derived, PushedProgram):
            pairs = zip(self.derived.result_names, self.derived.pushed.of, strict=True)
            return [(name, of, None) for name, of in pairs]
        results = self.base.gradients if self.second else self.made.split.of
        places = [(of, wrt) for of in results for wrt in self.made.differentiated]
        names = self.program.outputs[len(self.base.outputs) :]
        return [(name, *place) for name, place in zip(names, places, strict=True)]

    def _derivative_row(self, name: str, found: Array, of: int, wrt: int | None) -> Row:
        shape = self.values[of].shape if wrt is None else self.values[of].shape + self.point[wrt].shape
        if found.shape != shape:
            return Row(name, told_type(found), "central differences", np.inf, "wrong", f"the shape must be {shape}")
        wide = in_float64(found)
        with np.errstate(all="ignore"):
            if wrt is None:
                along = {i: in_float64(t) for i, t in self.tangents.items()}
                return difference_row(name, found, [self._along(name, wide, of, along, None)])
            slopes = np.sum(np.abs(wide), axis=tuple(range(self.values[of].ndim)))
            lines = [self._along(name, wide, of, {wrt: d}, d) for d in self._directions(wrt, slopes)]
        return difference_row(name, found, lines)

    def _along(self, name: str, found: Array, of: int, along: Mapping[int, Array], direction: Array | None) -> Line:
        """The comparison along one direction, which a block of a Jacobian is multiplied by."""

        def function(moved: list[Array]) -> Array:
            arrays = list(self.wide)
            for position, array in zip(along, moved, strict=True):
                arrays[position] = array
            return self._results(arrays)[of]

        def rounded() -> tuple[Array, float]:
            exact, own = self.evaluated_again[name]
            error = _times(np.abs(own - exact), None if direction is None else np.abs(direction))
            return _times(exact, direction), float(np.max(error, initial=0.0)) + height * epsilon(own)

        height = float(np.max(np.abs(self.values[of]), initial=0.0))
        square = _times(found**2, None if direction is None else direction**2)
        size = float(np.sqrt(np.max(square, initial=0.0)))
        point = [self.wide[i] for i in along]
        errors = Errors(self._tolerance(found), size, height, rounded)
        return compared(_times(found, direction), function, point, list(along.values()), errors)

    def _results(self, arrays: Sequence[Array]) -> list[Array]:
        """The results of `base` in float64: by plain NumPy if it is the function and accepts float64."""
        found = self.gradient(*arrays) if self.second else self.widely(arrays)
        return [in_float64(np.asarray(result)) for result in found]

    @cached_property
    def values(self) -> list[Array]:
        """The results of `base` at the point of the check."""
        return self._results(self.wide)

    @cached_property
    def evaluated_again(self) -> dict[str, tuple[Array, Array]]:
        """Each output by the file's program in float64, and in its own dtypes."""
        block = self.program.block
        wide = [*self.wide, *(in_float64(t) for t in self.tangents.values())]
        own = [a.astype(p.type.dtype) for a, p in zip(wide, block.params, strict=True)]
        pairs = zip(evaluate(block, wide), evaluate(block, own, None), strict=True)
        return dict(zip(self.program.outputs, pairs, strict=True))


def _times(array: Array, direction: Array | None) -> Array:
    """The derivative along a direction of the last axes; with None, it already is along one."""
    return array if direction is None else np.tensordot(array, direction, direction.ndim)
