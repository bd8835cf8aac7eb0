"""Transpose arrays that may be empty around a Scan along another axis than the first.

```
Scan(xs: [3,N]) along axis 1   ->   Scan(Transpose(xs): [N,3]) along axis 0
```

onnxruntime transposes them too, within the Scan, and its process ends by a division by zero if a size is 0.
"""

from collections.abc import Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Type, Value, Var, dims
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.broadcasting import inverse_permutation


@fault(
    "scan_along_later_axis_of_nothing",
    kind="aborts",
    operators=("Scan",),
    says="A Scan of an empty array along another axis than the first ends the process.",
)
def walk_first_axes(block: Block) -> Block:
    """Return the block with each Scan walking, and stacking, arrays that may be empty along the first axis."""
    return _FirstAxes().run(block)


class _FirstAxes(Rewriter):
    kinds = frozenset({"Scan"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or a Scan between Transposes; the last of these."""
        if op.kind != "Scan":
            return super().visit(op)
        _, carries = lead_and_carries(op)
        inputs, walked = self._turned_inputs(op, carries)
        outputs, stacked, turning = _turned_outputs(op, carries)
        if len(turning) == 0 and all(a is b for a, b in zip(inputs, op.inputs, strict=True)):
            return super().visit(op)
        axes = {"scan_input_axes": walked, "scan_output_axes": stacked}
        made = replace(op, inputs=inputs, outputs=outputs, attributes={**op.attributes, **axes})
        self.kept.extend((made, *turning)[:-1])
        return turning[-1] if turning else made

    def _turned_inputs(self, scan: Op, carries: int) -> tuple[tuple[Value | None, ...], list[int]]:
        sequences = scan.inputs[carries:]
        axes = list(scan.attributes.get("scan_input_axes", [0] * len(sequences)))
        found = list(sequences)
        for i, (value, axis) in enumerate(zip(sequences, axes, strict=True)):
            order = None if value is None else _order(value.type, axis)
            if value is None or order is None:
                continue
            turned = Var(_permuted(value.type, order))
            self.kept.append(scan.beside("Transpose", (value,), (turned,), {"perm": order}))
            found[i], axes[i] = turned, 0
        return (*scan.inputs[:carries], *found), axes


def _turned_outputs(scan: Op, carries: int) -> tuple[tuple[Var, ...], list[int], list[Op]]:
    """Return the outputs of a Scan that stacks along the first axis, its axes, and Transposes back."""
    stacks = scan.outputs[carries:]
    axes = list(scan.attributes.get("scan_output_axes", [0] * len(stacks)))
    found, turning = list(stacks), []
    for i, (var, axis) in enumerate(zip(stacks, axes, strict=True)):
        order = _order(var.type, axis)
        if order is None:
            continue
        found[i], axes[i] = Var(_permuted(var.type, order), var.hint), 0
        turning.append(scan.beside("Transpose", (found[i],), (var,), {"perm": inverse_permutation(order)}))
    return (*scan.outputs[:carries], *found), axes, turning


def _order(type: Type, axis: int) -> list[int] | None:
    """Return the axes with this one first; None if it is first already, or the array is never empty."""
    if type.shape is None or axis in {0, -len(type.shape)} or all(dims.above(d, 0) for d in type.shape):
        return None
    rank = len(type.shape)
    first = axis % rank
    return [first, *(a for a in range(rank) if a != first)]


def _permuted(type: Type, order: Sequence[int]) -> Type:
    shape = type.shape or ()
    return Type(type.dtype, [shape[a] for a in order])
