"""Rewrite ops by patterns: which ops to look for, when to leave them, and what to compute in their place.

    rewrite(lambda x: pattern.Abs(pattern.Neg(x)), None, lambda x: np.abs(x), exact="bit")

replaces `Abs(Neg(x))` by `Abs(x)`. A pattern is looked for where an op of its outermost kind is simplified, so that a
block without that kind costs nothing.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from primsplit.ir import Block, Op, Value, Var, is_call, live_ops, same_types
from primsplit.ir.dims import could_be
from primsplit.ir.errors import RuleError
from primsplit.ir.scoped import Scoped
from primsplit.ops.schema import schema
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.rewrites.matching import (
    Capture,
    Match,
    Node,
    Template,
    first_inner,
    nodes,
    pattern_text,
)
from primsplit.rewrites.rewrites.table import REWRITES, Rewritten, Site
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.tracing import Recording
from primsplit.tracing.asarray import as_array
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import Epoch, check_takes, input_counts, is_own, module_of

Function = Callable[..., Any]
Exact = Literal["bit", "rounds"]


_placing = Scoped[frozenset[int]](frozenset)
"""The rewrites whose ops are being placed: none is applied to what it builds itself."""


class Rewrite:
    """A pattern that is registered: see `rewrite`. `remove()` takes it out of the table."""

    def __init__(self, root: Node, names: Sequence[str], check: Function | None, build: Function, exact: Exact) -> None:
        self.root = root
        self.names = names
        self.check = check
        self.build = build
        self.exact = exact
        self.template = Template(root)
        self.first = first_inner(root)

    def depends_on(self) -> tuple[Any, ...]:
        """Return the parts that decide what the rewrite does: its pattern, its functions, and whether it is exact."""
        return str(pattern_text(self.root)), self.check, self.build, self.exact

    def __repr__(self) -> str:
        return f"Rewrite {pattern_text(self.root)}"

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
                arguments = match.arguments(self.names)
                if self.refusal(site.op, arguments) is not None:
                    continue
                value = as_array(self.build(*arguments)).value
            return self.placed(site, value, around)
        return None

    def matches(self, op: Op, made_by: Mapping[Var, Op]) -> Iterator[Match]:
        """Yield each way in which the pattern fits an op of its outermost kind."""
        return iter(()) if id(self) in _placing.value else self.template.matches(op, made_by)

    @contextmanager
    def recorded(self, op: Op, match: Match) -> Iterator[Recording]:
        """Record beside an op, where the sizes of the captured values are known."""
        with recorded_beside(op) as around:
            for value in match.captured.values():
                if isinstance(value, Var):
                    around.learn(value)
            yield around

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
        with _placing.set_to(_placing.value | {id(self)}):
            for op in ops:
                site.add(site.op.beside(op.kind, op.inputs, op.outputs, op.attributes))
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
            told = f"the {what} of a rewrite of {pattern_text(root)}"
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
    for node in nodes(root, {}).values():
        given = [*node.inputs, *node.attributes.values()]
        captured.update(x.name for x in given if isinstance(x, Capture))
        if wrong := [x for x in node.inputs if not isinstance(x, Node | Capture | int | float | None)]:
            told = f"an input of {node.kind} in a pattern is a {type(wrong[0]).__name__}"
            raise RuleError(told, place=user_place(), cure="It is a capture, a pattern, a number or None.")
    if missing := [name for name in names if name not in captured]:
        raise RuleError(f"the pattern of a rewrite does not hold its capture {missing[0]}", place=user_place())


def check_against_standard(rewrite: Rewrite) -> None:
    """Raise RuleError where an op of the pattern has other inputs or attributes than the standard admits."""
    for node in nodes(rewrite.root, {}).values():
        if node.kind.startswith("call::"):
            continue
        if len(node.inputs) not in input_counts(node.kind):
            takes = ", ".join(name for name, _ in schema(node.kind).inputs)
            raise RuleError(f"{node.kind} takes {takes}, and a pattern gives it {len(node.inputs)}", place=user_place())
        if unknown := set(node.attributes) - schema(node.kind).attributes:
            raise RuleError(f"{node.kind} has no attribute {min(unknown)}", place=user_place())
