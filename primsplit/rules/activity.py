"""Find the values of a program that vary smoothly with some inputs, and those of them that its results depend on."""

from collections.abc import Iterable, Sequence

from primsplit.ir import Const, Op, Value, Var, reads
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.rules.table import RULES


def active_vars(ops: Iterable[Op], sources: Iterable[Var]) -> set[Var]:
    """Return the float Vars that depend on the sources through operators that have a gradient."""
    active = {v for v in sources if v.type.is_float}
    for op in ops:
        if not stops(op) and any(v in active for v in reads(op)):
            active.update(v for v in op.outputs if v.type.is_float)
    return active


def stops(op: Op) -> bool:
    """Whether no gradient flows through the op: an operator without one, or a call of `stop_gradient`."""
    entry = RULES.get(op.kind)
    return op.attributes.get("stops", False) if entry is None else entry.form == "no_gradient"


def dead_ends(ops: Iterable[Op], source: Var) -> list[Op]:
    """The ops that depend on more than the shape of the source, and whose outputs do not vary smoothly with it."""
    ops = [op for op in ops if op.kind not in SHAPES]
    active = active_vars(ops, [source])
    return [op for op in ops if any(v in active for v in reads(op)) and not any(v in active for v in op.outputs)]


def constants_behind(ops: Sequence[Op], values: Iterable[Value]) -> list[Const]:
    """Return the float constants that the values vary with, through operators that have a gradient."""
    needed = dict.fromkeys(v for v in values if v.type.is_float)
    for op in reversed(ops):
        if not stops(op) and any(v in needed for v in op.outputs):
            needed.update(dict.fromkeys(v for v in (*op.inputs, *reads(op)) if v is not None and v.type.is_float))
    return [v for v in needed if isinstance(v, Const)]


def needed_vars(ops: Sequence[Op], active: set[Var], results: Iterable[Value]) -> set[Var]:
    """Return the active Vars that the results depend on."""
    needed = {r for r in results if isinstance(r, Var) and r in active}
    for op in reversed(ops):
        if any(v in needed for v in op.outputs):
            needed.update(v for v in reads(op) if v in active)
    return needed
