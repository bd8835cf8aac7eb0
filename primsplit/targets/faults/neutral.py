"""Keep onnxruntime from dropping constants that look like 0 or 1: float64 ones that are in float32, and empty ones.

```
Add(x: float64, 1e-300)      ->   Sum(x, 1e-300)
Mul(x: float64, 1 + 1e-9)    ->   Mul(Mul(x, 0.5 + 0.5e-9), 2)
```

onnxruntime 1.31.1 removes the addition and subtraction of 0 and the multiplication with and division by 1, and compares
a constant of one element with them after rounding it to float32: log(x + 1e-300) becomes log(x), and x * (1 + 1e-9)
becomes x. It looks at Add, Sub, Mul and Div alone. So a term is added by Sum, and a factor is halved and its product
doubled, which is exact except where a number has no half. A product with (1 + 1e-9) / n becomes a quotient by n: of
such a numerator the sign is taken out.

Before 1.27 a constant without elements is neutral too, and the result has then the other operand's shape, or the file
does not load. Max broadcasts to an empty result instead.
"""

import math
from collections.abc import Sequence

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, has_blocks
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.rewrites.rewriting import Rewriter

NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0}
"""The number beside which onnxruntime drops an operator. No trait: it keeps others that have one."""


@fault(
    "faint_constant_taken_for_neutral",
    kind="wrong",
    operators=("Add", "Sub", "Mul", "Div"),
    says="A float64 constant of one element that is 0 or 1 in float32 is dropped from a sum or a product: `f(x) + "
    "1e-60` becomes `f(x)`.",
)
@fault(
    "empty_constant_taken_for_neutral",
    kind="wrong",
    operators=("Add", "Sub", "Mul", "Div"),
    says="A constant without elements is dropped from a sum or a product: the result has the other operand's "
    "shape, or the file does not load.",
    before="1.27",
)
def keep_faint_constants(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with constants that look neutral written so that they count; the same block if it has none."""
    return _Keeping(runtime).run(block)


class _Keeping(Rewriter):
    """The walk."""

    kinds = frozenset(NEUTRAL)

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.drops_empty = runtime.has("empty_constant_taken_for_neutral")
        self.known: set[Var] = set()
        """Vars computed from constants alone, such as a part of a weight. onnxruntime folds them at load."""

    def visit(self, op: Op) -> Op | None:
        """Return an op with such a constant by operators that onnxruntime does not look at."""
        if op.inputs and all(isinstance(v, Const) or v in self.known for v in op.inputs) and not has_blocks(op):
            self.known.update(op.outputs)
        if op.kind in NEUTRAL and self.drops_empty and any(map(_is_empty, (*op.inputs, *op.outputs))):
            return op.beside("Max", op.inputs, op.outputs)
        if op.kind not in NEUTRAL or op.outputs[0].type.dtype != np.float64:
            return super().visit(op)
        places = [i for i, v in enumerate(op.inputs) if self._may_look_neutral(op, v)]
        places = [i for i in places if i == 1 or op.kind != "Sub"]
        if not places:
            return super().visit(op)
        *before, last = _kept(op, places[0])
        self.kept.extend(before)
        return last

    def _may_look_neutral(self, op: Op, value: Value | None) -> bool:
        """Whether a constant looks neutral, or is one number that onnxruntime folds, without the whole op."""
        if _looks_neutral(value, NEUTRAL[op.kind]):
            return True
        if not isinstance(value, Var) or value not in self.known or self.known.issuperset(op.outputs):
            return False
        # A symbolic size of what is known may be 1.
        return all(not isinstance(d, int) or d == 1 for d in value.type.shape or ())


def _is_empty(value: Value | None) -> bool:
    """Whether a value surely has no elements: onnxruntime may find that it is a constant."""
    return value is not None and any(isinstance(d, int) and d == 0 for d in value.type.shape or ())


def _looks_neutral(value: Value | None, neutral: float) -> bool:
    """Whether it is a constant of one element that is not this number, but is when rounded to float32."""
    if not isinstance(value, Const) or math.prod(value.data.shape) != 1:
        return False
    number = value.numpy().item()
    return bool(number != neutral and abs(number) < 2 and np.float32(number) == np.float32(neutral))


def _kept(op: Op, place: int) -> Sequence[Op]:
    constant = op.inputs[place]
    assert constant is not None
    is_numerator = op.kind == "Div" and place == 0
    factor = {"Add": 1.0, "Sub": -1.0, "Mul": 0.5, "Div": -1.0 if is_numerator else 2.0}[op.kind]
    before, replaced = _times(op, constant, factor)
    inputs = tuple(replaced if i == place else v for i, v in enumerate(op.inputs))
    if op.kind in {"Add", "Sub"}:
        return [*before, op.beside("Sum", inputs, op.outputs)]
    result = op.outputs[0]
    other = Var(result.type, sizes=result.sizes)
    if is_numerator:
        return [*before, op.beside("Div", inputs, (other,)), op.beside("Neg", (other,), op.outputs)]
    two = Const(np.asarray(2.0))
    return [*before, op.beside(op.kind, inputs, (other,)), op.beside("Mul", (other, two), (result,))]


def _times(op: Op, constant: Value, factor: float) -> tuple[list[Op], Value]:
    """Return the constant times a number, and the ops that compute it from a weight, which stays in the file."""
    if factor == 1.0:
        return [], constant
    if isinstance(constant, Const) and not constant.is_weight:
        return [], Const(np.asarray(constant.numpy() * factor))
    made = Var(constant.type)
    return [op.beside("Mul", (constant, Const(np.asarray(factor))), (made,))], made
