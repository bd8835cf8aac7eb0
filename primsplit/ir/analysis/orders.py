"""What an op is a part of: a derivative and its order, or values that are computed again.

An `Origin` is such a fact, and the text that listings show of it. A remark that a file has is a text alone: whatever it
says, the file is compiled as if it said nothing.
"""

from collections.abc import Sequence
from typing import Literal

from primsplit.ir import Block, Op, live_ops
from primsplit.ir.errors import MissingRule, PrimsplitError, RuleError

Role = Literal["pullback", "tangent", "computed again", "of an Imputer"]


class Origin(str):
    """The remark of an op that is a part of something. `kind` is the op that a pullback or a tangent is of."""

    __slots__ = ("kind", "order", "role")
    role: Role
    kind: str
    order: int

    def __new__(cls, text: str, role: Role, kind: str = "", order: int = 0) -> "Origin":
        """The text with these facts; `order` is that of the derivative, 0 for what is no derivative."""
        made = super().__new__(cls, text)
        made.role, made.kind, made.order = role, kind, order
        return made

    def __reduce__(self) -> tuple[type["Origin"], tuple[str, Role, str, int]]:
        return Origin, (str(self), self.role, self.kind, self.order)


SUMMED = Origin("pullback of several", "pullback", "several", 1)
"""Of an op that adds up the cotangents of a value that several ops read."""
AGAIN = Origin("computed again", "computed again")
"""Of an op that computes for the pullback what the forward pass did not keep."""
OF_IMPUTER = Origin("of an Imputer", "of an Imputer")
"""Of an op of the definition of an Imputer."""


def role_of(remark: str) -> Role | None:
    """What an op with this remark is a part of; None where nothing is known but a text."""
    return remark.role if isinstance(remark, Origin) else None


def remark_of(what: Literal["pullback", "tangent"], op: Op) -> Origin:
    """The remark of an op in the `pullback` or `tangent` list of another: `pullback of Mul`, `... (order 2)`."""
    order = order_of(op.remark) + 1
    return Origin(f"{what} of {op.kind}" + (f" (order {order})" if order > 1 else ""), what, op.kind, order)


def order_of(remark: str) -> int:
    """The order of the derivative that an op with this remark is a part of; 0 for one of the function itself."""
    return remark.order if isinstance(remark, Origin) else 0


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
