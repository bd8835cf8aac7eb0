"""Of which order of derivative an op is a part: its remark tells, and errors of higher orders are told with it."""

import re
from collections.abc import Sequence

from primsplit.errors import MissingRule, PrimsplitError, RuleError
from primsplit.ir import Block, Op, live_ops

_PART = re.compile(r"(?P<what>pullback|tangent) of (?P<kind>\S+)(?: \(order (?P<order>\d{1,9})\))?")


SUMMED = "pullback of several"
"""The remark of an op that adds up the cotangents of a value that several ops read."""


def remark_of(what: str, op: Op) -> str:
    """The remark of an op in the `pullback` or `tangent` list of another: `pullback of Mul`, `... (order 2)`."""
    order = order_of(op.remark) + 1
    return f"{what} of {op.kind}" + (f" (order {order})" if order > 1 else "")


def order_of(remark: str) -> int:
    """The order of the derivative that an op with this remark is a part of; 0 for one of the function itself."""
    found = _PART.fullmatch(remark)
    return 0 if found is None else int(found["order"] or 1)


def derivatives_of(block: Block) -> tuple[int, ...]:
    """The positions of the results that ops of derivatives make."""
    made = {v for op in block.ops if order_of(op.remark) for v in op.outputs}
    return tuple(i for i, r in enumerate(block.results) if r in made)


def ops_of_values(block: Block, derivatives: Sequence[int]) -> list[Op]:
    """The ops that results need which are no derivatives, by position; where all are, those of the function itself."""
    if len(derivatives) == len(block.results):
        return [op for op in block.ops if not order_of(op.remark)]
    return live_ops(block.ops, (r for i, r in enumerate(block.results) if i not in derivatives))


def tell_order(error: PrimsplitError, op: Op) -> None:
    """Add to what a refusal says, where the op that has no derivative is itself part of a derivative: of which."""
    found = _PART.fullmatch(op.remark)
    if found is None or not isinstance(error, MissingRule | RuleError) or any(_TOLD in b for b in error.because):
        return
    what, kind = found["what"], found["kind"].removeprefix("call::").removesuffix("__pullback")
    order = order_of(op.remark) + 1
    error.because = (f"{_TOLD} {order}: it is part of the {what} of {kind}", *error.because)
    if isinstance(error, MissingRule) and found["kind"].startswith("call::"):
        error.cures = (f"Write the rule of {kind} with operators that have derivatives, or mark it first_order_only.",)


_TOLD = "its derivative is needed for one of order"
