"""The values that a value depends on, through loops and branches."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Var, walk
from primsplit.ir.analysis.dependence import needed
from primsplit.rewrites import optimize
from primsplit.rewrites.inline import inline_calls

SPECS = (ps.spec("float64", [2]), ps.spec("float64", [2]), ps.spec("float64", ["N", 2]))


def block_of(function: Any) -> Block:
    return optimize(inline_calls(ps.trace(function, *SPECS).block))


def scanned(a: Any, b: Any, xs: Any) -> Any:
    return ps.scan(lambda c, x: ((np.exp(c[0]) + x, np.sin(c[1])), c[1]), (a, b), xs)


def looped(a: Any, b: Any, xs: Any) -> Any:
    return ps.while_loop(lambda c: c[0].sum() < 9.0, lambda c: (np.exp(c[0]), np.sin(c[1])), (a, b))


def branched(a: Any, b: Any, xs: Any) -> Any:
    return ps.cond(a.sum() > 0.0, lambda: (np.exp(a), np.sin(b)), lambda: (a, b))


def crossed(a: Any, b: Any, xs: Any) -> Any:
    return ps.scan(lambda c, x: ((np.sin(c[1]), np.exp(c[0])), None), (a, b), xs)[0]


@pytest.mark.parametrize(
    ("function", "position", "params", "made"),
    [
        (scanned, 0, "a xs", {"Exp"}),
        (scanned, 1, "b", {"Sin"}),
        (scanned, 2, "b", {"Sin"}),
        (looped, 0, "a", {"Exp", "Less"}),
        (looped, 1, "a b", {"Exp", "Less", "Sin"}),
        (branched, 0, "a", {"Exp", "Greater"}),
        (branched, 1, "a b", {"Greater", "Sin"}),
        (crossed, 0, "a b", {"Exp", "Sin"}),
    ],
)
def test_what_one_of_several_results_needs(function: Any, position: int, params: str, made: set[str]) -> None:
    block = block_of(function)
    found = needed(block.ops, [block.results[position]])
    assert " ".join(p.hint for p in block.params if p in found) == params
    told = {"Exp", "Sin", "Less", "Greater"}
    kinds = {op.kind for op in walk(block) if op.kind in told and not found.isdisjoint(op.outputs)}
    assert kinds == made


def test_nothing_is_needed_for_constants() -> None:
    block = block_of(scanned)
    assert needed(block.ops, []) == set()
    assert all(isinstance(v, Var) for v in needed(block.ops, block.results))
