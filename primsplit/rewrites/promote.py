"""Turn constants of a block into parameters.

```
f(x) = MatMul(x, Const w)   ->   f(x, w) = MatMul(x, w)
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from primsplit.ir import Block, Const, Value, Var, free, is_call
from primsplit.ir.errors import SpecError


def promote(block: Block, constants: Sequence[Const]) -> Block:
    """Return the block with these constants as further parameters in their order.

    They are found by identity; one from `ps.param` by its name: each path through a function creates its own.
    """
    params = {_key(c): Var(c.type, c.hint, c.sizes if c.type.rank == 1 else None) for c in constants}
    made = _replaced(block, params)
    return Block(made.name, (*made.params, *params.values()), made.ops, made.results)


def _key(value: Value | None) -> int | str:
    return value.hint if isinstance(value, Const) and value.is_param else id(value)


def _replaced(block: Block, params: Mapping[int | str, Var]) -> Block:
    def read(value: Value | None) -> Value | None:
        return params.get(_key(value), value)

    ops = []
    for op in block.ops:
        attributes = {k: _replaced(v, params) if isinstance(v, Block) else v for k, v in op.attributes.items()}
        inputs = tuple(map(read, op.inputs))
        if is_call(op):
            inputs, attributes = _with_captures(inputs, attributes)
        ops.append(replace(op, inputs=inputs, attributes=attributes))
    results = tuple(params.get(_key(r), r) for r in block.results)
    return Block(block.name, block.params, tuple(ops), results)


def _with_captures(
    inputs: tuple[Value | None, ...], attributes: dict[str, Any]
) -> tuple[tuple[Value | None, ...], dict[str, Any]]:
    """Return the inputs and attributes of a call whose body now reads parameters, which become further inputs.

    Raises SpecError for a call with its own rule, which would not know of them.
    """
    body: Block = attributes["body"]
    outer = tuple(free(body))
    if not outer:
        return inputs, attributes
    if "rule" in attributes:
        raise SpecError(
            f"{body.name} has a rule of its own and reads the parameter {outer[0].hint}",
            cure="Pass it as an argument, so that the rule can give it a cotangent.",
        )
    return (*inputs, *outer), {**attributes, "body": replace(body, params=(*body.params, *outer))}
