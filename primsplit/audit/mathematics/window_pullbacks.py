"""Recognize the gradients of pools and convolutions by the nodes that primsplit writes for them.

```
rows = max_pool(x as [6, 1, 9, 9]); mask = rows == y; ...   ->   d_x = max_pool_grad(d_y, x, kernel=3, strides=2)
```

Overlapping pools, pools of float64, and dilated or depthwise convolutions have pullbacks of many nodes. One is claimed
where each operator, each attribute and each constant is that of the pullback of the node in the forward pass.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from primsplit.audit.mathematics.sameness import KnownNodes
from primsplit.audit.mathematics.shortcuts import Idiom, claimed, computed_by, read_by_statement
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.statements import Assignment, Statement
from primsplit.audit.trees import call, literal, name
from primsplit.ir import Block, Op, Value, Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.namespace import later
from primsplit.ops.schema import schema
from primsplit.programs.api import split
from primsplit.targets.finish import finish

GRADS = {"MaxPool": ("max_pool_grad", 0), "Conv": ("conv_kernel_grad", 1)}
"""The function that is the gradient of an operator, and the input by which."""
NAMES = {"kernel_shape": "kernel", "strides": "strides", "dilations": "dilations", "pads": "pads", "group": "group"}
"""The arguments of these functions, by the attributes of the operators."""


@dataclass(frozen=True, slots=True)
class _Pullback:
    """The nodes of a pullback after those of its operator; the cotangent is the last parameter of the block."""

    forward: Op
    function: str
    block: Block
    at: int

    @property
    def result(self) -> Value:
        """The gradient."""
        return self.block.results[-1]


def with_window_pullbacks(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return statements with a gradient by its name in the place of those that compute it."""
    forwards = [s.op for s in statements if s.op.kind in GRADS and isinstance(s, Assignment)]
    plain = [s.op for s in statements if not isinstance(s, Idiom) and s.op.kind not in GRADS]
    forwards = [op for op in forwards if any(_is_like(other, op.inputs[GRADS[op.kind][1]]) for other in plain)]
    pullbacks = [each for op in forwards if (each := _pullback(op, sizes)) is not None]
    pullbacks.sort(key=lambda pullback: len(pullback.block.ops), reverse=True)
    made = {v: s.op for s in statements for v in s.op.outputs}
    readers = Counter(v for s in statements for v in read_by_statement(s))
    by_op = {s.op: s for s in statements}
    found: dict[Op, Idiom] = {}
    hidden: set[Op] = set()
    for pullback in pullbacks:
        for statement in reversed(statements):
            if isinstance(statement, Idiom) or statement.op in found or statement.op in hidden:
                continue
            given = _given(statement, pullback, made, sizes)
            if given is None:
                continue
            ops = claimed(statement, given, {*given, *pullback.forward.outputs}, made, readers, by_op)
            hidden.update(ops)
            found[statement.op] = _written(statement, pullback, given, ops, sizes)
            break
    return [found.get(s.op, s) for s in statements if s.op not in hidden]


def _written(
    statement: Statement, pullback: _Pullback, given: tuple[Var, Var], ops: Sequence[Op], sizes: Sizes
) -> Idiom:
    """Return the statement of a gradient."""
    forward = pullback.forward
    told = {NAMES[key]: _literal(value) for key, value in _told(forward).items()}
    if pullback.function == "conv_kernel_grad":
        assert forward.inputs[1] is not None
        told["kernel"] = literal([*(sizes.shape(forward.inputs[1]) or ())[2:]])
    value = call(pullback.function, *(name(sizes.names[v]) for v in given), **told)
    return computed_by(statement, pullback.function, given, (*ops, *statement.ops), value)


def _is_like(op: Op, value: Value | None) -> bool:
    """Whether the only result of an op has the type of a value, as its gradient has."""
    return value is not None and len(op.outputs) == 1 and op.outputs[0].type == value.type


def _told(op: Op) -> dict[str, Any]:
    """Return the attributes of an operator that are not the schema's defaults."""
    defaults = schema(op.kind).defaults
    return {key: value for key, value in op.attributes.items() if key not in defaults or value != defaults[key]}


def _literal(value: Any) -> Any:
    return literal(value if isinstance(value, int) else [*map(int, value)])


def _pullback(op: Op, sizes: Sizes) -> _Pullback | None:
    """Return the pullback of an operator of known sizes; None for one that has other attributes."""
    function, at = GRADS[op.kind]
    inputs = [v for v in op.inputs if v is not None]
    shapes = [sizes.shape(v) for v in inputs]
    attributes = _told(op)
    is_known = all(s is not None and all(isinstance(d, int) for d in s) for s in shapes)
    if not is_known or not {*attributes} <= {*NAMES} or len(op.outputs) > 1 or len(inputs) != len(op.inputs):
        return None
    try:
        made = split(lambda *given: getattr(later, op.kind)(*given, **attributes), *(v.type for v in inputs), wrt=at)
        block = finish(made.joint().block)
    except PrimsplitError:
        return None
    return _Pullback(op, function, block, at)


def _given(statement: Statement, pullback: _Pullback, made: Mapping[Var, Op], sizes: Sizes) -> tuple[Var, Var] | None:
    """Return the cotangent and the array of which a statement computes the gradient."""
    result, outputs = pullback.result, statement.op.outputs
    last = pullback.block.ops[-1]
    if len(outputs) != 1 or outputs[0].type != result.type or statement.op.kind != last.kind:
        return None
    *inputs, free = pullback.block.params
    pairs: dict[Value, Value] = dict(zip(inputs, (v for v in pullback.forward.inputs if v is not None), strict=False))
    search = KnownNodes(pullback.block, free, pairs, made, sizes.constants)
    if not search.values(result, outputs[0]):
        return None
    found = search.pairs.get(free), pullback.forward.inputs[0]
    cotangent, array = found
    if not isinstance(cotangent, Var) or not isinstance(array, Var):
        return None
    return (cotangent, array) if {cotangent, array} <= {*sizes.names} else None
