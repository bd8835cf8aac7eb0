"""Replace a written-out `1 / (1 + exp(z))` by a call with a rule of its own, before differentiation.

A pullback of the pieces is infinity times 0 where exp(z) overflows: beyond 88 in float32, 11 in float16. The values do
not change.

```
e = Exp(z)
t = Add(1.0, e)      ->     y = call::logistic(z), whose body is these ops
y = Div(1.0, t)
```
"""

from primsplit.ir import Block, Op, Value
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.rewrites.uses import LookingUp, Ops, is_number
from primsplit.transforms.idioms.logistic_rule import logistic_of


def recognize_logistics(block: Block) -> Block:
    """Return the block with such calls, in sub-blocks too; itself if there are none."""
    return _Recognizing().run_and_drop(block)


class _Recognizing(LookingUp):
    """The walk."""

    def visit(self, op: Op) -> Op | None:
        """Return a call in the place of a quotient or reciprocal that is a logistic function."""
        z = _argument(op, self.ops)
        if z is None:
            return super().visit(op)
        with recorded_beside(op) as around:
            y = logistic_of(z)
        (call,) = around.ops
        self.replaced[op.outputs[0]] = y
        return call


def _argument(op: Op, seen: Ops) -> Value | None:
    """Return the z of 1 / (1 + exp(z)); None if the op is something else, or anything else reads a part of it."""
    divisor = op.inputs[0] if op.kind == "Reciprocal" else op.inputs[1] if op.kind == "Div" else None
    total = seen.op(divisor, "Add")
    if total is None or (op.kind == "Div" and not is_number(op.inputs[0], 1.0)):
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        exp = seen.op(other, "Exp")
        if exp is not None and is_number(one, 1.0):
            return exp.inputs[0]
    return None
