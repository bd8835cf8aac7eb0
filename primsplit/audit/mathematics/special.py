"""Recognize functions of one number that are written out, such as the normal distribution: `ndtr(x)`.

```
t = abs(x) / sqrt(2); a = 1 - 8 / (t + 4); ...; y = where(t < 0.5, p, where(x < 0, q, 1 - q))   ->   y = ndtr(x)
```

It is claimed where the nodes compute from `x` alone what the function gives, compared with C's `erfc` at points from
-30 to 30.
"""

import functools
import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.mathematics.shortcuts import Idiom, only_for, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import call, name
from primsplit.ir import AnyArray, Const, Op, Value, Var
from primsplit.ops.traits import traits
from primsplit.rewrites.evaluation import evaluate


def _ndtr(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "ndtr": np.vectorize(_ndtr, [float]),
    "erf": np.vectorize(math.erf, [float]),
    "erfc": np.vectorize(math.erfc, [float]),
}
"""Functions that no operator computes in every dtype, by SciPy's names."""
ROOTS = frozenset({"Where", "Add", "Sub", "Mul", "Div", "Neg"})
"""Operators that give the result of such a function. No trait: what is written out ends so."""
FEWEST, MOST = 16, 200
"""The least and the most nodes that are compared."""
WIDEST = 12
"""The most values that these compute from at once."""
PRECISION = {"float32": 3e-5, "float64": 1e-9}
"""The relative difference, by dtype, that two ways to compute a function may have."""


def with_special(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a function by its name in the place of those that compute it."""
    made = {v: s.op for s in statements for v in s.op.outputs if _is_elementwise(s)}
    if len(made) < FEWEST:
        return [*statements]
    order = {s.op: i for i, s in enumerate(statements)}
    by_op = {s.op: s for s in statements}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in reversed(statements):
        if statement.op.kind not in ROOTS or statement.op in hidden or statement.op.outputs[0] not in made:
            continue
        function = _function(statement.op, made, order, sizes)
        if function is None or function[1] not in sizes.names:
            continue
        title, argument = function
        left = readers - Counter(read_by_statement(statement))
        ops: dict[Op, None] = {}
        for value in statement.op.inputs:
            only_for(value, made, left, by_op, ops, {argument})
        hidden.update(ops)
        called = call(title, name(sizes.names[argument]))
        op = replace(statement.op, kind="Tanh", inputs=(argument,), attributes={})
        found[statement.op] = Idiom(
            op=op,
            ops=(*ops, *statement.ops),
            targets=statement.targets,
            section=statement.section,
            value=called,
            note="",
        )
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _is_elementwise(statement: Statement) -> bool:
    """Whether a statement computes each element of one result from one of each operand."""
    op = statement.op
    is_plain = isinstance(statement, Assignment) and not isinstance(statement, Idiom) and len(op.outputs) == 1
    return is_plain and bool(traits(op.kind).elementwise)


def _function(op: Op, made: Mapping[Var, Op], order: Mapping[Op, int], sizes: Sizes) -> tuple[str, Var] | None:
    """Return the function that an op ends, and its argument: the only value from which the ops before compute it."""
    precision = PRECISION.get(op.outputs[0].type.dtype.name)
    waiting, ops = [-order[op]], {-order[op]: op}
    given: set[Var] = set()
    taken: list[Op] = []
    while precision is not None and len(waiting) + len(given) <= WIDEST and len(taken) < MOST:
        ends = [*given, *(ops[at].outputs[0] for at in waiting)]
        title = _title(taken, ends[0], precision, sizes) if len(ends) == 1 and len(taken) >= FEWEST else ""
        if title:
            return title, ends[0]
        if not waiting:
            return None
        taken.append(ops[heapq.heappop(waiting)])
        for value in taken[-1].inputs:
            before = made.get(value) if isinstance(value, Var) else None
            if before is not None and -order[before] not in waiting:
                ops[-order[before]] = before
                heapq.heappush(waiting, -order[before])
            if before is None and isinstance(value, Var) and value not in sizes.constants:
                given.add(value)
    return None


def _title(taken: Sequence[Op], argument: Var, precision: float, sizes: Sizes) -> str:
    """Return the name of the function that ops compute of a value; "" for another one."""
    dtype = argument.type.dtype
    if dtype != taken[0].outputs[0].type.dtype or dtype.name not in PRECISION:
        return ""
    points = _points(dtype.name)
    known: dict[Value, AnyArray] = {argument: points}
    for op in reversed(taken):
        inputs = [_array(v, known, sizes) for v in op.inputs if v is not None]
        if any(i is None for i in inputs):
            return ""
        given = [i for i in inputs if i is not None]
        value = np.clip(*given) if op.kind == "Clip" and len(given) == 3 else evaluate(op.kind, given, op.attributes)
        if value is None:
            return ""
        known[op.outputs[0]] = value
    result = known[taken[0].outputs[0]]
    return next((n for n, wanted in _wanted(dtype.name).items() if _is_same(result, wanted, precision)), "")


def _array(value: Value, known: Mapping[Value, AnyArray], sizes: Sizes) -> AnyArray | None:
    held = sizes.constants.get(value, value)
    if isinstance(held, Const):
        return held.numpy().reshape(()) if held.numpy().size == 1 else None
    return known.get(value)


@functools.cache
def _points(dtype: str) -> AnyArray:
    """Return the points at which functions are compared."""
    small = np.geomspace(1e-6, 30, 60)
    return np.concatenate((-small, small, np.linspace(-29.7, 29.9, 83))).astype(dtype)


@functools.cache
def _wanted(dtype: str) -> dict[str, AnyArray]:
    """Return what the functions give at these points."""
    with np.errstate(all="ignore"):
        return {n: np.asarray(f(_points(dtype).astype(np.float64))) for n, f in FUNCTIONS.items()}


def _is_same(result: AnyArray, wanted: AnyArray, precision: float) -> bool:
    """Whether a result is a function's, as far as its numbers are no less than the least of the dtype."""
    if result.shape != wanted.shape:
        return False
    is_normal = np.isfinite(wanted) & (np.abs(wanted) > np.finfo(result.dtype).tiny) & np.isfinite(result)
    both = np.isfinite(wanted) & np.isfinite(result)
    is_close = np.allclose(result[is_normal], wanted[is_normal], rtol=precision, atol=0)
    return bool(is_close and np.sum(is_normal) > len(wanted) // 3 and np.mean(both == np.isfinite(wanted)) > 0.9)
