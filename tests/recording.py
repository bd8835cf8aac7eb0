"""Blocks for tests: a function of Arrays recorded on types given as text."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from primsplit import tracing
from primsplit.ir import Block
from primsplit.ir.analysis.orders import Origin
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import lift
from primsplit.tracing.specs import parse_spec

PULLBACK = Origin("pullback of f", "pullback", "f", 1)


def record(function: Callable[..., Any], *types: str, name: str = "f") -> Block:
    """The block of a function whose parameters have these types, `float32[N,3]` say, named as they are there."""
    with tracing.fresh_stack():
        return sub_block(function, *types, name=name)


def sub_block(function: Callable[..., Any], *types: str, name: str = "body") -> Block:
    """A block inside the one being recorded, which may read its values."""
    code = function.__code__
    with tracing.recording() as recorded:
        hints = code.co_varnames[: code.co_argcount]
        params = [recorded.param(parse_spec(t), hint) for t, hint in zip(types, hints, strict=True)]
        results = [lift(r) for r in _each(function(*map(Array, params)))]
    return tracing.close(name, params, recorded, results)


def _each(found: Any) -> tuple[Any, ...]:
    """Return one result or several as a tuple; no variable of this file takes them, whose name they would have."""
    return found if isinstance(found, tuple) else (found,)


def derivative(function: Callable[..., Any], *types: str) -> Block:
    """Record a function as part of a pullback; the blocks inside of it too."""
    return _remarked(record(function, *types))


def _remarked(block: Block) -> Block:
    return replace(block, ops=tuple(replace(op.with_blocks(_remarked), remark=PULLBACK) for op in block.ops))


def kinds(block: Block) -> list[str]:
    """The operators of a block, in order."""
    return [op.kind for op in block.ops]


def without_places(block: Block) -> Block:
    """The block, its sub-blocks too, without the lines that its ops came from."""
    return replace(block, ops=tuple(replace(op.with_blocks(without_places), place=None) for op in block.ops))
