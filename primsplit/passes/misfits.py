"""Ops that do not fit the whole numbers that they read, which nobody could tell before constants were folded.

    axes = Where(mask, [1], [2])            folded: [1, 1]
    y = Unsqueeze(x, axes)                  onnxruntime refuses to load this

A model that runs has none. The error is raised here, at the op's place, and not by onnxruntime when it loads the file.
"""

from primsplit import dims
from primsplit.errors import PrimsplitError
from primsplit.infer.choices import check_node
from primsplit.infer.table import Site
from primsplit.ir import Block, Const, Op, is_call, walk
from primsplit.nested import visible


def refuse_misfits(block: Block) -> Block:
    """The block. Raises ShapeError for an op that reads sizes, axes or divisors that it cannot take."""
    for op in walk(block):
        if _reads_numbers(op) and _is_doubtful(op):
            try:
                check_node(Site(op.kind, op.inputs, op.attributes, len(op.outputs)))
            except PrimsplitError as error:
                error.place = error.place or op.place
                raise
    return block


def _reads_numbers(op: Op) -> bool:
    return any(isinstance(v, Const) and v.is_small and v.type.dtype.kind == "i" for v in op.inputs)


def _is_doubtful(op: Op) -> bool:
    """True where a result has a size of its own, so that the numbers were not known when the op was recorded.

    A division has the sizes of its operands, and a Squeeze those of the axes that stay.
    """
    if is_call(op) or any(op.blocks()):
        return False
    if op.kind in {"Div", "Mod", "Squeeze"} or any(v.type.rank is None for v in op.outputs):
        return True
    known = visible(v for v in op.inputs if v is not None)
    return any(not dims.symbols(d) <= known for v in op.outputs for d in v.type.shape or ())
