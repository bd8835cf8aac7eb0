"""Check that a block is a valid program: every Var is defined once, and before it is read."""

from primsplit.ir.blocks import Block, free, is_call
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.values import Var


def check(block: Block, *, closed: bool = True) -> None:
    """Raise where the block is no program: a Var defined twice, or read before it is defined."""
    _check(block, set() if closed else set(free(block)))


def _check(block: Block, visible: set[Var]) -> None:
    defined = set(visible)
    for var in block.params:
        _define(var, defined, block)
    for op in block.ops:
        for value in op.inputs:
            if isinstance(value, Var) and value not in defined:
                raise PrimsplitError(f"{block.name}: {op.kind} reads {value} before it is defined", place=op.place)
        for inner in op.blocks():
            _check(inner, set() if is_call(op) else defined)
        for var in op.outputs:
            _define(var, defined, block)
    for result in block.results:
        if isinstance(result, Var) and result not in defined:
            raise PrimsplitError(f"{block.name}: the result {result} is not defined")


def _define(var: Var, defined: set[Var], block: Block) -> None:
    if var in defined:
        raise PrimsplitError(f"{block.name}: {var} is defined twice")
    defined.add(var)
