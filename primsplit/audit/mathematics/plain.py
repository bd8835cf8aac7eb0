"""Leave out of a node's expression what NumPy does without being told.

```
sum(x, axis=0)                   ->   sum(x)             of a vector
(x == y).astype(float64) * d     ->   (x == y) * d       False and True are 0 and 1 in a product
```
"""

import ast
from collections.abc import Mapping, Sequence

from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.statements import Assignment
from primsplit.ir import Op, Value, Var
from primsplit.ops.traits import kinds_where

RESHAPES = kinds_where(lambda t: t.keeps == "order") | {"Expand", "Identity"}
WHOLE = frozenset({"np.sum", "np.mean", "np.max", "np.min", "np.prod", "np.argmax", "np.argmin"})
"""Functions that reduce all axes unless they are told which."""
Reading = Mapping[Var, Sequence[Op]]


def plain_value(statement: Assignment, result: Shape | None, reading: Reading, made: Mapping[Var, Op]) -> ast.expr:
    """Return the expression of a statement that has this shape, without what NumPy does anyway.

    `reading` has the ops that read each value, `made` the op that computes it.
    """
    value, op = statement.value, statement.op
    if result == () and isinstance(value, ast.Call) and ast.unparse(value.func) in WHOLE:
        return ast.Call(value.func, value.args, [k for k in value.keywords if k.arg != "axis"])
    is_converted = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "astype"
    if (
        is_converted
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and _is_mask(op, reading, made)
    ):
        return value.func.value
    return value


def _is_mask(op: Op, reading: Reading, made: Mapping[Var, Op]) -> bool:
    """Whether an op converts a test to numbers that are multiplied by others, or counted."""
    if not _is_converted(op):
        return False
    readers = _readers(op.outputs[0], reading)
    return bool(readers) and all(_counts(reader, value, made) for reader, value in readers)


def _is_converted(op: Op) -> bool:
    """Whether an op converts a test to floats."""
    source = op.inputs[0] if op.inputs else None
    is_test = source is not None and source.type.dtype.kind == "b"
    return op.kind == "Cast" and is_test and op.outputs[0].type.dtype.kind == "f"


def _readers(value: Var, reading: Reading) -> list[tuple[Op, Var]]:
    """Return the ops that read a value, perhaps in another shape, each with what it reads."""
    found: list[tuple[Op, Var]] = []
    for reader in reading.get(value, ()):
        if reader.kind in RESHAPES and reader.inputs[0] is value:
            found += _readers(reader.outputs[0], reading) or [(reader, value)]
        else:
            found.append((reader, value))
    return found


def _counts(reader: Op, value: Var, made: Mapping[Var, Op]) -> bool:
    """Whether an op multiplies a test by numbers, or adds up where it holds."""
    if reader.kind == "ReduceSum":
        return True
    others = [v for v in reader.inputs if v is not value]
    return reader.kind == "Mul" and len(others) == 1 and not _is_test(others[0], made)


def _is_test(value: Value | None, made: Mapping[Var, Op]) -> bool:
    """Whether a value is a test that is converted, perhaps in another shape: the product of two would stay one."""
    op = made.get(value) if isinstance(value, Var) else None
    while op is not None and op.kind in RESHAPES:
        value = op.inputs[0]
        op = made.get(value) if isinstance(value, Var) else None
    return op is not None and _is_converted(op)
