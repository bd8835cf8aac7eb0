"""Refuse ops that do not fit the integers that they read, which are known only after constants were folded.

    axes = Where(mask, [1], [2])            folded: [1, 1]
    y = Unsqueeze(x, axes)                  onnxruntime refuses to load this

A model that runs has none. The error is raised here, at the op's place in the source, and not by onnxruntime when it
loads the file.
"""

from collections.abc import Mapping

from primsplit.ir import AnyArray, Block, Const, Op, Value, Var, is_call, walk
from primsplit.ir.errors import PrimsplitError, ShapeError
from primsplit.ops.inference.choices import check_node
from primsplit.ops.inference.table import Site
from primsplit.rewrites.constant_sizes import has_own_size
from primsplit.rewrites.evaluation import EVALUATORS, evaluate

DEPTH = 8
"""The most ops in a row that are evaluated for a divisor."""
LARGEST = 1024
"""The most elements of an array that is evaluated."""


def refuse_misfits(block: Block) -> Block:
    """Return the block. Raises ShapeError for an op that reads sizes, axes or divisors that it cannot take."""
    made_by: dict[Var, Op] = {}
    for op in walk(block):
        made_by.update(dict.fromkeys(op.outputs, op))
        if op.kind in {"Div", "Mod"} and (by := op.inputs[1]) is not None and by.type.dtype.kind in "iu":
            divisor = by.numpy() if isinstance(by, Const) else _number(by, made_by)
            if divisor is not None and not divisor.all():
                raise ShapeError(f"{op.kind} divides whole numbers by a constant 0", place=op.place)
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
    """Whether a result has a size of its own, so that the integers were not known when the op was recorded.

    A division has the sizes of its operands, and a Squeeze those of the remaining axes.
    """
    if is_call(op) or any(op.blocks()):
        return False
    if op.kind in {"Div", "Mod", "Squeeze"} or any(v.type.rank is None for v in op.outputs):
        return True
    return has_own_size(op)


def _number(value: Value | None, made_by: Mapping[Var, Op], depth: int = DEPTH) -> AnyArray | None:
    """Return the array that onnxruntime folds if `fold_constants` leaves it computed: weights, converted."""
    if isinstance(value, Const):
        return value.numpy() if value.is_short else None
    made = None if value is None or not depth else made_by.get(value)
    if made is None or made.kind not in EVALUATORS or len(made.outputs) > 1:
        return None
    given: list[AnyArray] = []
    for each in made.inputs:
        array = _number(each, made_by, depth - 1)
        if array is None or array.size > LARGEST:
            return None
        given.append(array)
    return evaluate(made.kind, given, made.attributes)
