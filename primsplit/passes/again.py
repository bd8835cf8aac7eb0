"""Products of a pullback make their operand again where it is one pass over an array that is kept anyway.

Such is max(x, 0): its own pullback reads x, and the gradient of the weights behind it max(x, 0). Both would lie in
memory until then, for every layer; beside a product the pass is nothing.
"""

from collections.abc import Iterable, Sequence

from primsplit.ir import Block, Const, Op, Value, Var, reads
from primsplit.passes.dead_code import live_ops
from primsplit.passes.recompute import VIEWS

PRODUCTS = frozenset({"Gemm", "MatMul", "Conv"})
CHEAP = frozenset({"Add", "Mul", "Max", "Min"})
"""Operators whose operands may change places: so written, onnxruntime does not find that the value is there already."""
SMALL = 2**16
"""Bytes up to which a value is kept."""


def products_read_again(block: Block, gradients: Sequence[int]) -> Block:
    """The block with what only products read after the value is computed made again of an array and a number.

    `gradients` are the positions of the results that are not the value. The block itself where nothing is gained: where
    the array is not read so late by anything else, or where something else than a product reads the value.
    """
    primal = live_ops(block.ops, (r for i, r in enumerate(block.results) if i not in gradients))
    early = set(map(id, primal))
    late = [op for op in block.ops if id(op) not in early]
    kept = {*block.params, *(v for op in late for v in reads(op))}
    bound = _only_for_products(late, block.results)
    again: dict[Var, Op] = {}
    for op in primal:
        found = _swapped(op, kept) if bound.get(op.outputs[0]) else None
        if found is not None:
            again[op.outputs[0]] = found
    if not again:
        return block
    ops: list[Op] = []
    for op in block.ops:
        ops.append(op if id(op) in early else _reading(op, again))
        if op.outputs[0] in again:
            ops.append(again[op.outputs[0]])
    return Block(block.name, block.params, tuple(ops), block.results)


def _only_for_products(late: Sequence[Op], results: Iterable[Value]) -> dict[Var, bool]:
    """Of what these ops read, whether products alone read it, or views of it."""
    found = {r: False for r in results if isinstance(r, Var)}
    for op in reversed(late):
        is_bound = op.kind in PRODUCTS or (op.kind in VIEWS and found.get(op.outputs[0], False))
        for var in reads(op):
            found[var] = is_bound and found.get(var, True)
    return found


def _swapped(op: Op, kept: set[Var]) -> Op | None:
    """The op on a kept array and a number with its operands in the other order, and a result of its own."""
    size = op.outputs[0].type.nbytes()
    if op.kind not in CHEAP or len(op.inputs) != 2 or (isinstance(size, int) and size <= SMALL):
        return None
    first, second = op.inputs
    for array, number in ((first, second), (second, first)):
        if array in kept and isinstance(number, Const) and number.type.shape == ():
            result = Var(op.outputs[0].type, op.outputs[0].hint)
            return Op(op.kind, (second, first), (result,), op.attributes, op.place, op.remark)
    return None


def _reading(op: Op, again: dict[Var, Op]) -> Op:
    """The op with the values that are made again in the place of the others."""
    if not any(v in again for v in op.inputs):
        return op
    inputs = tuple(again[v].outputs[0] if isinstance(v, Var) and v in again else v for v in op.inputs)
    return Op(op.kind, inputs, op.outputs, op.attributes, op.place, op.remark)
