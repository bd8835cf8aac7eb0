"""Shared state of the checks of `check_rrule`: the subject, its split, and comparisons of arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Block
from primsplit.ir.errors import PrimsplitError, RuleError
from primsplit.programs.api import SplitProgram
from primsplit.testing.failures import CheckFailed
from primsplit.testing.reference import Reference
from primsplit.testing.subject import Subject, symbolic

AnyArray = npt.NDArray[Any]
Smooth = Callable[[Sequence[AnyArray]], list[AnyArray]]
Kink = tuple[Sequence[Any], Sequence[npt.ArrayLike]]
VALUE_RTOL: Mapping[str, float] = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}
RTOL: Mapping[str, float] = {"float64": 1e-7, "float32": 2e-4, "float16": 5e-2}


@dataclass(frozen=True)
class Settings:
    """The options of `check_rrule`."""

    numpy: Callable[..., Any] | None
    kinks: Sequence[Kink]
    max_step: float
    rtol: Mapping[str, float]
    value_tolerance: float | None
    expected_nodes: Sequence[str] | None
    expected_captures: Mapping[str, str] | None
    listing: str | None
    no_tangent: Sequence[int]
    sizes: Sequence[int]
    separate: bool
    dtypes: Sequence[str]


@dataclass
class Report:
    """The result of a check: the ops of the pullback, and the captures with their kinds, sizes and dtypes."""

    name: str
    nodes: list[str] = field(default_factory=list)
    primal: list[str] = field(default_factory=list)
    captures: dict[str, str] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A split at a point of its own or with symbols for sizes, and the session of its joint program."""

    made: SplitProgram
    session: Any
    point: Sequence[AnyArray]


class Job:
    """The objects that the checks share; what several of them need is compiled once."""

    def __init__(self, subject: Subject, wrt: Sequence[int], settings: Settings, random: np.random.Generator) -> None:
        self.subject = subject
        self.wrt = list(wrt)
        self.settings = settings
        self.random = random
        try:
            self.made = subject.split(wrt)
        except RuleError as error:
            raise CheckFailed("form", str(error)) from error
        split = self.made.split
        names = self.made.capture_names()
        self.report = Report(
            subject.name,
            nodes=[op.kind for op in split.pullback.ops],
            primal=[op.kind for op in split.primal.ops],
            captures={names[c]: kind for c, kind in split.kinds().items()},
        )
        self.reference = Reference(self.made.program.block, None)
        self.values = self.reference(*subject.point)
        self.dtype = min((a.dtype for a in subject.point if a.dtype.kind == "f"), default=np.dtype(float)).name
        self.joint = self.made.joint()
        self.points: dict[bool, list[list[AnyArray]]] = {}
        self._symbolic: dict[bool, Compiled] = {}

    def symbolic(self, *, separate: bool) -> Compiled:
        """The split with symbols for sizes: one per size, or with `separate` one per axis. Raises CheckFailed."""
        if separate not in self._symbolic:
            point = self.subject.point
            try:
                made = self.subject.split(self.wrt, symbolic(point, separate=separate))
            except PrimsplitError as error:
                raise CheckFailed("sizes", f"cannot be split for symbolic sizes: {error}") from error
            self._symbolic[separate] = Compiled(made, made.joint().session(), point)
        return self._symbolic[separate]

    @cached_property
    def kinks(self) -> list[Compiled]:
        """The split at each kink."""
        found = []
        for inputs, _ in self.settings.kinks:
            there = Subject(self.subject.target, tuple(inputs), self.subject.attributes, self.subject.outputs)
            made = there.split(self.wrt)
            found.append(Compiled(made, made.joint().session(), there.point))
        return found

    def seeds(self, values: Sequence[AnyArray] | None = None) -> list[AnyArray]:
        """Random cotangents for the floating-point results."""
        given = self.values if values is None else values
        return [self.random.standard_normal(given[i].shape).astype(given[i].dtype) for i in self.made.split.of]

    def gradients(self, seeds: Sequence[AnyArray]) -> list[AnyArray]:
        """The cotangents of the arrays in `wrt`, computed by onnxruntime."""
        found: list[AnyArray] = self.joint.session()(*self.subject.point, *seeds)[len(self.values) :]
        return found

    @property
    def value_tolerance(self) -> float:
        """The error allowed in a value."""
        given = self.settings.value_tolerance
        return VALUE_RTOL[self.dtype] if given is None else given

    def smooth(self, block: Block, of: Sequence[int]) -> Smooth:
        """Some results of a block, computed in float64."""
        reference = Reference(block, np.float64)

        def function(point: Sequence[AnyArray]) -> list[AnyArray]:
            values = reference(*point)
            return [values[i] for i in of]

        return function

    def tolerance(self, dtype: str = "") -> float:
        """The error allowed in a dtype, by default that of the inputs."""
        return self.settings.rtol[dtype or self.dtype]


def compare(what: str, value: Any, wanted: AnyArray, tolerance: float, check: str) -> None:
    """Check dtype and shape exactly, and values relative to the largest."""
    array = np.asarray(value)
    if array.dtype != wanted.dtype or array.shape != wanted.shape:
        raise CheckFailed(check, f"{what} is {array.dtype}{list(array.shape)}, not {wanted.dtype}{list(wanted.shape)}")
    if array.dtype.kind not in "fV":
        if not np.array_equal(array, wanted):
            raise CheckFailed(check, f"{what} is {array}, not {wanted}")
        return
    close(what, array, wanted, tolerance, check)


def close(what: str, array: AnyArray, wanted: AnyArray, tolerance: float, check: str) -> None:
    """Check values relative to the largest, whatever their dtypes."""
    wide, right = array.astype(np.float64), wanted.astype(np.float64)
    scale = max(1.0, float(np.max(np.abs(right[np.isfinite(right)]), initial=0)))
    if not np.allclose(wide, right, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
        error = np.max(np.abs(wide - right))
        raise CheckFailed(check, f"{what} is {wide}, not {right}: off by {error:.3g}")
