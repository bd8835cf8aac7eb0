"""Runtimes that a file is written for, and what they get wrong, as records.

A fault of a runtime is a record beside the code that works around it. `target="onnxruntime>=1.32"` is a `Runtime`: a
file for it is written without the ways around faults that are mended in 1.32 and before.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from primsplit.ir.errors import SpecError

FaultKind = Literal["wrong", "aborts", "refuses", "slow"]
"""A wrong result without an error; the process ends, or hangs; an error; a right result that takes far too long."""
Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A defect of a runtime.

    `operators` are those of ONNX that show it, `says` is what happens, in one sentence. It came with version `since`
    and was mended in version `before`; None where all versions have had it, and where the newest has it still. `cure`
    is the function that works around it, or refuses such programs, as `module.function` in the package; empty where
    nothing does.
    """

    name: str
    runtime: str
    kind: FaultKind
    operators: tuple[str, ...]
    says: str
    since: str | None
    before: str | None
    cure: str


FAULTS: dict[str, Fault] = {}
"""All faults of the modules that are loaded, by name."""
_cured: dict[Any, tuple[Fault, ...]] = {}
_Cure = TypeVar("_Cure", bound=Callable[..., Any])


def fault(
    name: str,
    *,
    kind: FaultKind,
    operators: tuple[str, ...],
    says: str,
    before: str | None = None,
    since: str | None = None,
    runtime: str = "onnxruntime",
) -> Callable[[_Cure], _Cure]:
    """A decorator for the function that works around a fault, or refuses it: it puts the record into FAULTS.

    A function that works around several has several. A decomposition that has one is for runtimes that have the fault.
    Raises ValueError for a name that is there already.

    >>> @extend.fault("far_hard_swish", kind="wrong", operators=("HardSwish",), says="It is NaN.", before="1.32")
    ... @extend.decompose("HardSwish", "float32")
    ... def hard_swish(x):
    ...     return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)
    >>> program = ps.trace(extend.operator("HardSwish"), ps.spec("float32", [3]))
    >>> [node.op_type for node in program.to_onnx(target="onnxruntime>=1.32").graph.node]
    ['HardSwish']
    """

    def register(cure: _Cure) -> _Cure:
        where = f"{cure.__module__.removeprefix('primsplit.')}.{cure.__qualname__}"
        added = _added(Fault(name, runtime, kind, operators, says, since, before, where))
        _cured[cure] = (added, *_cured.get(cure, ()))
        return cure

    return register


def known_fault(
    name: str,
    *,
    kind: FaultKind,
    operators: tuple[str, ...],
    says: str,
    before: str | None = None,
    since: str | None = None,
    runtime: str = "onnxruntime",
) -> None:
    """Put the record of a fault into FAULTS that files are not written around. Raises ValueError as `fault` does."""
    _added(Fault(name, runtime, kind, operators, says, since, before, ""))


def _added(found: Fault) -> Fault:
    if found.name in FAULTS:
        raise ValueError(f"there are two faults {found.name!r}")
    FAULTS[found.name] = found
    return found


def cured_by(function: Callable[..., Any]) -> tuple[Fault, ...]:
    """The faults that a function works around."""
    return _cured.get(function, ())


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime from some version on: what a file is to run in."""

    name: str
    oldest: Version

    def has(self, name: str) -> bool:
        """Return whether one of these versions may have this fault."""
        found = FAULTS[name]
        return found.runtime == self.name and (found.before is None or version_of(found.before) > self.oldest)

    def __str__(self) -> str:
        return f"{self.name}>={'.'.join(map(str, self.oldest))}"


OLDEST = Runtime("onnxruntime", (1, 20))
"""The default target of files: all versions in which they run."""


def version_of(text: str) -> Version:
    """The numbers of a version, such as (1, 32) of "1.32"."""
    return tuple(map(int, text.split(".")))


def read_target(text: str | None) -> Runtime:
    """The runtime that a text names, such as "onnxruntime>=1.32"; for None all versions that files run in.

    Raises SpecError for any other form, an unknown runtime, or a version before OLDEST.
    """
    if text is None:
        return OLDEST
    cure = f'Write target="{OLDEST}" or a later version, such as target="{OLDEST.name}>=1.32".'
    found = (
        re.fullmatch(r"\s*([A-Za-z][\w.-]*)\s*>=\s*(\d+\.\d+(?:\.\d+)?)\s*", text) if isinstance(text, str) else None
    )
    if found is None:
        raise SpecError(f"target={text!r} names no runtime and its oldest version", cure=cure)
    made = Runtime(found[1], version_of(found[2]))
    if made.name != OLDEST.name:
        raise SpecError(f"target={text!r}: files are written for {OLDEST.name} only", cure=cure)
    if made.oldest < OLDEST.oldest:
        raise SpecError(f"target={text!r}: files do not run before {OLDEST.name} 1.20", cure=cure)
    return made
