"""Know what the Ifs around an op have found out about sizes: the base class of passes that guard ops by such Ifs.

```
If(Less(Size(x), 200000)): Size(x) < 200000 here, else Size(x) >= 200000 here
```

A file that is loaded holds the guards that were written into it. A pass that asks here whether a size is small enough,
or above 0, finds the answer in the If around the op, and does not guard the op again. Else each turn of loading and
saving would nest the same If once more.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from primsplit.ir import Block, Op, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ops import op as operators
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.array import Array

Answer = tuple[Dim, ...]
"""Sizes that are at least 0."""
ORDERS = {
    "Less": (False, True),
    "LessOrEqual": (False, False),
    "Greater": (True, True),
    "GreaterOrEqual": (True, False),
}
"""Whether a comparison swaps its operands, and whether equal ones make it false. No trait: their meaning."""


class SizeRewriter(Rewriter):
    """A walk that knows which sizes the Ifs around an op compare with what.

    `answers` maps a comparison of sizes to what is at least 0 where it is true, and where it is false. `known` is what
    is at least 0 around the op.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[Value, tuple[Answer, Answer]] = {}
        self.known: list[Dim] = []

    def enter(self, block: Block) -> None:
        """Note the block's comparisons of sizes."""
        for op in block.ops:
            if len(op.outputs) == 1 and op.outputs[0].type.dtype == np.bool_:
                found = self._answers(op)
                if found is not None:
                    self.answers[op.outputs[0]] = found

    def inside(self, op: Op) -> Mapping[str, object]:
        """Walk the op's blocks: in the branches of an If, its condition is known to be true or false."""
        answers = self.answers.get(op.inputs[0]) if op.kind == "If" and op.inputs[0] is not None else None
        if answers is None:
            return super().inside(op)
        found = dict(op.attributes)
        for name, answer in zip(("then_branch", "else_branch"), answers, strict=True):
            count = len(self.known)
            self.known.extend(answer)
            found[name] = self.run(op.attributes[name])
            del self.known[count:]
        return op.attributes if all(found[name] is op.attributes[name] for name in found) else found

    def above(self, a: Dim, b: Dim) -> bool:
        """Whether a > b for all values of the symbols that come to the op; False if that is not proven."""
        if dims.above(a, b):
            return True
        return self._is_known(a - b - 1) or (dims.same(b, 0) and all(map(self._is_filled, dims.factors(a))))

    def _is_filled(self, size: Dim) -> bool:
        return dims.above(size, 0) or self._is_known(size - 1)

    def _is_known(self, size: Dim) -> bool:
        """Whether a size is at least as large as one that is known to be at least 0."""
        return any(dims.at_least(size, least) for least in self.known)

    def _answers(self, op: Op) -> tuple[Answer, Answer] | None:
        """Return the sizes that are at least 0 where the result of `op` is true, and those where it is false.

        None if neither is known.
        """
        if op.kind in {"And", "Or", "Not"}:
            parts = [self.answers.get(v, ((), ())) for v in op.inputs if v is not None]
            true, false = (tuple(size for part in parts for size in part[side]) for side in (0, 1))
            found = {"And": (true, ()), "Or": ((), false), "Not": (false, true)}[op.kind]
            return found if any(found) else None
        compared = [None if v is None else v.sizes for v in op.inputs]
        if len(compared) != 2:
            return None
        left, right = compared
        if left is None or right is None or (len(left), len(right)) != (1, 1):
            return None
        a, b = left[0], right[0]
        if op.kind == "Equal":
            return (a - b, b - a), _unequal(a, b)
        if op.kind not in ORDERS:
            return None
        swaps, strictly = ORDERS[op.kind]
        a, b = (b, a) if swaps else (a, b)
        return (b - a - strictly,), (a - b - (not strictly),)


def _unequal(a: Dim, b: Dim) -> Answer:
    """Return sizes that are at least 0 where two sizes differ.

    If one is 0, the other is not: each of its factors is at least 1.
    """
    sizes: Sequence[Dim] = [size for size, zero in ((a, b), (b, a)) if dims.same(zero, 0)]
    return tuple(part - 1 for size in sizes for part in dims.factors(size))


def is_any_less(x: Array, least: Mapping[int, int]) -> Value:
    """Record whether one of these axes is shorter than its number, by comparisons that `SizeRewriter` reads."""
    sizes = ((operators.Squeeze(operators.Shape(x, start=axis, end=axis + 1), [0]), n) for axis, n in least.items())
    tests = [operators.Less(size, n) for size, n in sizes]
    return functools.reduce(operators.Or, tests).value
