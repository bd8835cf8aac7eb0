"""Recognize SciPy's functions of one number that a file computes by many nodes, such as `ndtr(x)`.

```
t = abs(x) / sqrt(2); a = 1 - 8 / (t + 4); ...; y = where(t < 0.5, p, where(x < 0, q, 1 - q))   ->   y = ndtr(x)
```

It is claimed where the nodes are those that primsplit writes for the function: each operator, each attribute and each
bit of each constant is compared.
"""

import ast
import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.audit.mathematics.sameness import KnownNodes
from primsplit.audit.mathematics.shortcuts import Idiom, claimed, computed_by, is_elementwise, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import call, name
from primsplit.ir import AnyArray, Block, Op, Type, Var
from primsplit.numpy.approximations import error_function
from primsplit.programs.trace_program import trace_program
from primsplit.targets.finish import finish

FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "erfcinv": error_function.erfcinv,
    "erfcx": error_function.erfcx,
    "erfinv": error_function.erfinv,
    "log_ndtr": error_function.log_ndtr,
    "ndtr": error_function.ndtr,
    "ndtri": error_function.ndtri,
}
"""Functions that no operator computes in float64, by SciPy's names, as they are traced."""
FEWEST = 80
"""The least elementwise nodes of a file that is searched: each of these functions has more."""


@dataclass(frozen=True, slots=True)
class _Written:
    """The nodes that a file has for a function of its parameter, or of the parameter with the other sign."""

    title: str
    is_negated: bool
    block: Block

    def of(self, argument: str) -> ast.expr:
        """Return the call of the function."""
        given = ast.UnaryOp(ast.USub(), name(argument)) if self.is_negated else name(argument)
        return call(self.title, given)


@functools.cache
def written_functions() -> tuple[_Written, ...]:
    """Return the functions with their nodes, in float64: a file widens numbers of fewer bits, and rounds the result."""
    vector = Type(np.dtype(np.float64), (2,))
    found = []
    for title, function in FUNCTIONS.items():
        for is_negated in (False, True):
            of = _negated(function) if is_negated else function
            block = finish(trace_program(of, [vector], {}, title, counted=False).block)
            found.append(_Written(title, is_negated, block))
    return tuple(found)


def _negated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(-x)


def with_special(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a function by its name in the place of those that compute it."""
    made = {v: s.op for s in statements for v in s.op.outputs if _is_plain(s)}
    if len(made) < FEWEST:
        return [*statements]
    by_op = {s.op: s for s in statements}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for statement in reversed(statements):
        if statement.op in hidden or statement.op.outputs[0] not in made:
            continue
        function = _function(statement.op, made, sizes)
        if function is None or function[1] not in sizes.names:
            continue
        written, argument = function
        ops = claimed(statement, (argument,), {argument}, made, readers, by_op)
        hidden.update(ops)
        called = written.of(sizes.names[argument])
        every = (*ops, *statement.ops)
        found[statement.op] = computed_by(statement, written.title, (argument,), every, called, is_elementwise=True)
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _is_plain(statement: Statement) -> bool:
    """Whether a statement is one node that computes each element of one result from one of each operand."""
    is_node = isinstance(statement, Assignment) and not isinstance(statement, Idiom) and len(statement.op.outputs) == 1
    return is_node and is_elementwise(statement)


def _function(op: Op, made: Mapping[Var, Op], sizes: Sizes) -> tuple[_Written, Var] | None:
    """Return the function that an op ends, and the value that it is a function of."""
    if op.outputs[0].type.dtype != np.float64:
        return None
    for written in written_functions():
        search = _Search(written.block, made, sizes)
        argument = search.argument(op.outputs[0])
        if argument is not None:
            return written, argument
    return None


class _Search(KnownNodes):
    """Compares the nodes of a function with those of a file. Its constants may have axes of size 1 there."""

    def __init__(self, block: Block, made: Mapping[Var, Op], sizes: Sizes) -> None:
        super().__init__(block, block.params[0], {}, made, sizes.constants)
        self.result = block.results[0]
        self.rank = 0

    def argument(self, result: Var) -> Var | None:
        """Return the value of which a result is the function; None where its nodes are others."""
        if not self.values(self.result, result):
            return None
        found = self.pairs[self.free]
        has_shape = isinstance(found, Var) and self.rank <= (found.type.rank or 0)
        return found if isinstance(found, Var) and has_shape and found.type.dtype == np.float64 else None

    def numbers(self, ours: AnyArray, theirs: AnyArray) -> bool:
        self.rank = max(self.rank, theirs.ndim)
        return ours.size == theirs.size and super().numbers(ours, theirs.reshape(ours.shape))

    def fits(self, value: Var) -> bool:
        return True
