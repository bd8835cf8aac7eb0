"""List what a program draws at run time: each op that gives other numbers in each run of the file.

```
noise = RandomNormal(shape=[4])          noise      drawn at run time, RandomNormal
keep = Dropout(x, 0.5, True)             keep       drawn at run time, Dropout
```
"""

from collections.abc import Iterator, Mapping

from primsplit.audit.frozen import Frozen
from primsplit.ir import Block, Const, Op, Value, walk
from primsplit.ops.traits import traits


def drawn_values(block: Block, names: Mapping[Value, str] | None = None) -> Iterator[Frozen]:
    """Yield a row for each op of a program, and of its bodies, that draws: by the name of its value, its type and line.

    `names` are those of values in a file.
    """
    for op in walk(block):
        if not is_drawn(op):
            continue
        var = op.outputs[0]
        name = (names or {}).get(var, "") or var.hint or f"{op.kind}()"
        seed = op.attributes.get("seed")
        told = f"drawn at run time, {op.kind}" + ("" if seed is None else f", seed {seed:g}")
        yield Frozen(name, str(var.type), 0, op.place, told, "run time")


def is_drawn(op: Op) -> bool:
    """Whether an op draws: a Dropout does in training alone."""
    if not traits(op.kind).random:
        return False
    if op.kind != "Dropout":
        return True
    if op.attributes.get("is_test") == 0:
        return True
    training = op.inputs[2] if len(op.inputs) > 2 else None
    return training is not None and not (isinstance(training, Const) and not training.numpy().any())
