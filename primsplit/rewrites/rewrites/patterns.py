"""Rewrite ops by patterns: which ops to look for, when to leave them, and what to compute in their place.

    rewrite(lambda x: pattern.Abs(pattern.Neg(x)), None, lambda x: np.abs(x), exact="bit")

replaces `Abs(Neg(x))` by `Abs(x)`. A pattern is looked for where an op of its outermost kind is simplified, so that a
block without that kind costs nothing.
"""

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call, live_ops, same_types
from primsplit.ir.dims import could_be
from primsplit.ir.errors import RuleError
from primsplit.ops.schema import schema
from primsplit.ops.traits import traits
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.rewrites.table import REWRITES, Rewritten, Site, attribute, number
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.tracing import Recording
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import Epoch, check_kinds, check_takes, input_counts, is_own, module_of

Function = Callable[..., Any]
Exact = Literal["bit", "rounds"]


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """An op of this kind in a pattern. One that stands in two places of a pattern is the same op there."""

    kind: str
    inputs: tuple[Any, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Capture:
    """Any value, or any value of an attribute, in a pattern; the same one wherever it stands."""

    name: str


class Patterns:
    """The namespace `pattern`: `pattern.Add(x, 1.0)` is an Add of any value and a constant that is 1.0 everywhere.

    Inputs are captures, patterns, numbers, or None for one that is left out; attributes are values or captures, and an
    attribute that is not named may be anything. `pattern["call::square"]` is a call of a traced function of that name.
    The inputs of operators that commute match in either order. Raises RuleError for a name that is no operator's.
    """

    def __getattr__(self, kind: str) -> Function:
        if kind.startswith("__"):
            raise AttributeError(kind)
        return self[kind]

    def __getitem__(self, kind: str) -> Function:
        if not kind.startswith("call::"):
            check_kinds(kind)

        def node(*inputs: Any, **attributes: Any) -> Node:
            return Node(kind, inputs, attributes)

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


Step = Callable[[Match], bool]
"""Looks at one thing that a pattern says; False where the ops are others."""


def _made(op: int, position: int, kind: str, most: int) -> Step:
    def step(match: Match) -> bool:
        value = match.input(op, position)
        made = match.made_by.get(value) if isinstance(value, Var) else None
        if made is None or made.kind != kind or made.outputs[0] is not value or len(made.inputs) > most:
            return False
        match.ops.append(made)
        return True

    return step


def _same_op(op: int, position: int, other: int) -> Step:
    return lambda match: match.input(op, position) is match.ops[other].outputs[0]


def _captured(op: int, position: int, name: str) -> Step:
    def step(match: Match) -> bool:
        value = match.input(op, position)
        return value is not None and _are_same(match.captured.setdefault(name, value), value)

    return step


def _are_same(a: Value, b: Value) -> bool:
    """Whether two values are one, or constants of the same bits."""
    if a is b:
        return True
    return isinstance(a, Const) and isinstance(b, Const) and a.is_small and b.is_small and a.key == b.key


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


def _attribute(op: int, name: str, wanted: Any) -> Step:
    def step(match: Match) -> bool:
        found = attribute(match.ops[op], name)
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
                self.kinds.append(_made(place, position, given.kind, len(given.inputs)))
                self.places[id(given)] = len(self.places)
                inner.append((self.places[id(given)], given))
            elif isinstance(given, Node):
                self.others.append(_same_op(place, position, self.places[id(given)]))
            elif isinstance(given, Capture):
                self.others.append(_captured(place, position, given.name))
            else:
                self.others.append(_absent(place, position) if given is None else _number(place, position, given))
        self.others += [_attribute(place, name, wanted) for name, wanted in node.attributes.items()]
        for at, each in inner:
            self.node(each, at)


def _nodes(node: Node, seen: dict[int, Node]) -> dict[int, Node]:
    """Every op of a pattern, once."""
    if id(node) not in seen:
        seen[id(node)] = node
        for given in node.inputs:
            if isinstance(given, Node):
                _nodes(given, seen)
    return seen


def _alternatives(root: Node) -> Iterator[list[Step]]:
    """The steps for each order of the inputs of the operators that commute."""
    both = [i for i, n in _nodes(root, {}).items() if traits(n.kind).commutative and n.inputs[0] is not n.inputs[1]]
    for orders in product((False, True), repeat=len(both)):
        compiler = _Compiler(dict(zip(both, orders, strict=True)))
        compiler.node(root, 0)
        yield [*compiler.kinds, *compiler.others]


def _first(root: Node) -> list[tuple[int, str]]:
    """Which inputs of the outermost op may be made by which kind: one of them is, in every match."""
    inner = [(position, given.kind) for position, given in enumerate(root.inputs) if isinstance(given, Node)]
    if not inner or not traits(root.kind).commutative:
        return inner[:1]
    kind = inner[0][1]
    return [(0, kind), (1, kind)]


class _Thread(threading.local):
    def __init__(self) -> None:
        self.placing: set[int] = set()


_thread = _Thread()
"""The rewrites whose ops are being placed: none is applied to what it builds itself."""


class Rewrite:
    """A pattern that is registered: see `rewrite`. `remove()` takes it out of the table."""

    def __init__(self, root: Node, names: Sequence[str], check: Function | None, build: Function, exact: Exact) -> None:
        self.root = root
        self.names = names
        self.check = check
        self.build = build
        self.exact = exact
        self.alternatives = list(_alternatives(root))
        self.first = _first(root)

    def depends_on(self) -> tuple[Any, ...]:
        """Return what decides its behaviour."""
        return str(_text(self.root)), self.check, self.build, self.exact

    def __repr__(self) -> str:
        return f"Rewrite {_text(self.root)}"

    def __call__(self, site: Site) -> Rewritten:
        """Return what takes the place of an op that the pattern fits, None where it fits none or is refused."""
        made_by, inputs = site.made_by, site.op.inputs
        for position, kind in self.first:
            value = inputs[position] if position < len(inputs) else None
            made = made_by.get(value) if isinstance(value, Var) else None
            if made is not None and made.kind == kind:
                break
        else:
            if self.first:
                return None
        for match in self.matches(site.op, made_by):
            with self.recorded(site.op, match) as around:
                arguments = self.arguments(match)
                if self.refusal(site.op, arguments) is not None:
                    continue
                value = as_array(self.build(*arguments)).value
            return self.placed(site, value, around)
        return None

    def matches(self, op: Op, made_by: Mapping[Var, Op]) -> Iterator[Match]:
        """Yield each way in which the pattern fits an op of its outermost kind."""
        if len(op.outputs) > 1 or len(op.inputs) > len(self.root.inputs) or id(self) in _thread.placing:
            return
        for steps in self.alternatives:
            match = Match(made_by, [op])
            if all(step(match) for step in steps):
                yield match

    @contextmanager
    def recorded(self, op: Op, match: Match) -> Iterator[Recording]:
        """Record beside an op, where the sizes of the captured values are known."""
        with recorded_beside(op) as around:
            for value in match.captured.values():
                if isinstance(value, Var):
                    around.learn(value)
            yield around

    def arguments(self, match: Match) -> list[Any]:
        """Return the captures in the pattern's order, values as arrays and attributes as they are."""
        found = (match.captured[name] for name in self.names)
        return [Array(x) if isinstance(x, Value) else x for x in found]

    def refusal(self, op: Op, arguments: Sequence[Any]) -> str | None:
        """Return why `check` leaves the ops as they are, None where it does not."""
        found = None if self.check is None else self.check(*arguments)
        if found is not None and not isinstance(found, str):
            raise RuleError(
                f"the check of {self!r} returned {type(found).__name__}",
                place=op.place,
                cure="It returns None to go on, or a text that says why not.",
            )
        return found

    def placed(self, site: Site, value: Value, around: Recording) -> Rewritten:
        """Return the replacement of the op by a recorded value; the ops that compute the value come before."""
        if not same_types(value.type, site.type):
            self._check_type(site, value)
            return None
        ops = list(around.ops if len(around.ops) < 2 else live_ops(around.ops, [value]))
        if any(map(is_call, ops)):  # functions of NumPy that have a rule of their own
            whole = inline_calls(Block("built", (), tuple(ops), (value,)))
            ops, value = list(whole.ops), whole.results[0]
        if not ops or value not in ops[-1].outputs:
            return value
        last = ops.pop() if len(ops[-1].outputs) == 1 else None
        _thread.placing.add(id(self))
        try:
            for op in ops:
                site.add(site.op.beside(op.kind, op.inputs, op.outputs, op.attributes))
        finally:
            _thread.placing.discard(id(self))
        return value if last is None else site.becomes(last.kind, last.inputs, last.attributes)

    def _check_type(self, site: Site, value: Value) -> None:
        """Raise RuleError for a value whose type is surely another than that of what it stands for."""
        a, b = value.type, site.type
        if a.dtype == b.dtype and (
            a.shape is None or b.shape is None or (a.rank == b.rank and all(map(could_be, a.shape, b.shape)))
        ):
            return
        raise RuleError(f"{self!r} builds {a} in the place of {b}", place=site.op.place)

    def remove(self) -> None:
        """Take the rewrite out of the table."""
        key = next((k for k, found in PATTERNS.items() if found is self), None)
        if key is not None:
            del PATTERNS[key]
            REWRITES[self.root.kind].remove(self)
            Epoch.count += 1


PATTERNS: dict[tuple[str, str, int], Rewrite] = {}
"""The rewrites by module, name and line of their patterns: one that is registered again takes its own place."""


def rewrite(wanted: Function, check: Function | None, build: Function, *, exact: Exact) -> Rewrite:
    """Register a local rewrite: ops that a pattern fits are replaced by what `build` computes.

    `wanted` takes captures, and returns a pattern of them (see `Patterns`). `check` and `build` take what was captured,
    in that order: values as arrays, whose dtype, shape and `known()` elements may be asked for, and attributes as they
    are. `check` returns None, or a text that says why the ops stay as they are; None in its place admits all. `build`
    returns one array of the same dtype and shape; where its size is not surely the same, the ops stay. Ops that
    something else reads stay beside. `exact` is "bit" where the results are the same to the bit for all inputs, NaN,
    infinities and -0.0 among them, and "rounds" where they differ by rounding: `testing.check_rewrite` tries that.

    The rewrite is applied where a program is simplified: when a file or a session is made of a function, a derivative
    or a model. Derivatives are taken before, of the program as it is written. Raises RuleError for an unknown operator,
    for another number of inputs than it has, and for functions of other arguments.

    >>> from primsplit.extend import pattern
    >>> logarithm = extend.rewrite(lambda x: pattern.Log(pattern.Exp(x)), None, lambda x: x, exact="rounds")
    >>> model = ps.trace(lambda x: np.log(np.exp(x)) * 2.0, ps.spec("float64", [3])).to_onnx()
    >>> [node.op_type for node in model.graph.node]
    ['Mul']
    >>> logarithm.remove()
    """
    names = list(inspect.signature(wanted).parameters)
    root = wanted(**{name: Capture(name) for name in names})
    _check(root, names)
    if exact not in ("bit", "rounds"):
        raise RuleError(f'exact is "bit" or "rounds", not {exact!r}', place=user_place())
    for function, what in ((check, "check"), (build, "build")):
        if function is not None:
            told = f"the {what} of a rewrite of {_text(root)}"
            check_takes(function, told, [len(names)], cure=f"It takes the captures {', '.join(names)}.")
    made = Rewrite(root, names, check, build, exact)
    if not is_own(wanted):
        check_against_standard(made)
        Epoch.count += 1
    code = inspect.unwrap(wanted).__code__
    key = module_of(wanted), code.co_qualname, code.co_firstlineno
    if key in PATTERNS:
        PATTERNS[key].remove()
    PATTERNS[key] = made
    REWRITES.setdefault(root.kind, []).append(made)
    return made


def _check(root: Any, names: Sequence[str]) -> None:
    """Raise RuleError for what is no pattern, and for ops of other numbers of inputs or attributes than there are."""
    if not isinstance(root, Node):
        raise RuleError("the pattern of a rewrite is no op", place=user_place(), cure="Return pattern.Kind(...).")
    captured: set[str] = set()
    for node in _nodes(root, {}).values():
        given = [*node.inputs, *node.attributes.values()]
        captured.update(x.name for x in given if isinstance(x, Capture))
        if wrong := [x for x in node.inputs if not isinstance(x, Node | Capture | int | float | None)]:
            told = f"an input of {node.kind} in a pattern is a {type(wrong[0]).__name__}"
            raise RuleError(told, place=user_place(), cure="It is a capture, a pattern, a number or None.")
    if missing := [name for name in names if name not in captured]:
        raise RuleError(f"the pattern of a rewrite does not hold its capture {missing[0]}", place=user_place())


def check_against_standard(rewrite: Rewrite) -> None:
    """Raise RuleError where an op of the pattern has other inputs or attributes than the standard admits."""
    for node in _nodes(rewrite.root, {}).values():
        if node.kind.startswith("call::"):
            continue
        if len(node.inputs) not in input_counts(node.kind):
            takes = ", ".join(name for name, _ in schema(node.kind).inputs)
            raise RuleError(f"{node.kind} takes {takes}, and a pattern gives it {len(node.inputs)}", place=user_place())
        if unknown := set(node.attributes) - schema(node.kind).attributes:
            raise RuleError(f"{node.kind} has no attribute {min(unknown)}", place=user_place())


def _text(node: Any) -> str:
    """The pattern as it is written."""
    if isinstance(node, Node):
        named = (f"{name}={_text(x)}" for name, x in node.attributes.items())
        return f"{node.kind}({', '.join([*map(_text, node.inputs), *named])})"
    return node.name if isinstance(node, Capture) else repr(node)
