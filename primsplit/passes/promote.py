"""Constants of a block turned into parameters."""

from collections.abc import Sequence

from primsplit.ir import Block, Const, Op, Value, Var


def promote(block: Block, constants: Sequence[Const]) -> Block:
    """The block with these constants, found by identity, as further parameters in their order."""
    params = {id(c): Var(c.type, c.hint, c.sizes if c.type.rank == 1 else None) for c in constants}
    made = _replaced(block, params)
    return Block(made.name, (*made.params, *params.values()), made.ops, made.results)


def _replaced(block: Block, params: dict[int, Var]) -> Block:
    def read(value: Value | None) -> Value | None:
        return params.get(id(value), value)

    ops = []
    for op in block.ops:
        attributes = {k: _replaced(v, params) if isinstance(v, Block) else v for k, v in op.attributes.items()}
        ops.append(Op(op.kind, tuple(map(read, op.inputs)), op.outputs, attributes, op.place, op.remark))
    results = tuple(params.get(id(r), r) for r in block.results)
    return Block(block.name, block.params, tuple(ops), results)
