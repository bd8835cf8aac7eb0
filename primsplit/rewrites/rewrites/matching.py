"""Match ops against a pattern: the nodes and captures that it is written in, and the steps that find it.

`patterns.rewrite` registers what is done where one fits; `transforms/idioms` looks for its own before differentiation.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from primsplit.ir import Op, Value, Var, same_values
from primsplit.ops.traits import traits
from primsplit.rewrites.rewrites.table import attribute, number
from primsplit.tracing.array import Array
from primsplit.tracing.calls.named import arguments_of
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.registering import check_kinds

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """An op of this kind in a pattern. One that stands in two places of a pattern is the same op there.

    One that is the `call` of a function of this package is recognized by that; its attributes are static arguments.
    """

    kind: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]
    call: Primitive | None = None

    def fits(self, op: Op) -> bool:
        """Whether an op of this kind is a call of this function, if the node is one."""
        return self.call is None or arguments_of(op, self.call) is not None

    def argument(self, op: Op, name: str) -> Any:
        """Return an attribute, or a static argument of a call."""
        found = None if self.call is None else arguments_of(op, self.call)
        return attribute(op, name) if found is None else found[name]


@dataclass(frozen=True, eq=False, slots=True)
class Capture:
    """Any value, or any value of an attribute, in a pattern; the same one wherever it stands."""

    name: str


class Patterns:
    """The namespace `pattern`: `pattern.Add(x, 1.0)` is an Add of any value and a constant that is 1.0 everywhere.

    Inputs are captures, patterns, numbers, or None for one that is left out; attributes are values or captures, and an
    attribute that is not named may be anything. `pattern["call::square"]` is a call of a traced function of that name.
    `pattern[f]`, of a function that this package records by name, is a call of that function and no other. The inputs
    of operators that commute match in either order. Raises RuleError for a name that is no operator's.
    """

    def __getattr__(self, kind: str) -> Function:
        if kind.startswith("__"):
            raise AttributeError(kind)
        return self[kind]

    def __getitem__(self, kind: str | Primitive) -> Function:
        call = kind if isinstance(kind, Primitive) else None
        name = f"call::{call.name}" if call is not None else str(kind)
        if not name.startswith("call::"):
            check_kinds(name)

        def node(*inputs: Any, **attributes: Any) -> Node:
            return Node(name, inputs, attributes, call)

        return node


pattern = Patterns()


@dataclass(slots=True)
class Match:
    """The ops of a pattern that were found, the outermost first, and the captured values."""

    made_by: Mapping[Var, Op]
    ops: list[Op]
    captured: dict[str, Any] = field(default_factory=dict)

    def input(self, op: int, position: int) -> Value | None:
        """An input of one of the ops; None where it is left out."""
        inputs = self.ops[op].inputs
        return inputs[position] if position < len(inputs) else None

    def arguments(self, names: Iterable[str]) -> list[Any]:
        """Return the captures of these names, values as arrays and attributes as they are."""
        found = (self.captured[name] for name in names)
        return [Array(x) if isinstance(x, Value) else x for x in found]


Step = Callable[[Match], bool]
"""Looks at one thing that a pattern says; False where the ops are others."""


def _made(op: int, position: int, node: Node) -> Step:
    kind, most = node.kind, len(node.inputs)

    def step(match: Match) -> bool:
        value = match.input(op, position)
        made = match.made_by.get(value) if isinstance(value, Var) else None
        if made is None or made.kind != kind or made.outputs[0] is not value or len(made.inputs) > most:
            return False
        if not node.fits(made):
            return False
        match.ops.append(made)
        return True

    return step


def _same_op(op: int, position: int, other: int) -> Step:
    return lambda match: match.input(op, position) is match.ops[other].outputs[0]


def _captured(op: int, position: int, name: str) -> Step:
    def step(match: Match) -> bool:
        value = match.input(op, position)
        return value is not None and same_values(match.captured.setdefault(name, value), value)

    return step


def _absent(op: int, position: int) -> Step:
    return lambda match: match.input(op, position) is None


def _number(op: int, position: int, wanted: float) -> Step:
    def step(match: Match) -> bool:
        found = number(match.input(op, position))
        return found is not None and _is_same_number(found, wanted)

    return step


def _is_same_number(found: np.generic, wanted: float) -> bool:
    """Whether a constant is the number, as its dtype holds it; 0.0 and -0.0 are two."""
    with np.errstate(over="ignore"):
        cast = np.asarray(wanted).astype(found.dtype)
    if cast.dtype.kind in "biu" and cast != wanted:
        return False
    is_nan = bool(np.isnan(wanted)) and bool(found != found)  # noqa: PLR0124  # which NaN alone is not
    is_signed = found.dtype.kind in "biu" or bool(np.signbit(found) == np.signbit(cast))
    return is_nan or (bool(found == cast) and is_signed)


def _attribute(op: int, node: Node, name: str, wanted: Any) -> Step:
    def step(match: Match) -> bool:
        found = node.argument(match.ops[op], name)
        if isinstance(wanted, Capture):
            return bool(match.captured.setdefault(wanted.name, found) == found)
        return bool(found == (list(wanted) if isinstance(wanted, tuple) else wanted))

    return step


class _Compiler:
    """The steps of one order of the inputs of operators that commute.

    Which ops there are is looked at before anything else, as most candidates fail there.
    """

    def __init__(self, swapped: Mapping[int, bool]) -> None:
        self.swapped = swapped
        self.kinds: list[Step] = []
        self.others: list[Step] = []
        self.places: dict[int, int] = {}

    def node(self, node: Node, place: int) -> None:
        """Add the steps of an op at a place among those found."""
        self.places[id(node)] = place
        inputs = node.inputs[::-1] if self.swapped.get(id(node)) else node.inputs
        inner: list[tuple[int, Node]] = []
        for position, given in enumerate(inputs):
            if isinstance(given, Node) and id(given) not in self.places:
                self.kinds.append(_made(place, position, given))
                self.places[id(given)] = len(self.places)
                inner.append((self.places[id(given)], given))
            elif isinstance(given, Node):
                self.others.append(_same_op(place, position, self.places[id(given)]))
            elif isinstance(given, Capture):
                self.others.append(_captured(place, position, given.name))
            else:
                self.others.append(_absent(place, position) if given is None else _number(place, position, given))
        self.others += [_attribute(place, node, name, wanted) for name, wanted in node.attributes.items()]
        for at, each in inner:
            self.node(each, at)


def nodes(node: Node, seen: dict[int, Node]) -> dict[int, Node]:
    """Every op of a pattern, once."""
    if id(node) not in seen:
        seen[id(node)] = node
        for given in node.inputs:
            if isinstance(given, Node):
                nodes(given, seen)
    return seen


def alternatives(root: Node) -> Iterator[list[Step]]:
    """The steps for each order of the inputs of the operators that commute."""
    both = [i for i, n in nodes(root, {}).items() if traits(n.kind).commutative and n.inputs[0] is not n.inputs[1]]
    for orders in product((False, True), repeat=len(both)):
        compiler = _Compiler(dict(zip(both, orders, strict=True)))
        compiler.node(root, 0)
        yield [*compiler.kinds, *compiler.others]


def first_inner(root: Node) -> list[tuple[int, str]]:
    """Which inputs of the outermost op may be made by which kind: one of them is, in every match."""
    inner = [(position, given.kind) for position, given in enumerate(root.inputs) if isinstance(given, Node)]
    if not inner or not traits(root.kind).commutative:
        return inner[:1]
    kind = inner[0][1]
    return [(0, kind), (1, kind)]


class Template:
    """A pattern in the form in which it is looked for."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.alternatives = list(alternatives(root))

    def matches(self, op: Op, made_by: Mapping[Var, Op]) -> Iterator[Match]:
        """Yield each way in which the pattern fits an op; none if the op is not of its outermost kind."""
        if op.kind != self.root.kind or len(op.outputs) > 1 or len(op.inputs) > len(self.root.inputs):
            return
        if not self.root.fits(op):
            return
        for steps in self.alternatives:
            match = Match(made_by, [op])
            if all(step(match) for step in steps):
                yield match


def pattern_text(node: Any) -> str:
    """The pattern as it is written."""
    if isinstance(node, Node):
        named = (f"{name}={pattern_text(x)}" for name, x in node.attributes.items())
        return f"{node.kind}({', '.join([*map(pattern_text, node.inputs), *named])})"
    return node.name if isinstance(node, Capture) else repr(node)
