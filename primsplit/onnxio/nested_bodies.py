"""The bodies of a file's loops, recorded for types that hold for every step.

What a file declares for the values inside is often less than what is known around it. So a body is recorded for carries
of the first step's types, and again with unknown sizes where a step changes them, until it keeps them.
"""

from collections.abc import Callable, Sequence

import onnx

from primsplit import dims, tracing
from primsplit.errors import ParseError
from primsplit.infer import fresh
from primsplit.ir import Block, Type, Value, Var
from primsplit.nested import outside, visible
from primsplit.passes.hoist import hoist

Subgraph = Callable[[onnx.GraphProto, Sequence[Type] | None], Block]


def given(value: Value | None) -> Value:
    """An input that must be there. Raises ParseError."""
    if value is None:
        raise ParseError("an input is missing")
    return value


def steady(
    record: Callable[[Sequence[Type]], Block], starts: Sequence[Type], first: int, lead: int
) -> tuple[Block, list[Type]]:
    """The body for carries of types that every step keeps, and those types; the first ones where they are kept.

    The carries begin at parameter `first` and at result `lead`.
    """
    types = list(starts)
    while True:
        body = record(types)
        after = [r.type for r in body.results[lead : lead + len(types)]]
        known = visible([*body.params[first : first + len(types)]]) | visible([Var(t) for t in starts])
        wider = [_wider(a, outside(b, known)) for a, b in zip(types, after, strict=True)]
        if wider == types:
            return body, types
        types = wider


def _wider(before: Type, after: Type) -> Type:
    """A type that holds before and after a step: the same one where both are, with unknown sizes where they differ."""
    if before.dtype != after.dtype:
        raise ParseError(f"a carry of a loop is {before.dtype} before a step and {after.dtype} after it")
    if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
        return Type(before.dtype, None)
    pairs = list(zip(before.shape, after.shape, strict=True))
    if all(dims.same(a, b) or _is_unknown(a) for a, b in pairs):
        return before
    return Type(before.dtype, [a if dims.same(a, b) or _is_unknown(a) else fresh("changing") for a, b in pairs])


def _is_unknown(dim: dims.Dim) -> bool:
    """True for a size that stands for another one in each step."""
    return isinstance(dim, dims.Size) and dim.symbol is not None and dim.symbol.startswith("changing_")


def without_invariants(body: Block) -> Block:
    """The body without what does not vary from step to step, which is recorded in front."""
    before, inside = hoist(body.ops, body.params)
    for op in before:
        tracing.append(op)
    return Block(body.name, body.params, tuple(inside), body.results)
