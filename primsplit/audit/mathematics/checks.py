"""Write a check that fails a run as what it hands on, with a note of what it raises.

```
L = f - array([0])[failed.astype(int64)].astype(float64)   ->   L = f      raises LinAlgError: Matrix is not ...
y = array([0])[test.astype(int64) + 2]                     ->   y = raises(ValueError('volatility must be positive'))
```

A node of the first kind adds 0, or reads an array of one number at 1, which fails. One of the second kind fails always.
"""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from primsplit.audit.mathematics.shortcuts import Idiom, claimed, computed_by, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import call, literal, name
from primsplit.ir import Const, Op, Value, Var

RAISES = "raises "
"""The start of the remark of nodes that fail a run."""


def with_checks(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with what a check hands on in the place of its nodes, and with what fails by its error."""
    if not any(s.op.remark.startswith(RAISES) for s in statements):
        return [*statements]
    made = {v: s.op for s in statements for v in s.op.outputs if isinstance(s, Assignment)}
    by_op = {s.op: s for s in statements}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in reversed(statements):
        if statement.op in hidden or not isinstance(statement, Assignment):
            continue
        value = _checked(statement.op, made)
        if value is not None and value in sizes.names:
            ops = claimed(statement, (value,), {value}, made, readers, by_op)
            every = tuple(o for op in (*ops, statement.op) for o in by_op[op].ops)
            written = computed_by(statement, "checked", (value,), every, name(sizes.names[value]))
        elif _fails(statement.op, made):
            ops = claimed(statement, (), (), made, readers, by_op)
            every = tuple(o for op in (*ops, statement.op) for o in by_op[op].ops)
            written = computed_by(statement, "raises", (), every, call("raises", _error(statement.op)))
        else:
            continue
        hidden.update(ops)
        note = statement.op.remark if value is not None else ""
        found[statement.op] = replace(written, note=note)
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _checked(op: Op, made: Mapping[Var, Op]) -> Var | None:
    """Return the value that a check hands on; None for another op."""
    if op.kind != "Sub" or not op.remark.startswith(RAISES):
        return None
    value, zero = op.inputs
    read = _behind(_maker(zero, made), made, "Cast")
    index = None if read is None or not _is_zero(read) else _maker(read.inputs[1], made)
    return value if index is not None and index.kind == "Cast" and isinstance(value, Var) else None


def _fails(op: Op, made: Mapping[Var, Op]) -> bool:
    """Whether an op reads an array of one number at 2 or more, and so fails always."""
    if op.kind != "Gather" or not op.remark.startswith(RAISES) or not _is_zero(op):
        return False
    index = _maker(op.inputs[1], made)
    if index is None or index.kind != "Add":
        return False
    shifts = [float(v.number) for v in index.inputs if isinstance(v, Const) and v.number is not None]
    return any(shift >= 1 for shift in shifts) and _behind(index, made, "Add") is not None


def _is_zero(op: Op) -> bool:
    """Whether an op reads an array of one number."""
    array = op.inputs[0]
    return op.kind == "Gather" and isinstance(array, Const) and array.type.shape == (1,)


def _maker(value: Value | None, made: Mapping[Var, Op]) -> Op | None:
    return made.get(value) if isinstance(value, Var) else None


def _behind(op: Op | None, made: Mapping[Var, Op], kind: str) -> Op | None:
    """Return the op whose result an op of a kind reads."""
    makers = [] if op is None or op.kind != kind else [_maker(v, made) for v in op.inputs]
    return next((maker for maker in makers if maker is not None), None)


def _error(op: Op) -> ast.expr:
    """Return the error of a remark as a call: `ValueError('volatility must be positive')`."""
    kind, _, told = op.remark.removeprefix(RAISES).partition(": ")
    return call(kind if kind.isidentifier() else "Error", literal(told))
