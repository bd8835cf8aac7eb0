"""Merge common subexpressions: drop an op that computes what an earlier op has computed.

```
a = Exp(x)
b = Exp(x)
c = Add(a, b)   ->   a = Exp(x);  c = Add(a, a)
```

Two ops are merged if they have the same operator, attributes and output types, and the same inputs: Vars by identity,
constants bit by bit, so that -0.0 and 0.0 stay apart and a NaN equals only itself. Integer vectors that hold sizes are
merged if the sizes are provably the same, however they were computed. Random operators, calls and ops with sub-blocks
are never merged.
"""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, dtype_name
from primsplit.ir.dims import Size
from primsplit.ops.schema import exists, schema
from primsplit.ops.traits import traits
from primsplit.rewrites.rewriting import Rewriter

Key = tuple[Any, ...]


def merge_common(block: Block) -> Block:
    """Return the block with every value computed once. An op of a sub-block may be replaced by one around it."""
    return Merging().run(block)


class Merging(Rewriter):
    """The walk of `merge_common`.

    `scopes` are the values computed so far in each block around an op, innermost last.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[dict[Key, tuple[Var, ...]]] = []

    def enter(self, block: Block) -> None:
        """Open a scope."""
        self.scopes.append({})

    def leave(self, block: Block) -> None:
        """Close it: a value that one branch computed does not exist in the other."""
        self.scopes.pop()

    def visit(self, op: Op) -> Op | None:
        """None for an op whose outputs exist already."""
        key = _key(op)
        known = None if key is None else self._find(key)
        if known is None:
            if key is not None:
                self.scopes[-1][key] = op.outputs
            return super().visit(op)
        for var, other in zip(op.outputs, known, strict=True):
            self.replaced[var] = other
        return None

    def _find(self, key: Key) -> tuple[Var, ...] | None:
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        return None


def merge_repeated(block: Block) -> Block:
    """Return the block with ops that repeat one of the same block dropped, as onnxruntime's own pass drops them."""
    return _OfOneBlock().run(block)


class _OfOneBlock(Merging):
    """The walk of `merge_repeated`: what is computed around a sub-block is not sought, nor are equal sizes."""

    def _find(self, key: Key) -> tuple[Var, ...] | None:
        return self.scopes[-1].get(key)


def _key(op: Op) -> Key | None:
    """Return a key that is the same for equal ops; None for an op that is never merged."""
    if not is_deterministic(op.kind) or op.blocks():
        return None
    types = tuple([v.type.key for v in op.outputs])
    sizes = op.outputs[0].sizes if len(op.outputs) == 1 else None
    if sizes is not None:
        return ("sizes", types, tuple(d.text if isinstance(d, Size) else d for d in sizes))
    inputs = tuple([value_key(v) for v in op.inputs])
    if traits(op.kind).commutative:
        inputs = tuple(sorted(inputs, key=hash))
    return (op.kind, inputs, attribute_key(op.attributes), types)


@functools.cache
def is_deterministic(kind: str) -> bool:
    """Whether this operator of the standard always returns the same outputs for the same inputs."""
    return exists(kind) and schema(kind).deterministic


def value_key(value: Value | None) -> Key | None:
    """Return a key that is the same for the same Var, and for equal constants; None for an absent input."""
    if isinstance(value, Var):
        return ("var", id(value))
    return None if value is None else constant_key(value)


def constant_key(value: Const) -> Key:
    """Return a key that is the same for constants that are equal bit by bit."""
    return ("const", *value.key)


def attribute_key(attributes: Mapping[str, Any]) -> Key:
    """Return a key that is the same only for equal attributes: 1, 1.0 and True differ, 0.0 and -0.0 too."""
    return tuple((name, _attribute(value)) for name, value in sorted(attributes.items())) if attributes else ()


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (dtype_name(value.dtype), value.shape, value.tobytes())
    return (
        type(value).__name__,
        repr(value) if isinstance(value, int | float | str | bytes | list | tuple) else id(value),
    )
