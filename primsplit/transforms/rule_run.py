"""Run a rule once, on fresh variables: what it and its pullback record is a Split.

A rule of an operator runs in a recording of its own: it sees none of the user's values, so its Split is kept for every
op of the same signature. A Split that introduces a size of data is not kept: two uses must not share that size's
symbol. The rule of a user's primitive runs where the primitive is called, and may capture values around the call.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from primsplit.ir import NOWHERE, Block, Const, Op, Value, free, is_call, live_ops
from primsplit.ir.caching.counters import Counters
from primsplit.ir.dims import Shape, same_shape
from primsplit.ir.errors import Place, RuleError
from primsplit.ir.parts import Split
from primsplit.rules.table import Rule
from primsplit.tracing import recording
from primsplit.tracing.array import Array
from primsplit.tracing.calls.recorded import open_inputs
from primsplit.tracing.trees import as_list


def run_rule(
    op: Op, rule: Rule, attributes: Mapping[str, Any], wrt: tuple[int, ...], of: tuple[int, ...], *, name: str
) -> Split:
    """Run a rule on fresh variables and its pullback on fresh cotangents; what they record is the Split."""
    Counters.rules += 1
    with recording(place=NOWHERE) as primal:
        params, inputs = open_inputs(op.inputs, primal, partial(is_parameter, op))
        outputs, pullback = rule(*inputs, **attributes)
        results = [r.value for r in as_list(outputs)]
        with recording(place=NOWHERE) as back:
            seeds = [back.param(results[i].type) for i in of]
            given = dict(zip(of, map(Array, seeds), strict=True))
            found = pullback(*map(given.get, range(len(results))))
            gradients = _checked(op, getattr(rule, "place", None) or op.place, as_list(found), inputs, wrt)
    targets = tuple(i for i in wrt if gradients[i] is not None)
    wanted = tuple(g for i in targets if (g := gradients[i]) is not None)
    ops = live_ops(back.ops, wanted)
    block = Block(f"{name}.pullback", (), tuple(ops), wanted)
    defined = {*params, *(v for inner in primal.ops for v in inner.outputs)}
    captures = tuple(v for v in free(block) if v in defined)
    whole = Block(name, tuple(params), tuple(live_ops(primal.ops, (*results, *captures))), tuple(results))
    pulled = Block(block.name, (*captures, *seeds), block.ops, wanted)
    return Split(whole, pulled, captures, wrt, targets, of)


def is_parameter(op: Op, value: Value) -> bool:
    """Whether an input is a parameter of the op's split; a small constant is part of the split."""
    return is_call(op) or not (isinstance(value, Const) and value.is_small)


def _checked(
    op: Op, place: Place | None, found: Sequence[Any], inputs: Sequence[Array | None], wrt: tuple[int, ...]
) -> list[Value | None]:
    """Return the cotangents that a pullback returned. Raises RuleError, at this place, if they do not fit the inputs.

    A rule may return an error in place of a cotangent, which is raised if that is needed.
    """
    name = op.kind.removeprefix("call::")
    if len(found) != len(inputs):
        raise RuleError(
            f"the rule of {name} returned {len(found)} cotangents for {len(inputs)} inputs",
            place=place,
            cure="A pullback returns one cotangent an input, None where there is no tangent.",
        )
    result: list[Value | None] = []
    asked = frozenset(wrt)
    for position, (cotangent, primal) in enumerate(zip(found, inputs, strict=True)):
        if position not in asked or cotangent is None or primal is None:
            result.append(None)
            continue
        if isinstance(cotangent, RuleError):
            raise cotangent
        if not isinstance(cotangent, Array):
            raise RuleError(f"the rule of {name} returned {type(cotangent).__name__} as a cotangent", place=place)
        if cotangent.dtype != primal.dtype or not _fits(cotangent.type.shape, primal.type.shape):
            raise RuleError(
                f"the rule of {name} returned a cotangent of type {cotangent.type} for input {position}, which is "
                f"{primal.type}",
                place=place,
                cure="A cotangent has its input's dtype and shape: ps.project_to(x)(dx) brings it to them.",
            )
        result.append(cotangent.value)
    return result


def _fits(cotangent: Shape | None, primal: Shape | None) -> bool:
    """Whether the shape equals the primal's; both may be unknown."""
    if cotangent is None or primal is None:
        return primal is None
    return same_shape(cotangent, primal)
