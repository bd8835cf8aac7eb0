"""Recognize dense linear algebra that a file computes by many nodes, such as `cholesky(a)`.

```
for t in range(6): row = a[t]; ...; f = tril((rows / (roots + cumsum(0 * roots))).T)   ->   f = cholesky(a)
```

It is claimed where the nodes are those that primsplit writes for the function: each operator, each attribute and each
bit of each constant is compared, also those of the bodies of loops.
"""

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.audit.mathematics.sameness import KnownNodes
from primsplit.audit.mathematics.shortcuts import Idiom, computed_by, only_for, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Statement
from primsplit.audit.trees import call, name
from primsplit.ir import Block, Op, Type, Var, dims
from primsplit.ir.errors import PrimsplitError
from primsplit.numpy.dense import cholesky
from primsplit.programs.trace_program import trace_program
from primsplit.targets.finish import finish

FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {"cholesky": cholesky.cholesky}
"""Functions of a square matrix that give a matrix of its type, by NumPy's names."""


@functools.lru_cache(maxsize=64)
def _written(title: str, type_: Type) -> Block | None:
    """Return the nodes that a file has for a function of matrices of a type."""
    try:
        return finish(trace_program(FUNCTIONS[title], [type_], {}, title, counted=False).block)
    except PrimsplitError:
        return None


def with_dense(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a function by its name in the place of those that compute it."""
    if not any(s.op.kind == "Trilu" for s in statements):
        return [*statements]
    made = {v: s.op for s in statements for v in s.op.outputs}
    by_op = {s.op: s for s in statements}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in reversed(statements):
        if statement.op in hidden or len(statement.op.outputs) != 1:
            continue
        function = _function(statement.op, made, sizes)
        if function is None or function[1] not in sizes.names:
            continue
        title, argument, inside = function
        readers.subtract(read_by_statement(statement))
        ops: dict[Op, None] = {}
        for value in read_by_statement(statement):
            only_for(value, made, readers, by_op, ops, {argument}, inside)
        readers.update([argument])
        hidden.update(ops)
        every = tuple(o for op in (*ops, statement.op) for o in by_op[op].every_op())
        called = call(title, name(sizes.names[argument]))
        found[statement.op] = computed_by(statement, title, (argument,), every, called)
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _function(op: Op, made: Mapping[Var, Op], sizes: Sizes) -> tuple[str, Var, set[Op]] | None:
    """Return the function that an op ends, the value that it is a function of, and the ops that compute it."""
    (result,) = op.outputs
    if op.blocks() or not _is_square(result.type):
        return None
    for title in FUNCTIONS:
        block = _written(title, result.type)
        if block is None or block.ops[-1].kind != op.kind:
            continue
        search = KnownNodes(block, block.params[0], {}, made, sizes.constants)
        if search.values(block.results[0], result):
            argument = search.pairs.get(block.params[0])
            ops = {made[v] for v in search.pairs.values() if isinstance(v, Var) and v in made}
            return (title, argument, ops) if isinstance(argument, Var) else None
    return None


def _is_square(type_: Type) -> bool:
    shape = type_.shape
    return type_.is_float and shape is not None and len(shape) >= 2 and dims.same(shape[-1], shape[-2])
