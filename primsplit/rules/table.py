"""The table of derivative rules, and the forms in which a rule is written.

A rule is a function `inputs, attributes -> (outputs, pullback)`. What it records before it returns is the primal; what
`pullback` records, called with one cotangent an output, is the pullback. `split` runs each once per signature.

```
partials("Sin", lambda x, y: op.Cos(x))                    # dx = dy * cos(x)

@rrule("Softsign")
def softsign(x):                                           # dx = dy / (1 + |x|)**2
    return op.Softsign(x), lambda dy: dy / (1.0 + op.Abs(x)) / (1.0 + op.Abs(x))
```
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from primsplit.ir import Block, Op
from primsplit.ir.errors import RuleError
from primsplit.ir.parts import Split
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.ops.schema import check_kinds, schema
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_like

Pullback = Callable[..., Any]
Rule = Callable[..., tuple[Any, Pullback]]
Form = Literal["rule", "partials", "no_gradient", "through_body"]
Status = Literal[Form, "unsupported"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One operator's row in the table."""

    kind: str
    form: Form
    rule: Rule | None
    where: str


RULES: dict[str, Entry] = {}
FRULES: dict[str, "Forward"] = {}
SYMMETRIC: set[str] = set()
"""Operators with a symmetric Jacobian in their first input: there the pullback is the forward rule."""
UNSUPPORTED: dict[str, str] = {}


class Epoch:
    """A count of the changes to the table; a cached split is valid for the count at which it was computed."""

    count = 0


def _register(kind: str, form: Form, rule: Rule | None, code: Any) -> None:
    place = getattr(code, "__code__", None)
    where = "" if place is None else f"{place.co_filename}:{place.co_firstlineno}"
    RULES[kind] = Entry(kind, form, rule, where)
    Epoch.count += 1


def rrule(*kinds: str) -> Callable[[Rule], Rule]:
    """Register the reverse rule of these operators.

    The rule takes the operator's inputs in ONNX's order (None for an absent one) and its attributes, schema defaults
    included, by keyword. It returns the output (a tuple for several) and `pullback`, which takes one cotangent an
    output and returns one an input, None where there is no tangent. With several outputs, the cotangent of one that
    nobody used is None. Raises RuleError for a name that is no operator's, like every function here that registers.
    """
    check_kinds(*kinds)

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            _register(kind, "rule", rule, inspect.unwrap(rule))
        return rule

    return register


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward rule. `admits` says whether it applies to an op and to the inputs that have a tangent."""

    rule: Rule
    admits: Callable[[Op, tuple[int, ...]], bool]


def frule(*kinds: str, admits: Callable[[Op, tuple[int, ...]], bool] = lambda op, wrt: True) -> Callable[[Rule], Rule]:
    """Register a forward rule of these operators; it is used before the transposed pullback if it admits the op.

    The rule takes what a reverse rule takes. It returns the output (a tuple for several) and `pushforward`, which takes
    one tangent an input, None where there is none, and returns one an output, None for zero.
    """
    check_kinds(*kinds)

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            FRULES[kind] = Forward(rule, admits)
            Epoch.count += 1
        return rule

    return register


def symmetric(*kinds: str) -> None:
    """Register operators with a symmetric Jacobian in the first input, which has the shape of the output."""
    check_kinds(*kinds)
    SYMMETRIC.update(kinds)


Partial = Callable[..., Any] | float | None


def partials(kind: str, *functions: Partial) -> None:
    """Register an elementwise operator by its partial derivatives, one an input.

    Each is a function of the inputs and then the output (and the attributes that it names as keywords), or a number,
    or None for no tangent. Broadcasting is undone by `sum_to`.
    """
    check_kinds(kind)
    operator = getattr(later, kind)
    named = [_keywords(f) for f in functions]

    def rule(*inputs: Array, **attributes: Any) -> tuple[Array, Pullback]:
        z = operator(*inputs, **attributes)

        def pullback(dz: Array) -> list[Array | None]:
            return [
                None if f is None or x is None else _scaled(dz, f, (*inputs, z), _pick(attributes, names), x)
                for f, x, names in zip(functions, inputs, named, strict=False)
            ]

        return z, pullback

    _register(kind, "partials", rule, next((f for f in functions if callable(f)), rule))


def _keywords(function: Partial) -> frozenset[str]:
    if not callable(function):
        return frozenset()
    parameters = inspect.signature(function).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def _pick(attributes: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {k: v for k, v in attributes.items() if k in names}


def _scaled(dz: Array, partial: Partial, values: tuple[Array, ...], attributes: dict[str, Any], x: Array) -> Array:
    """Return the cotangent of the input `x`. A sum over stretched axes is negated rather than its terms."""
    factor = partial(*values, **attributes) if callable(partial) else partial
    if isinstance(factor, int | float) and factor == 1:
        return _unstretched(dz, values, x)
    if isinstance(factor, int | float) and factor == -1:
        return op.Neg(_unstretched(dz, values, x))
    return _unstretched(dz * factor, values, x)


def _unstretched(dz: Array, values: tuple[Array, ...], x: Array) -> Array:
    """Return the sum over the axes that broadcasting stretched: none if `x` is the only input."""
    return dz if len(values) == 2 else sum_like(dz, x)


@dataclass(frozen=True, slots=True)
class Site:
    """One op with sub-blocks, as its rule sees it.

    `outer` are the values that the sub-blocks in `attributes` capture. `wrt` are positions in `(*inputs, *outer)` of
    what is differentiated, `of` those of the outputs that have a cotangent. `split` splits a block.
    """

    op: Op
    attributes: Mapping[str, Any]
    inputs: tuple[Array | None, ...]
    outer: tuple[Array, ...]
    wrt: tuple[int, ...]
    of: tuple[int, ...]
    split: Callable[[Block, Sequence[int], Sequence[int]], Split]

    def input(self, position: int) -> Array:
        """Return an input that the operator requires. Raises RuleError if it is absent."""
        value = self.inputs[position]
        if value is None:
            raise RuleError(f"{self.op.kind} lacks its input {position}", place=self.op.place)
        return value


BlockRule = Callable[[Site], tuple[Any, Pullback]]
BLOCK_RULES: dict[str, BlockRule] = {}


def block_rule(kind: str) -> Callable[[BlockRule], BlockRule]:
    """Register the reverse rule of an operator with sub-blocks.

    It returns the outputs and `pullback`, which takes one cotangent an output and returns one for each input and then
    each captured value.
    """
    check_kinds(kind)

    def register(rule: BlockRule) -> BlockRule:
        BLOCK_RULES[kind] = rule
        Epoch.count += 1
        return rule

    return register


def no_gradient(*kinds: str) -> None:
    """Register operators whose outputs do not vary smoothly with their inputs: no tangent flows through them."""
    check_kinds(*kinds)
    for kind in kinds:
        _register(kind, "no_gradient", None, None)


def through_body(*kinds: str) -> None:
    """Register operators that are differentiated through the function body that the standard gives them."""
    check_kinds(*kinds)
    for kind in kinds:
        _register(kind, "through_body", None, None)


def unsupported(because: str, *kinds: str) -> None:
    """Register operators whose gradient is refused, with the reason."""
    check_kinds(*kinds)
    for kind in kinds:
        UNSUPPORTED[kind] = because


def status(kind: str) -> Status | None:
    """Return how an operator is differentiated; None for one that the table does not know."""
    entry = RULES.get(kind)
    if entry is not None:
        return entry.form
    if kind in BLOCK_RULES:
        return "rule"
    return "unsupported" if kind in UNSUPPORTED else None


def with_defaults(kind: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes, with the schema's defaults for those that are absent."""
    return {**schema(kind).defaults, **attributes}
