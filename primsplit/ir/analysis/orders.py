"""Record on an op what it is part of: a pullback or tangent and its order, or a recomputation.

An `Origin` is that fact together with the text that listings show. A remark that comes from a file is text alone:
whatever it says, the file is compiled as if it said nothing.
"""

from collections.abc import Sequence
from typing import Literal

from primsplit.ir import Block, Op, live_ops
from primsplit.ir.errors import MissingRule, PrimsplitError, RuleError

Role = Literal["pullback", "tangent", "computed again", "of an Imputer", "another way"]


class Origin(str):
    """The remark of an op that is part of a larger thing; `kind` is the op whose pullback or tangent it belongs to."""

    __slots__ = ("kind", "order", "role")
    role: Role
    kind: str
    order: int

    def __new__(cls, text: str, role: Role, kind: str = "", order: int = 0) -> "Origin":
        """Return the text with these facts; `order` is that of the derivative, 0 for what is no derivative."""
        origin = super().__new__(cls, text)
        origin.role, origin.kind, origin.order = role, kind, order
        return origin

    def __reduce__(self) -> tuple[type["Origin"], tuple[str, Role, str, int]]:
        return Origin, (str(self), self.role, self.kind, self.order)


SUMMED = Origin("pullback of several", "pullback", "several", 1)
"""The remark of an op that adds up the cotangents of a value that several ops read."""
AGAIN = Origin("computed again", "computed again")
"""The remark of an op that recomputes, for the pullback, a value that the forward pass did not keep."""
OF_IMPUTER = Origin("of an Imputer", "of an Imputer")
"""The remark of an op in the definition of an Imputer."""
OTHER_WAY = Origin(
    "raises BranchError: a branch goes another way than for the arrays that this was recorded for", "another way"
)
"""The remark of the failing op of a path that was not recorded."""


def role_of(remark: str) -> Role | None:
    """Return the role that an op with this remark has; None for a remark that is plain text."""
    return remark.role if isinstance(remark, Origin) else None


def remark_of(what: Literal["pullback", "tangent"], op: Op) -> Origin:
    """Return the remark of an op in the `pullback` or `tangent` of another: `pullback of Mul`, `... (order 2)`."""
    order = order_of(op.remark) + 1
    return Origin(f"{what} of {op.kind}" + (f" (order {order})" if order > 1 else ""), what, op.kind, order)


def order_of(remark: str) -> int:
    """Return the order of the derivative that an op with this remark is part of; 0 for an op of the function itself."""
    return remark.order if isinstance(remark, Origin) else 0


def derivatives_of(block: Block) -> tuple[int, ...]:
    """Return the positions of the results that ops of derivatives compute."""
    derived = {v for op in block.ops if order_of(op.remark) for v in op.outputs}
    return tuple(i for i, r in enumerate(block.results) if r in derived)


def ops_of_values(block: Block, derivatives: Sequence[int]) -> list[Op]:
    """Return the ops that the results which are no derivatives need; if all are derivatives, the function's own ops."""
    if len(derivatives) == len(block.results):
        return [op for op in block.ops if not order_of(op.remark)]
    return live_ops(block.ops, (r for i, r in enumerate(block.results) if i not in derivatives))


def tell_order(error: PrimsplitError, op: Op) -> None:
    """Add the order of the derivative to an error, where the op without a rule is itself part of a derivative."""
    part = op.remark
    if not isinstance(part, Origin) or not part.order or any(_TOLD in b for b in error.because):
        return
    if not isinstance(error, MissingRule | RuleError):
        return
    kind = part.kind.removeprefix("call::").removesuffix("__pullback")
    error.because = (f"{_TOLD} {part.order + 1}: it is part of the {part.role} of {kind}", *error.because)
    if isinstance(error, MissingRule) and part.kind.startswith("call::"):
        error.cures = (f"Write the rule of {kind} with operators that have derivatives, or mark it first_order_only.",)


_TOLD = "its derivative is needed for one of order"
