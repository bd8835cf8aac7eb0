"""Of which order of derivative an op is a part: its remark tells, and errors of higher orders are told with it."""

import re

from primsplit.errors import MissingRule, PrimsplitError, RuleError
from primsplit.ir import Op

_PART = re.compile(r"(?P<what>pullback|tangent) of (?P<kind>\S+)(?: \(order (?P<order>\d+)\))?")


def remark_of(what: str, op: Op) -> str:
    """The remark of an op in the `pullback` or `tangent` list of another: `pullback of Mul`, `... (order 2)`."""
    order = order_of(op.remark) + 1
    return f"{what} of {op.kind}" + (f" (order {order})" if order > 1 else "")


def order_of(remark: str) -> int:
    """The order of the derivative that an op with this remark is a part of; 0 for one of the function itself."""
    found = _PART.fullmatch(remark)
    return 0 if found is None else int(found["order"] or 1)


def tell_order(error: PrimsplitError, op: Op) -> None:
    """Add to what a refusal says, where the op that has no derivative is itself part of a derivative: of which."""
    found = _PART.fullmatch(op.remark)
    if found is None or not isinstance(error, MissingRule | RuleError) or any(_TOLD in b for b in error.because):
        return
    what, kind = found["what"], found["kind"].removeprefix("call::").removesuffix("__pullback")
    order = order_of(op.remark) + 1
    error.because = (f"{_TOLD} {order}: it is part of the {what} of {kind}", *error.because)
    if isinstance(error, MissingRule) and found["kind"].startswith("call::"):
        error.cure = f"Write the rule of {kind} with operators that have derivatives, or mark it first_order_only."


_TOLD = "its derivative is needed for one of order"
