"""Calls of traced functions replaced by the functions' own ops."""

from primsplit.ir import Block, Op, Renaming, Var, is_call, rename


def inline_calls(block: Block) -> Block:
    """The block with every call, also inside sub-blocks and other calls, replaced by its program."""
    if not any(is_call(op) or any(op.blocks()) for op in block.ops):
        return block
    ops: list[Op] = []
    renaming: Renaming = {}
    for op in block.ops:
        _inline(op, renaming, ops)
    results = tuple(renaming.get(r, r) if isinstance(r, Var) else r for r in block.results)
    return Block(block.name, block.params, tuple(ops), results)


def _inline(op: Op, renaming: Renaming, ops: list[Op]) -> None:
    if not is_call(op):
        attributes = {k: inline_calls(v) if isinstance(v, Block) else v for k, v in op.attributes.items()}
        kept = Op(op.kind, op.inputs, op.outputs, attributes, op.place, op.remark)
        renaming.update({v: v for v in op.outputs})
        ops.append(rename(kept, renaming))
        return
    body: Block = op.attributes["body"]
    arguments = [renaming.get(v, v) if isinstance(v, Var) else v for v in op.inputs if v is not None]
    inner: Renaming = dict(zip(body.params, arguments, strict=True))
    for step in body.ops:
        if is_call(step):
            fresh = rename(step, inner, remark=op.remark)
            _inline(fresh, renaming, ops)
            inner.update({v: renaming.get(w, w) for v, w in zip(step.outputs, fresh.outputs, strict=True)})
        else:
            _inline(rename(step, inner, remark=op.remark), renaming, ops)
    for output, result in zip(op.outputs, body.results, strict=True):
        renaming[output] = inner.get(result, result) if isinstance(result, Var) else result
