"""The subject of `check_rrule`: an operator, primitive or function at a point, as a program and its split."""

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import FLOATS, Const, Op, Type, is_call
from primsplit.ir.errors import SpecError
from primsplit.ops import op
from primsplit.ops.schema import schema
from primsplit.programs.api import SplitProgram
from primsplit.programs.program import Program
from primsplit.programs.trace_program import trace_program
from primsplit.rules.table import RULES, Rule, with_defaults
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.specs import spec
from primsplit.transforms.split import split_whole

AnyArray = npt.NDArray[Any]
Target = str | Primitive | Callable[..., Any]
Domain = tuple[float, float] | Callable[[np.random.Generator, tuple[int, ...]], AnyArray]


@dataclasses.dataclass(frozen=True)
class Subject:
    """A target with its inputs: arrays are the program's inputs, all others are part of it."""

    target: Target
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    outputs: int | None

    @property
    def name(self) -> str:
        """The operator's or function's name."""
        return self.target if isinstance(self.target, str) else getattr(self.target, "__name__", "function")

    @property
    def positions(self) -> list[int]:
        """The positions of the inputs that are arrays."""
        return [i for i, x in enumerate(self.inputs) if isinstance(x, np.ndarray)]

    @property
    def point(self) -> list[AnyArray]:
        """The arrays."""
        return [self.inputs[i] for i in self.positions]

    def at(self, point: Sequence[AnyArray]) -> "Subject":
        """The subject at other arrays."""
        inputs = list(self.inputs)
        for position, array in zip(self.positions, point, strict=True):
            inputs[position] = array
        return dataclasses.replace(self, inputs=tuple(inputs))

    def cast(self, dtype: npt.DTypeLike) -> "Subject":
        """The subject with every floating-point array and constant in this dtype."""
        return dataclasses.replace(self, inputs=tuple(_cast(x, np.dtype(dtype)) for x in self.inputs))

    def __call__(self, *arrays: Any) -> Any:
        """Call the target on arrays, traced or not, in place of those of the point."""
        inputs = list(self.inputs)
        for position, array in zip(self.positions, arrays, strict=True):
            inputs[position] = array
        if not isinstance(self.target, str):
            return self.target(*(_plain(x) for x in inputs), **self.attributes)
        more = {} if self.outputs is None else {"outputs": self.outputs}
        return getattr(op, self.target)(*inputs, **self.attributes, **more)

    def numpy(self) -> list[AnyArray]:
        """Call the target on arrays outside of a trace. Not for operators."""
        return [np.asarray(x) for x in trees.flatten(self(*(a.copy() for a in self.point)))[0]]

    def program(self, specs: Sequence[Any] | None = None) -> Program:
        """The traced target, by default for literal sizes."""
        names = list(self.names())

        def called(*arrays: Array) -> Any:
            return tuple(trees.flatten(self(*arrays))[0])

        kind = inspect.Parameter.POSITIONAL_ONLY
        called.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
        return trace_program(called, self.point if specs is None else specs, {}, name=self.name)

    def names(self) -> Iterator[str]:
        """A name for each array."""
        if isinstance(self.target, str):
            formal = [n for n, _ in schema(self.target).inputs]
        else:
            formal = list(inspect.signature(self.target).parameters)
        for position in self.positions:
            repeated = position >= len(formal) - 1 and len(self.inputs) > len(formal)
            yield f"{formal[-1]}_{position}" if repeated else formal[position]

    def split(self, wrt: Sequence[int], specs: Sequence[Any] | None = None) -> SplitProgram:
        """The split of the program with respect to some arrays, for cotangents of all floating-point results."""
        program = self.program(specs)
        of = [i for i, r in enumerate(program.block.results) if r.type.is_float]
        made = split_whole(program.block, wrt, of)
        return SplitProgram(program, made, seeded=False, differentiated=made.wrt)


def make_subject(
    target: Target,
    inputs: Sequence[Any],
    *,
    attributes: Mapping[str, Any],
    outputs: int | None,
    domain: Domain | Sequence[Domain],
    random: np.random.Generator,
) -> Subject:
    """Make a subject; an input given as a Type is sampled from `domain` (one for all, or a list of one per input)."""
    domains = list(domain) if isinstance(domain, list) else [domain] * len(inputs)
    made = [_sample(x, d, random) for x, d in zip(inputs, domains, strict=True)]
    return Subject(target, tuple(made), dict(attributes), outputs)


def _sample(given: Any, domain: Any, random: np.random.Generator) -> Any:
    if isinstance(given, np.generic):
        return np.asarray(given)
    if not isinstance(given, Type):
        return given
    shape = tuple(d for d in given.shape or () if isinstance(d, int))
    if given.shape is None or len(shape) != len(given.shape):
        raise SpecError(f"check_rrule samples an input of literal sizes, not {given}")
    if callable(domain):
        return np.asarray(domain(random, shape), given.dtype)
    low, high = domain
    if given.dtype.kind == "b":
        return random.random(shape) < 0.5
    if given.dtype.kind in "iu":
        return random.integers(int(low), int(high), shape, dtype=given.dtype)
    return np.asarray(random.uniform(low, high, shape), given.dtype)


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.name in FLOATS:
        return value.astype(dtype)
    if isinstance(value, Const) and value.type.is_float:
        return Const(value.numpy().astype(dtype))
    return value


def _plain(value: Any) -> Any:
    return value.numpy() if isinstance(value, Const) else value


def rules_of(block_ops: Sequence[Op]) -> Iterator[tuple[Op, Rule, dict[str, Any]]]:
    """Each op that has a rule of its own, with the rule and the attributes passed to it."""
    for found in block_ops:
        if is_call(found):
            rule = found.attributes.get("rule")
            if rule is not None:
                yield found, rule, {}
            continue
        entry = RULES.get(found.kind)
        if entry is not None and entry.rule is not None:
            yield found, entry.rule, with_defaults(found.kind, found.attributes)


def symbolic(arrays: Sequence[AnyArray], *, separate: bool) -> list[Type]:
    """The arrays' types with a symbol for each size above 1: one per size, or with `separate` one per axis."""
    made = []
    for position, array in enumerate(arrays):
        sizes: list[int | str] = []
        for axis, size in enumerate(array.shape):
            name = f"S{position}_{axis}" if separate else f"N{size}"
            sizes.append(name if size > 1 else size)
        made.append(spec(array.dtype, sizes))
    return made
