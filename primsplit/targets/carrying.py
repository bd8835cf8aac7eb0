"""Store values of dtypes that files or onnxruntime cannot hold in a carrier: a wider dtype that holds every value.

```
y: float4_e2m1fn = Cast(x)   ->   y = x rounded to numbers of float4_e2m1fn, by ops in the carrier
z = Reshape(y, s)         ->   z = Reshape(y, s)     # in the carrier
```

Operators that only move numbers stay, and move those of the carrier. A conversion to such a dtype becomes rounding; one
from it becomes a conversion from the carrier.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.ir import AnyArray, Block, Const, Data, Op, Type, Value, Var, is_call, walk
from primsplit.ir.carriers import CARRIERS, DTYPE_OF, FOUR_BITS, LATER, in_carrier
from primsplit.ir.names import NamedBlock
from primsplit.rewrites import optimize
from primsplit.rewrites.decompositions.few_bits import converted, dequantized, quantized
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.targets.legalize import bound_dtypes, has_kernel
from primsplit.tracing.array import Array


@dataclass(frozen=True, slots=True)
class Carried:
    """Data in their carrier, converted when they are read."""

    data: Data

    @property
    def dtype(self) -> np.dtype[Any]:
        return CARRIERS[self.data.dtype.name]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def where(self) -> str:
        return self.data.where

    def numpy(self) -> AnyArray:
        return in_carrier(self.data.numpy())


def dtypes_to_carry(*blocks: Block) -> frozenset[str]:
    """The dtypes that files of these blocks hold in carriers: newer ones, and four bits where kernels are missing."""
    found = frozenset(t.key[0] for block in blocks for t in block.types) & CARRIERS.keys()
    if not found & FOUR_BITS or not any(_without_kernel(block) for block in blocks):
        return found & LATER
    return (found & LATER).union(*(_without_kernel(optimize(inline_calls(block))) for block in blocks))


def _without_kernel(block: Block) -> frozenset[str]:
    """The dtypes of four bits with an op for which onnxruntime has no kernel, or with a result that must be copied."""
    made = {v for op in block.ops for v in op.outputs}
    copied = {v.type.key[0] for v in block.results if v not in made or block.results.count(v) > 1}
    ops = (op for op in walk(block) if not is_call(op))
    return (FOUR_BITS & copied).union(
        name
        for op in ops
        for name in FOUR_BITS & {v.type.key[0] for v in (*op.inputs, *op.outputs) if v is not None}
        if not has_kernel(op.kind, bound_dtypes(op))
    )


def in_carriers(named: NamedBlock, names: Collection[str]) -> NamedBlock:
    """Return the named block with every value of these dtypes in its carrier; itself if there are none."""
    if not names:
        return named
    carrying = _Carrying(names)
    block = carrying.run(named.block)
    defaults = {name: carrying.const(const) for name, const in named.defaults.items()}
    return replace(named, block=block, defaults=defaults)


def told_dtypes(named: NamedBlock, names: Collection[str]) -> dict[str, str]:
    """Return the metadata of a file that name the dtypes of its inputs and outputs in a carrier."""
    ends = zip((*named.inputs, *named.outputs), (*named.block.params, *named.block.results), strict=True)
    return {f"{DTYPE_OF}{name}": v.type.dtype.name for name, v in ends if v.type.key[0] in names}


class _Carrying(Rewriter):
    """The walk, which also walks the bodies of calls; a body that several calls share, once.

    `names` are the dtypes whose values are replaced, `carriers` the values that replace them.
    """

    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self.names = frozenset(names)
        self.carriers: set[Value | None] = set()
        self.consts: dict[int, Const] = {}
        self.bodies: dict[int, Block] = {}

    def run(self, block: Block) -> Block:
        params = tuple(self.var(p) for p in block.params)
        found = super().run(block)
        is_same = all(a is b for a, b in zip(params, block.params, strict=True))
        return found if is_same else replace(found, params=params)

    def var(self, var: Var) -> Var:
        """Return the Var that replaces one that is defined here: itself, or another in its carrier."""
        if var.type.key[0] not in self.names:
            return var
        made = self.replaced[var] = Var(Type(CARRIERS[var.type.key[0]], var.type.shape), var.hint)
        self.carriers.add(made)
        return made

    def const(self, const: Const) -> Const:
        """Return a constant in its carrier; constants that share their data still share them."""
        if const.type.key[0] not in self.names:
            return const
        found = self.consts.get(id(const.data))
        if found is None:
            found = self.consts[id(const.data)] = Const(Carried(const.data), const.hint, const.place, role=const.role)
            self.carriers.add(found)
        return found

    def value(self, value: Value) -> Value:
        return self.const(value) if isinstance(value, Const) else super().value(value)

    def read(self, op: Op) -> Op:
        found = super().read(op)
        if not any(isinstance(v, Const) and v.type.key[0] in self.names for v in found.inputs):
            return found
        return replace(found, inputs=tuple(None if v is None else self.value(v) for v in found.inputs))

    def visit(self, op: Op) -> Op | None:
        if is_call(op):
            op = replace(op, attributes={**op.attributes, "body": self.body(op.attributes["body"])})
        made = self.computed(op)
        if made is not None:
            self.replaced[op.outputs[0]] = made
            return None
        outputs = tuple(self.var(v) for v in op.outputs)
        if all(a is b for a, b in zip(outputs, op.outputs, strict=True)):
            return op
        attributes = {k: in_carrier(v) if isinstance(v, np.ndarray) else v for k, v in op.attributes.items()}
        return replace(op, outputs=outputs, attributes=attributes)

    def body(self, body: Block) -> Block:
        """Return the body of a call."""
        if id(body) not in self.bodies:
            self.bodies[id(body)] = self.run(body)
        return self.bodies[id(body)]

    def computed(self, op: Op) -> Value | None:
        """Record the replacement of an op that rounds to such a dtype, or multiplies numbers of it by a scale.

        None for others.
        """
        name = op.outputs[0].type.key[0]
        is_rounding = name in self.names and op.kind in {"Cast", "CastLike", "QuantizeLinear"}
        is_read = op.kind == "DequantizeLinear" and op.inputs[0] in self.carriers
        if not (is_rounding or is_read):
            return None
        along = {k: v for k, v in op.attributes.items() if k in {"axis", "block_size"}}
        with recorded_beside(op) as around:
            inputs: list[Any] = [None if v is None else Array(v) for v in (*op.inputs, None)[:3]]
            if is_read:
                made = dequantized(*inputs, **along)
            elif op.kind == "QuantizeLinear":
                made = quantized(*inputs, name=name, **along)
            else:
                made = converted(inputs[0], name)
            value: Value = made.value
        self.kept += around.ops
        if is_rounding:
            self.carriers.add(value)
        return value
