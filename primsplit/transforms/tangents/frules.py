"""`frule`: set a user's forward rule of a primitive or an operator."""

from collections.abc import Callable, Sequence

from primsplit import tracing
from primsplit.ir import Block, free
from primsplit.ir.errors import RuleError
from primsplit.rules import table
from primsplit.tracing.array import Array
from primsplit.tracing.calls.flat_rules import FlatForward
from primsplit.tracing.calls.primitive import Function, Primitive, check_primitive, check_rule
from primsplit.tracing.calls.staging import Staged
from primsplit.tracing.registering import NAMED
from primsplit.transforms.tangents.transposition import transpose


def frule(target: Primitive | str, *, staged: bool = False, replace: bool = False) -> Callable[[Function], Function]:
    """Give a primitive, or an operator by its name, its forward rule.

    The rule takes the primitive's arguments and returns its output and `pushforward`, a function from one tangent an
    argument (in the argument's structure, None where there is none) to the output's tangent, None for zero. A primitive
    without a reverse rule is differentiated in reverse by transposing this one; an operator's forward rule takes
    precedence over the one that its pullback implies. With `staged`, for primitives alone, what is decorated is a
    builder of the rule: see `rrule`. Raises RuleError for a target that is neither, for a rule of other
    arguments, for an operator's staged rule, and, unless `replace` is True, if another module has registered one.

    >>> @ps.primitive
    ... def cubed(x):
    ...     return x**3
    >>> @ps.frule(cubed)
    ... def forward(x):
    ...     return cubed(x), lambda tx: 3.0 * x**2 * tx
    >>> float(ps.jvp(cubed, (2.0,), (1.0,))[1]), float(ps.grad(cubed)(2.0))
    (12.0, 12.0)
    """
    target = NAMED.get(target, target) if isinstance(target, str) else target
    if isinstance(target, str):
        if staged:
            raise RuleError(f"the forward rule of {target} cannot be staged", cure="Give it as it is: ps.frule(kind).")
        return table.frule(target, replace=replace)
    check_primitive(target, "frule")

    def register(rule: Function) -> Function:
        check_rule(target, target.frule, rule, "forward rule", replace=replace)
        target.frule = Staged(rule) if staged else rule
        target.transposed = _reverse
        target.ruled()
        return rule

    return register


def _reverse(forward: FlatForward) -> Function:
    """Return the reverse rule of flat inputs that follows from a forward rule."""

    def rule(*inputs: Array) -> tuple[tuple[Array, ...], Function]:
        outputs, pushforward = forward(*inputs)
        count = forward.positional
        chosen = [i for i, x in enumerate(inputs[:count]) if x.type.is_float]
        named = [forward.by_keyword("tangent")] * (len(inputs) - count)

        def pullback(*cotangents: Array | None) -> list[Array | RuleError | None]:
            found = _transposed(forward.primitive.name, inputs, chosen, pushforward, outputs, cotangents)
            return [*found[:count], *named]

        return outputs, pullback

    rule.__name__ = f"{forward.__name__}_transposed"
    return rule


def _transposed(
    name: str,
    inputs: Sequence[Array],
    chosen: Sequence[int],
    pushforward: Function,
    outputs: Sequence[Array],
    cotangents: Sequence[Array | None],
) -> list[Array | None]:
    """Return the cotangents of the inputs: the transposed tangent list, at these cotangents."""
    with tracing.recording() as inner:
        seeds = {i: inner.param(inputs[i].type) for i in chosen}
        given = [Array(seeds[i]) if i in seeds else None for i in range(len(inputs))]
        tangents = pushforward(*given)
        used = [i for i, c in enumerate(cotangents) if c is not None and tangents[i] is not None]
        results = tuple(tangents[i].value for i in used)
    linear = Block(name, (), tuple(inner.ops), results)
    captures = tuple(v for v in free(linear) if v not in seeds.values())
    linear = Block(name, (*captures, *seeds.values()), linear.ops, results)
    stand_ins = [inputs[i].value for i in chosen]
    at_hand = [x.value for x in (*inputs, *outputs)]
    back = transpose(linear, len(seeds), stand_ins, at_hand, f"the pushforward of {name}")
    arrived = [c.value for i in used if (c := cotangents[i]) is not None]
    found = Block(name, (*captures, *back.seeds), back.ops, tuple(back.results.values()))
    values = tracing.inline(found, [*captures, *arrived])
    gradients: list[Array | None] = [None] * len(inputs)
    for position, value in zip(back.results, values, strict=True):
        gradients[chosen[position]] = Array(value)
    return gradients
