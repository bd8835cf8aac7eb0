"""Swap a Relu and the MaxPool after it: the maxima of windows over max(x, 0) are max(m, 0) of the maxima m over x.

The derivative then tests of a window whether its maximum is positive, not of each number in it. It goes to the same
numbers: to the first maximum of a window, and nowhere if that is not positive.

```
r = Relu(x)                 m = MaxPool(x)
y = MaxPool(r)      ->      y = Relu(m)
```
"""

from primsplit.ir import Block, Op, Var, readers


def pool_before_relu(block: Block) -> Block:
    """Return the block with each MaxPool of a Relu that nothing else reads swapped with it; itself without any."""
    read_by = readers(block.ops, block.results)
    relus = {op.outputs[0]: op for op in block.ops if op.kind == "Relu" and len(read_by.get(op.outputs[0], ())) == 1}
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
            ops.append(op.beside("MaxPool", relu.inputs, (pooled,), op.attributes))
            ops.append(relu.beside("Relu", (pooled,), op.outputs, relu.attributes))
        else:
            ops.append(op)
    return Block(block.name, block.params, tuple(ops), block.results)
