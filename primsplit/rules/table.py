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
from primsplit.ops.schema import schema
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_like
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import (
    Epoch,
    check_kinds,
    check_takes,
    check_takes_inputs,
    claim,
    input_counts,
    is_own,
    module_of,
)

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
    owner: str = ""


RULES: dict[str, Entry] = {}
FRULES: dict[str, "Forward"] = {}
SYMMETRIC: set[str] = set()
"""Operators with a symmetric Jacobian in their first input: there the pullback is the forward rule."""
UNSUPPORTED: dict[str, str] = {}


def _register(kind: str, form: Form, rule: Rule | None, code: Any, *, replace: bool) -> None:
    place = getattr(code, "__code__", None)
    where = "" if place is None else f"{place.co_filename}:{place.co_firstlineno}"
    owner, known = module_of(rule), RULES.get(kind)
    claim("rule", kind, None if known is None else known.owner, owner, replace=replace)
    RULES[kind] = Entry(kind, form, rule, where, owner)


def rrule(*kinds: str, replace: bool = False) -> Callable[[Rule], Rule]:
    """Register the reverse rule of these operators.

    The rule takes the operator's inputs in ONNX's order (None for an absent one) and its attributes, schema defaults
    included, by keyword. It returns the output (a tuple for several) and `pullback`, which takes one cotangent an
    output and returns one an input, None where there is no tangent. With several outputs, the cotangent of one that
    nobody used is None. Raises RuleError for a name that is no operator's, like every function here that registers, for
    a rule of other arguments, and for an operator that has a rule of another module, unless `replace` is True.
    """
    check_kinds(*kinds)

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            check_takes_inputs(kind, rule, "rule")
            _register(kind, "rule", rule, inspect.unwrap(rule), replace=replace)
        return rule

    return register


@dataclass(frozen=True, slots=True)
class Forward:
    """A forward rule. `admits` says whether it applies to an op and to the inputs that have a tangent."""

    rule: Rule
    admits: Callable[[Op, tuple[int, ...]], bool]


def frule(
    *kinds: str, admits: Callable[[Op, tuple[int, ...]], bool] = lambda op, wrt: True, replace: bool = False
) -> Callable[[Rule], Rule]:
    """Register a forward rule of these operators; it is used before the transposed pullback if it admits the op.

    The rule takes what a reverse rule takes. It returns the output (a tuple for several) and `pushforward`, which takes
    one tangent an input, None where there is none, and returns one an output, None for zero. Raises what `rrule` does.
    """
    check_kinds(*kinds)

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            check_takes_inputs(kind, rule, "forward rule")
            known = FRULES.get(kind)
            was = None if known is None else module_of(known.rule)
            claim("forward rule", kind, was, module_of(rule), replace=replace)
            FRULES[kind] = Forward(rule, admits)
        return rule

    return register


def symmetric(*kinds: str) -> None:
    """Register operators with a symmetric Jacobian in the first input, which has the shape of the output."""
    check_kinds(*kinds)
    SYMMETRIC.update(kinds)


Partial = Callable[..., Any] | float | None


def partials(kind: str, *functions: Partial, replace: bool = False) -> None:
    """Register the rule of an elementwise operator by its partial derivatives, one an input.

    Each is a function of the inputs and then the output (and the attributes that it names as keywords), or a number,
    or None for no tangent. They may be of any dtype and shape that the inputs have: cotangents are summed over the axes
    along which an input was broadcast. Raises RuleError for a name that is no operator's, for another number of
    functions than it has inputs, for a function of other arguments, and for an operator that has a rule of another
    module, unless `replace` is True.

    >>> extend.partials("Softsign", lambda x, y: 1.0 / (1.0 + np.abs(x)) ** 2, replace=True)
    >>> float(ps.grad(lambda x: x / (1.0 + np.abs(x)))(1.0))
    0.25
    """
    check_kinds(kind)
    _check_partials(kind, functions)
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

    code = next((f for f in functions if callable(f)), None)
    rule.__module__ = module_of(code)
    code = code or rule
    _register(kind, "partials", rule, code, replace=replace)


def _check_partials(kind: str, functions: Sequence[Partial], *, is_checked: bool = False) -> None:
    """Raise RuleError where there is not one for each input, or one takes other arguments."""
    if not is_checked and functions and all(is_own(f) for f in functions if callable(f)):
        return
    if len(functions) not in input_counts(kind):
        names = ", ".join(name for name, _ in schema(kind).inputs)
        told = f"{kind} has the inputs {names}, and {len(functions)} partial derivatives"
        raise RuleError(told, place=user_place(), cure="Give one an input, None where there is no tangent.")
    cure = f"It takes {len(functions)} inputs and then the output."
    for position, function in enumerate(functions):
        if callable(function):
            named, what = _keywords(function), f"partial derivative {position} of {kind}"
            check_takes(function, what, [len(functions) + 1], named, cure=cure, is_checked=is_checked)


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


def no_gradient(*kinds: str, replace: bool = False) -> None:
    """Register operators whose outputs do not vary smoothly with their inputs: no tangent flows through them."""
    check_kinds(*kinds)
    for kind in kinds:
        _register(kind, "no_gradient", None, None, replace=replace)


def through_body(*kinds: str, replace: bool = False) -> None:
    """Register operators that are differentiated through the function body that the standard gives them."""
    check_kinds(*kinds)
    for kind in kinds:
        _register(kind, "through_body", None, None, replace=replace)


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
