"""The derivative rule of a written-out `1 / (1 + exp(z))`: -y (1 - y), with 1 - y computed as 1 / (1 + exp(-z)).

So it is right to a rounding at both ends, and 0 where exp(z) overflows.
"""

from primsplit import tracing
from primsplit.ir import Value
from primsplit.ops import op
from primsplit.rules.table import Pullback
from primsplit.tracing.array import Array
from primsplit.tracing.regions import record


def written_logistic(z: Array) -> tuple[Array, Pullback]:
    """The rule of the call that `logistic_of` records."""
    y = op.Div(1.0, op.Add(1.0, op.Exp(z)))

    def pullback(dy: Array) -> Array:
        return op.Neg(op.Mul(dy, op.Mul(y, Array(logistic_of(op.Neg(z).value)))))

    return y, pullback


def logistic_of(z: Value) -> Value:
    """Record 1 / (1 + exp(z)), for z of any shape and floating-point dtype, as a call with a rule of its own."""
    body = record("logistic", [z.type], lambda x: [written_logistic(x)[0].value])
    return tracing.emit_call("logistic", body, [z], {"rule": written_logistic})[0]
