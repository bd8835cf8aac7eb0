"""Find the values that onnxruntime may move a Transpose to: past elementwise ops, to a product that it is fused with.

```
y = Exp(Transpose(x));  MatMul(y, z)      # onnxruntime: MatMul(Transpose(Exp(x)), z), then FusedMatMul(Exp(x), z)
```

It does so while a file is loaded, after everything here. Workarounds for its fused products therefore do not ask
whether a Transpose stands before a product, but whether one may be moved there.
"""

from collections.abc import Callable, Iterable, Set

from primsplit.ir import Op, Value

BARRIERS = frozenset({"Reshape", "Flatten", "MatMul", "Gemm", "Gather", "GatherND", "If", "Loop", "Scan"})
"""Operators, among others, past which no Transpose is moved. No trait: what onnxruntime does with them."""


class Reached:
    """The values that certain Transposes may be moved to, found by following the ops in their order.

    `starts` decides whether an op is such a Transpose; `values` are reached from the beginning. None is moved past
    `barriers`.
    """

    def __init__(
        self, starts: Callable[[Op], bool], barriers: Set[str] = BARRIERS, values: Iterable[Value | None] = ()
    ) -> None:
        self.starts = starts
        self.barriers = barriers
        self.values = set(values)

    def follow(self, op: Op) -> None:
        """Follow the next op: its results are reached if one of its inputs is."""
        if self.starts(op) or (op.kind not in self.barriers and self.meets(op)):
            self.values.update(op.outputs)

    def meets(self, op: Op) -> bool:
        """Whether the op reads a value that is reached."""
        return not self.values.isdisjoint(op.inputs)

    def __contains__(self, value: Value | None) -> bool:
        return value in self.values


def permutation(op: Op) -> tuple[int, ...]:
    """Return a Transpose's order of the axes, by default reversed; () for any other op, or an unknown rank."""
    if op.kind != "Transpose":
        return ()
    given = op.attributes.get("perm")
    return tuple(reversed(range(op.outputs[0].type.rank or 0))) if given is None else tuple(given)


def moves_first(op: Op) -> bool:
    """Whether it is a Transpose that puts another axis first, or of an unknown rank."""
    return op.kind == "Transpose" and permutation(op)[:1] != (0,)
