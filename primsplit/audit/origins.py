"""Say where a frozen value comes from: a draw, a clock, a file, a computation, or a literal in the user's text."""

import ast
import datetime
import os
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from primsplit.ir import Block, Const, is_call, walk
from primsplit.ir.errors import Place
from primsplit.programs.frozen_numbers import CLOCKS, CLOCKS_WITHOUT_ARGUMENT, OF_DATES
from primsplit.tracing.use_sites import last_name

Origin = Literal[
    "draw", "clock", "run time", "file", "global", "closure", "attribute", "argument", "computed", "literal", ""
]
URGENT: tuple[Origin, ...] = ("draw", "clock", "run time")
"""The origins of values that would be others in each run of the Python function, or are in each run of the file."""
READERS = frozenset({
    "fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "open", "open_memmap", "read", "read_bytes",
    "read_csv", "read_text", "imread", "loadmat",
})  # fmt: skip
"""Names of functions that read files."""
DRAWS = frozenset({
    "beta", "binomial", "bytes", "chisquare", "choice", "dirichlet", "exponential", "gamma", "gauss", "geometric",
    "integers", "laplace", "lognormal", "multinomial", "multivariate_normal", "normal", "permutation", "poisson",
    "rand", "randint", "randn", "random", "random_sample", "rvs", "sample", "shuffle", "standard_normal", "uniform",
})  # fmt: skip
"""Names of methods of random generators."""
TIMES = frozenset({function.__name__ for function in CLOCKS} | OF_DATES)
"""Names of functions that tell the time."""


def is_clock(function: Any) -> bool:
    """Whether a function tells the time."""
    if any(function is each for each in (*CLOCKS, *CLOCKS_WITHOUT_ARGUMENT)):
        return True
    owner = getattr(function, "__self__", None)
    of_dates = owner is datetime.date or owner is datetime.datetime
    return of_dates and getattr(function, "__name__", "") in OF_DATES


def origin_in(nodes: list[ast.AST], name: str, line: int) -> Origin:
    """Return the origin of a local variable, by what a function last assigns to it before a line."""
    assigned = [n for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign | ast.NamedExpr) and n.lineno <= line]
    values = [n.value for n in assigned if n.value is not None and name in _targets(n)]
    if not values:
        return "computed"
    return drawn_or_read({last_name(node.func) for node in ast.walk(values[-1]) if isinstance(node, ast.Call)})


def drawn_or_read(called: set[str]) -> Origin:
    """Return whether functions of these names draw random numbers, tell the time or read files."""
    return "draw" if called & DRAWS else "clock" if called & TIMES else "file" if called & READERS else "computed"


def calls_behind(
    nodes: list[ast.AST], name: str, line: int, parameters: set[str], seen: frozenset[str] = frozenset()
) -> set[str] | None:
    """Return the functions whose results come into a local variable before a line; None if a parameter does too.

    A variable that is assigned nowhere is None too, such as that of a `for`.
    """
    assigned = [n for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign | ast.NamedExpr) and n.lineno <= line]
    values = [n.value for n in assigned if n.value is not None and name in _targets(n)]
    if not values or name in parameters or name in seen:
        return None
    inside = [*ast.walk(values[-1])]
    found = {last_name(node.func) for node in inside if isinstance(node, ast.Call)}
    own = {n for each in assigned for n in _targets(each)} | parameters
    for other in {n.id for n in inside if isinstance(n, ast.Name)} & own:
        before = calls_behind(nodes, other, values[-1].lineno, parameters, seen | {name})
        if before is None:
            return None
        found |= before
    return found


def _targets(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def literals(block: Block, tree_of: Any) -> Iterator[tuple[str, Const, Place]]:
    """Yield the numbers that a program reads and that stand in the user's line as they are, each once a line.

    `tree_of` returns the syntax tree of a file.
    """
    told: set[tuple[Place, str]] = set()
    trees: dict[str, dict[int, list[ast.Constant]]] = {}
    calls = {id(inner) for op in walk(block) if is_call(op) for body in op.blocks() for inner in walk(body)}
    for op in walk(block):
        if op.place is None or id(op) in calls or not os.path.isfile(op.place.filename):
            continue
        if op.place.filename not in trees:
            trees[op.place.filename] = _numbers(tree_of(op.place.filename))
        place = op.place.whole_line
        for value in op.inputs:
            if not isinstance(value, Const) or value.type.rank != 0 or value.type.dtype.kind not in "iuf":
                continue
            for number in trees[op.place.filename].get(place.line, []):
                text = ast.unparse(number)
                if value.numpy()[()] == np.asarray(number.value, value.type.dtype)[()] and (place, text) not in told:
                    told.add((place, text))
                    yield text, value, place


def _numbers(tree: ast.AST) -> dict[int, list[ast.Constant]]:
    found: dict[int, list[ast.Constant]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
            found.setdefault(node.lineno, []).append(node)
    return found
