"""Fold constants: replace an op of small constants by its value.

```
Add([1, 2], [3, 4])   ->   [4, 6]
```

Sizes that are literals become constants too. Folding never makes the program larger: the value takes at most as many
bytes as the inputs did, or `FREE` bytes, so that the Expand of a number stays an Expand.
"""

import math

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, same_types
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.rewrites.cse import is_deterministic
from primsplit.rewrites.evaluation import EVALUATORS, evaluate
from primsplit.rewrites.rewriting import Rewriter, literal_shape

FREE = 1024
"""The number of bytes that a folded value may always take."""
LARGEST = 65536
"""The number of bytes above which nothing is folded: onnxruntime does that when it loads the file."""


def fold_constants(block: Block) -> Block:
    """Return the block with ops of constants replaced by their values, in sub-blocks too."""
    return Folding().run(block)


class Folding(Rewriter):
    """The walk of `fold_constants`."""

    def visit(self, op: Op) -> Op | None:
        """None for an op whose output is known."""
        if len(op.outputs) == 1:
            found = _known_sizes(op.outputs[0]) or _nothing(op) or folded(op)
            if found is not None and self.replace(op.outputs[0], found):
                return None
            if isinstance(found, Const) and self.replace_told(op.outputs[0], found):
                return None
        elif (parts := _parts(op)) is not None:
            self.replaced.update(parts)
            return None
        return super().visit(op)

    def replace_told(self, var: Var, value: Const) -> bool:
        """Replace a value whose declared sizes are less known than a constant's, if a walk learns sizes.

        This one does not.
        """
        return False


def _known_sizes(var: Var) -> Const | None:
    """Return the constant of an integer vector or scalar whose elements are literal sizes."""
    shape = None if var.sizes is None else literal_shape(var.type)
    if var.sizes is None or shape is None or not all(isinstance(d, int) for d in var.sizes):
        return None
    return Const(np.array(var.sizes, dtype=var.type.dtype).reshape(shape), var.hint)


def _parts(op: Op) -> dict[Var, Value] | None:
    """Return the parts of a small constant that a Split makes; None for another op."""
    whole = op.inputs[0] if op.kind == "Split" else None
    if not isinstance(whole, Const) or _bytes(whole) > LARGEST or _is_data(whole):
        return None
    axis = op.attributes.get("axis", 0)
    shapes = [literal_shape(v.type) for v in op.outputs]
    ends = np.cumsum([0 if s is None else s[axis] for s in shapes])
    found: dict[Var, Value] = {}
    for var, shape, part in zip(op.outputs, shapes, np.split(whole.numpy(), ends[:-1], axis), strict=True):
        if part.shape != shape:
            return None
        found[var] = Const(np.ascontiguousarray(part), var.hint, op.place)
    return found


def _nothing(op: Op) -> Value | None:
    """Return the empty array that an op reads, if its result is another of the same type.

    onnxruntime before 1.27 takes a sum with such a constant for its other operand, and onnx before 1.23 does not infer
    that an empty array read backwards is empty. Errors that another input might raise are still raised.
    """
    output = op.outputs[0].type
    shape = literal_shape(output)
    read = {v for v in op.inputs if isinstance(v, Var)}
    if shape is None or 0 not in shape or len(read) != 1 or not is_deterministic(op.kind):
        return None
    (value,) = read
    return value if same_types(value.type, output) else None


def folded(op: Op) -> Const | None:
    """Return the value of an op of small constants, or the shape of a value of known sizes; None for another op."""
    if op.kind in SHAPES:
        return _shape(op)
    constants: list[Const] = []
    for given in op.inputs:
        if not isinstance(given, Const) or _is_data(given):
            return None
        constants.append(given)
    if not constants or op.kind not in EVALUATORS or not is_deterministic(op.kind):
        return None
    if not _is_worth(op.outputs[0].type, constants):
        return None
    value = evaluate(op.kind, [c.numpy() for c in constants], op.attributes)
    if value is None or value.nbytes > _budget(constants):
        return None
    place = next((c.place for c in constants if c.place is not None), op.place)
    place = None if place is None else place._replace(variables=())  # it is another array than that of the variable
    return Const(np.ascontiguousarray(value).reshape(value.shape), op.outputs[0].hint, place)


def _is_data(const: Const) -> bool:
    """Whether it is a weight, or an array of floats, or of many bytes, that are not all one number, 0, 1 or -1.

    Ops on such an array are not folded: a file holds the array once, and who loads the file and differentiates with
    respect to it reaches all that depends on it. onnxruntime folds them when it loads the file.

    A short mask is not data. Conditions of Ifs are computed from masks, and onnxruntime may end the process when it
    folds an If of a constant condition.
    """
    dtype = const.type.dtype
    is_of_bytes = dtype.itemsize == 1 and dtype.kind in "iu" and not const.is_short
    is_array = math.prod(const.data.shape) > 1 and (is_of_bytes or dtype.kind not in "biuOUST")
    is_mask = const.is_short and const.is_pattern
    return const.is_weight or (is_array and const.number is None and not is_mask)


def _is_worth(type: Type, constants: list[Const]) -> bool:
    """Whether the inputs and, as far as its type says, the output are small."""
    if sum(map(_bytes, constants)) > LARGEST:
        return False
    shape = literal_shape(type)
    return shape is None or math.prod(shape) * type.dtype.itemsize <= _budget(constants)


def _budget(constants: list[Const]) -> int:
    return max(FREE, sum(map(_bytes, constants)))


def _bytes(const: Const) -> int:
    return math.prod(const.data.shape) * const.type.dtype.itemsize


def _shape(op: Op) -> Const | None:
    """Return the shape of a value of known type, whether the value is known or not."""
    source = op.inputs[0]
    shape = None if source is None else literal_shape(source.type)
    if shape is None:
        return None
    if op.kind == "Size":
        return Const(np.array(math.prod(shape), dtype=np.int64))
    window = slice(op.attributes.get("start", 0), op.attributes.get("end"))
    return Const(np.array(shape[window], dtype=np.int64))
