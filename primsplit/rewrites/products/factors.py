"""Move a factor behind a sum in derivatives, where few elements are left to multiply.

```
ReduceSum(Mul(x, c))         ->   Mul(ReduceSum(x), c)
MatMul(Mul(x, 0.5), y)       ->   Mul(MatMul(x, y), 0.5)
```

A loss or a scale multiplies array after array by a factor; this way it multiplies once. A sign is such a factor, `x +
x` has the factor 2, and `c / x` the factor c of `1 / x`. Numbers that follow each other become one. All of these round
differently, so that ops of values (not of derivatives) are left alone.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from primsplit.ir import Block, Op, Value, Var, reads, same_types
from primsplit.ops.traits import kinds_where, traits
from primsplit.rewrites.products.derivatives import OfDerivatives
from primsplit.rewrites.rewrites.table import is_zero, number, scalar
from primsplit.rewrites.rewriting import literal_shape

LARGE = 2**14
"""Bytes of an array from which on deferring a factor is worth it although several ops read the array."""
FEWER = 4
"""A sum has to be so many times smaller than its operand."""
RANGES = {"float32": 2.0**16, "float64": 2.0**128}
"""The largest factor that is deferred, and one over the smallest: sums without it must stay finite, as they were."""
SUMS = kinds_where(lambda t: not t.windows and t.terms and (t.contracts or t.reduces)) - {"Einsum"}


def factors_behind_sums(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with factors deferred among the ops that only the results in `gradients`, by position, need."""
    return _PuttingOff(block, gradients).run_and_drop(block)


@dataclass(frozen=True, slots=True)
class _Owing:
    """A value, as a base that remains to be multiplied by a number and by scalars."""

    base: Value
    factor: float = 1.0
    scalars: tuple[Value, ...] = ()


class _PuttingOff(OfDerivatives):
    """The walk. `summed` are the values of the current block whose readers all sum them, sooner or later.

    `owing` maps those of them that owe a factor to their base; `inverses` are the x of the `1 / x` made on the way.
    """

    def __init__(self, block: Block, gradients: Sequence[int]) -> None:
        super().__init__(block, gradients)
        self.summed: Collection[Value] = ()
        self.owing: dict[Value | None, _Owing] = {}
        self.inverses: dict[Value | None, Value] = {}
        self.around: list[Collection[Value]] = []

    def enter(self, block: Block) -> None:
        """A block's operands from around it are multiplied there."""
        self.around.append(self.summed)
        self.summed = _summed(block, self.early)

    def leave(self, block: Block) -> None:
        """Return to the block around."""
        self.summed = self.around.pop()

    def visit(self, op: Op) -> Op | None:
        """Return the op on the bases of its operands.

        The factors that they owe pass to its result, or are multiplied.
        """
        made = op.outputs[0]
        if made in self.summed:
            owing = self.own_factor(op) or self.operands_factors(op)
            if owing is None:
                return op
            self.owing[made] = owing
            return None
        follows = any(v in self.owing for v in op.inputs)
        owing = (self.own_factor(op) or self.operands_factors(op)) if follows else None
        return op if owing is None else self.multiplied(op, owing)

    def own_factor(self, op: Op) -> _Owing | None:
        """Return `-x`, `x + x`, `x * c` and `c / x` as a base that owes a factor; None for other ops."""
        found = _own_factor(op)
        if found is None or not isinstance(found.base, Var):
            return None
        if op.kind == "Div" and found.base is op.inputs[1]:
            inverse = Var(op.outputs[0].type)
            self.inverses[inverse] = found.base
            self.kept.append(op.beside("Reciprocal", (found.base,), (inverse,)))
            return replace(found, base=inverse)
        before = self.owing.get(found.base, _Owing(found.base))
        factor = before.factor * found.factor
        if not _is_put_off(factor, found.base):
            paid = Var(found.base.type)
            self.kept.append(self.multiplied(op.beside("Mul", (), (paid,)), before))
            return replace(found, base=paid)
        return _Owing(before.base, factor, (*before.scalars, *found.scalars))

    def operands_factors(self, op: Op) -> _Owing | None:
        """Return the op on the bases of its operands; its result owes their factors. None if they owe none."""
        if self.owing.keys().isdisjoint(op.inputs):
            return None
        before = [None if v is None else self.owing.get(v, _Owing(v)) for v in op.inputs]
        bases = tuple(None if b is None else b.base for b in before)
        made = Var(op.outputs[0].type)
        below = next((v for v in bases if op.kind == "Mul" and v in self.inverses), None)
        if below is None:
            self.kept.append(replace(op, inputs=bases, outputs=(made,)))
        else:
            above = bases[1] if bases[0] is below else bases[0]
            self.kept.append(op.beside("Div", (above, self.inverses[below]), (made,)))
        owing = [b for b in before if b is not None]
        return _Owing(made, math.prod(b.factor for b in owing), tuple(s for b in owing for s in b.scalars))

    def multiplied(self, op: Op, owing: _Owing) -> Op:
        """The op that computes the result of a value that owes factors, which are multiplied by each other before."""
        dtype = owing.base.type.dtype
        if not owing.scalars and abs(owing.factor) == 1:
            return op.beside("Identity" if owing.factor == 1 else "Neg", (owing.base,), op.outputs)
        factors = list(owing.scalars)
        if owing.factor != 1:
            factors.append(scalar(owing.factor, dtype))
        while len(factors) > 1:
            product = Var(scalar(1.0, dtype).type)
            self.kept.append(op.beside("Mul", (factors.pop(0), factors.pop(0)), (product,)))
            factors.append(product)
        return op.beside("Mul", (owing.base, factors[0]), op.outputs)


def _own_factor(op: Op) -> _Owing | None:
    """Return the operand, of the result's type, that an op multiplies, and by what; None for other ops."""
    made = op.outputs[0].type
    if op.kind == "Neg" and op.inputs[0] is not None:
        return _Owing(op.inputs[0], -1.0)
    if op.kind not in {"Add", "Mul", "Div"}:
        return None
    left, right = op.inputs
    assert left is not None
    assert right is not None
    if op.kind == "Add":
        return _Owing(left, 2.0) if left is right else None
    for x, by in ((left, right), (right, left)):
        if not same_types(x.type, made):
            continue
        factor = _number(by)
        if factor is not None:
            return _Owing(x, 1 / factor if op.kind == "Div" and by is right else factor)
        if op.kind == "Mul" and _is_scalar(by) and 0 not in (literal_shape(made) or (0,)):
            return _Owing(x, 1.0, (by,))
    return None


def _number(value: Value) -> float | None:
    """Return the number that a constant is, if it may be deferred."""
    found = number(value)
    return float(found) if found is not None and _is_put_off(float(found), value) else None


def _is_put_off(factor: float, value: Value) -> bool:
    most = RANGES[value.type.key[0]]
    return 1 / most <= abs(factor) <= most


def _is_scalar(value: Value) -> bool:
    """Whether it is a scalar known only to the run; not in float32, where sums might not be finite without it."""
    return isinstance(value, Var) and value.type.rank == 0 and value.type.key[0] == "float64"


def _summed(block: Block, early: Collection[Value]) -> set[Value]:
    """Return the values whose readers all sum them: through ops that a factor passes, into much smaller ones."""
    readers: defaultdict[Value | None, list[Op]] = defaultdict(list)
    apart: set[Value] = {r for r in block.results if isinstance(r, Var)}
    for op in block.ops:
        for value in op.inputs:
            readers[value].append(op)
        apart.update(set(reads(op)).difference(op.inputs))
    found: set[Value] = set()
    for op in reversed(block.ops):
        made = op.outputs[0]
        if len(op.outputs) != 1 or made in early or made in apart or not readers[made]:
            continue
        if made.type.key[0] not in RANGES or (len(readers[made]) > 1 and _is_small(made)):
            continue
        if all(_sums(r, made) or _multiplies(r, made) or _passes_on(r, made, found) for r in readers[made]):
            found.add(made)
    return found


def _is_small(value: Value) -> bool:
    size = value.type.literal_nbytes()
    return size is not None and size < LARGE


def _sums(reader: Op, value: Value) -> bool:
    """Whether the op sums the value to something much smaller, or of a size that only the run knows."""
    if reader.kind not in SUMS:
        return False
    if reader.kind == "Gemm" and (len(reader.inputs) > 2 or any(k in reader.attributes for k in ("alpha", "beta"))):
        return False
    before, after = value.type.literal_nbytes(), reader.outputs[0].type.literal_nbytes()
    if before is None or after is None or before < LARGE:
        return reader.kind == "ReduceSum" and reader.attributes.get("noop_with_empty_axes", 0) == 0
    return after * FEWER <= before


def _multiplies(reader: Op, value: Value) -> bool:
    """Whether the op multiplies the value by a number, with which another factor can be merged."""
    if reader.kind not in {"Mul", "Neg"} or reader.outputs[0].type.key[0] not in RANGES:
        return False
    found = _own_factor(reader)
    return found is not None and found.base is value and not found.scalars


def _passes_on(reader: Op, value: Value, summed: Collection[Value]) -> bool:
    """Whether a factor of the value is one of the op's result, which is summed and no larger."""
    made = reader.outputs[0]
    if made not in summed:
        return False
    if traits(reader.kind).permutes or reader.kind == "Neg":
        return True
    if reader.kind not in {"Add", "Mul", "Div", "Where"} or not same_types(value.type, made.type):
        return False
    if reader.kind == "Where":
        return any(x is value and is_zero(other) for x, other in pairwise([*reader.inputs[1:], reader.inputs[1]]))
    if reader.kind == "Div":
        return reader.inputs[1] is not value
    return reader.kind == "Mul" or reader.inputs[0] is reader.inputs[1]
