"""The maxima of windows over max(x, 0) are computed as max(m, 0) of the maxima m over x: the same numbers.

The derivative then asks of a window whether its maximum is positive, not of each number in it. It goes to the same
numbers: to the first maximum of a window, and nowhere where that is not positive.
"""

from primsplit.ir import Block, Op, Value, Var, operands


def pool_before_relu(block: Block) -> Block:
    """The block with each MaxPool of a Relu that nothing else reads as the Relu of a MaxPool; itself without any."""
    count: dict[Value | None, int] = {}
    for value in (*(v for op in block.ops for v in operands(op)), *block.results):
        count[value] = count.get(value, 0) + 1
    relus = {op.outputs[0]: op for op in block.ops if op.kind == "Relu" and count.get(op.outputs[0]) == 1}
    swapped: dict[Var, Op] = {}
    for op in block.ops:
        source = op.inputs[0] if op.inputs else None
        if op.kind == "MaxPool" and len(op.outputs) == 1 and isinstance(source, Var) and source in relus:
            swapped[source] = op
    if not swapped:
        return block
    ops: list[Op] = []
    for op in block.ops:
        source = op.inputs[0] if op.inputs else None
        if op.outputs[0] in swapped:
            continue
        if isinstance(source, Var) and swapped.get(source) is op:
            relu, pooled = relus[source], Var(op.outputs[0].type)
            ops.append(Op("MaxPool", relu.inputs, (pooled,), op.attributes, op.place, op.remark))
            ops.append(Op("Relu", (pooled,), op.outputs, relu.attributes, relu.place, relu.remark))
        else:
            ops.append(op)
    return Block(block.name, block.params, tuple(ops), block.results)
