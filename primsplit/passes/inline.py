"""Calls of traced functions replaced by the functions' own ops."""

from primsplit.ir import Block, Op, Renaming, Var, is_call, rename


def inline_calls(block: Block, *, keep: bool = False) -> Block:
    """The block with every call, also inside sub-blocks and other calls, replaced by its program.

    With `keep`, calls that are to stay (their attribute `inline` is False) do.
    """
    if not any(is_call(op) or any(op.blocks()) for op in block.ops):
        return block
    ops: list[Op] = []
    renaming: Renaming = {}
    for op in block.ops:
        _inline(op, renaming, ops, keep)
    results = tuple(renaming.get(r, r) if isinstance(r, Var) else r for r in block.results)
    return Block(block.name, block.params, tuple(ops), results)


def _inline(op: Op, renaming: Renaming, ops: list[Op], keep: bool) -> None:
    if keep and op.attributes.get("inline") is False and is_call(op):
        renaming.update({v: v for v in op.outputs})
        inputs = tuple(renaming.get(v, v) if isinstance(v, Var) else v for v in op.inputs)
        ops.append(Op(op.kind, inputs, op.outputs, op.attributes, op.place, op.remark))
        return
    if not is_call(op):
        inner_blocks = {k: inline_calls(v, keep=keep) for k, v in op.attributes.items() if isinstance(v, Block)}
        attributes = {**op.attributes, **inner_blocks}
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
            _inline(fresh, renaming, ops, keep)
            inner.update({v: renaming.get(w, w) for v, w in zip(step.outputs, fresh.outputs, strict=True)})
        else:
            _inline(rename(step, inner, remark=op.remark), renaming, ops, keep)
    for output, result in zip(op.outputs, body.results, strict=True):
        renaming[output] = inner.get(result, result) if isinstance(result, Var) else result
