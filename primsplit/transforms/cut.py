"""Warn once, at the user's line, of a derivative that is 0 because only comparisons or roundings lead to the result."""

from collections.abc import Sequence
from dataclasses import replace

from primsplit import tracing
from primsplit.ir import Block, Op, is_call
from primsplit.ir.errors import Place, ZeroGradientWarning, warn_at
from primsplit.tracing.array import Array
from primsplit.tracing.hooks import HOOKS
from primsplit.transforms.elements import TAKING, in_elements
from primsplit.transforms.smoothness import cut_inputs

SHOWN = 3
"""The most operators without a slope that are named."""


def report_cut(block: Block, wrt: Sequence[int], of: Sequence[int], inputs: Sequence[Array] = ()) -> None:
    """Warn of each parameter in `wrt` that acts on the results in `of`, but never smoothly: its derivative is 0.

    `inputs` are the values of the parameters, which may have names.
    """
    found = _cut(block, wrt, of)
    takes_elements = not TAKING.isdisjoint(block.kinds)
    for position in wrt:
        name = block.params[position].hint or (inputs[position].value.hint if inputs else "")
        if position in found:
            _warn(name, found[position])
        elif takes_elements and (apart := in_elements(block, position)) is not None:
            of_elements, names = apart
            for element, ops in _cut(of_elements, list(names), of).items():
                _warn(f"{name or 'x'}{names[element]}", ops)


def _cut(block: Block, wrt: Sequence[int], of: Sequence[int]) -> dict[int, list[Op]]:
    found = cut_inputs(HOOKS.with_straight_through(block), wrt, of)
    if found and any(map(_is_plain_call, block.ops)):
        found = cut_inputs(_through_calls(block), list(found), of)
    return found


def _warn(name: str, ops: Sequence[Op]) -> None:
    place = next((op.place for op in ops if _is_users(op.place)), None) or tracing.user_place()
    if place is not None:
        warn_at(place, _told(name, ops), ZeroGradientWarning)


def _through_calls(block: Block) -> Block:
    """Return the block with the derivatives of quantized numbers, in the bodies of its calls too.

    A body gets them only when it is differentiated: `com.microsoft::DynamicQuantizeMatMul` is such a call.
    """
    made = HOOKS.with_straight_through(block)
    return replace(made, ops=tuple(_through_call(op) if _is_plain_call(op) else op for op in made.ops))


def _through_call(op: Op) -> Op:
    return replace(op, attributes={**op.attributes, "body": _through_calls(op.attributes["body"])})


def _is_plain_call(op: Op) -> bool:
    """Whether the op is a call whose derivative is that of its body."""
    return is_call(op) and "rule" not in op.attributes


def _is_users(place: Place | None) -> bool:
    return place is not None and bool(place.filename) and tracing.is_users_own(place.filename)


def _told(name: str, ops: Sequence[Op]) -> str:
    kinds = list(dict.fromkeys(op.kind.removeprefix("call::") for op in ops))
    listed = " and ".join(kinds[:SHOWN]) + (f" and {len(kinds) - SHOWN} more" if len(kinds) > SHOWN else "")
    nodes = (op.place for op in ops if op.place is not None and op.place.filename.endswith(".onnx"))
    where = next((f", at {place}" for place in nodes), "")
    called = name or "an argument"
    return (
        f"the derivative by {called} is 0: {called} acts on the result through {listed} alone, which "
        f"{'has' if len(kinds) == 1 else 'have'} no slope{where}. "
        f"Where that is meant, read ps.stop_gradient({name or 'x'}) instead."
    )
