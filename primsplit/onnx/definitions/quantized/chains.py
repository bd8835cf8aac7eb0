"""Give chains of integer operators between a quantization and its reversal the straight-through derivative.

```
q = QuantizeLinear(x, s);  y = DequantizeLinear(q, s)   ->   y = call::primsplit::FakeQuantize(x, s)   # dy/dx = 1
```

`with_straight_through` walks a block. Where integers are converted to numbers again (DequantizeLinear, or a Cast of an
integer product), it finds their meaning: the numbers that were quantized, or the product or convolution of those. The
value stays that of the integers, bit by bit; the derivative is that of the numbers. If an operator in between turns
them into integers of unknown meaning, the derivative is refused, since it is not 0.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from primsplit import ir, tracing
from primsplit.ir import Block, Const, Op, Value, Var, is_call, live_ops, renamed, walk
from primsplit.ir.carriers import POWERS_OF_TWO, QUANTIZED
from primsplit.ir.dims import same_shape
from primsplit.ir.errors import PrimsplitError
from primsplit.ir.passes import imported
from primsplit.onnx.definitions.quantized.fake_quantize import (
    FAKE_QUANTIZE,
    STRAIGHT_THROUGH,
    UNFOLLOWED,
    dequantized,
    fake_quantize,
    straight_through,
    unfollowed,
)
from primsplit.onnx.definitions.quantized.meaning import Meaning, is_same, is_single, number
from primsplit.onnx.definitions.quantized.moved_integers import LAYOUT, moved
from primsplit.onnx.definitions.quantized.ranges import cancels, smooth_scale
from primsplit.ops import op
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewrites.selection import is_lossless
from primsplit.tracing.array import Array
from primsplit.tracing.hooks import HOOKS

SOURCES = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})
PRODUCTS = kinds_where(lambda t: t.contracts and not t.terms)
"""Operators that multiply integers."""
QUANTIZING = SOURCES | PRODUCTS
OPENED = QUANTIZING | LAYOUT | {"DequantizeLinear"}
TOLD = frozenset({f"call::{STRAIGHT_THROUGH}", f"call::{UNFOLLOWED}"})
_UNIT = np.ones((), np.float32)


def with_straight_through(block: Block) -> Block:
    """Return the block with the straight-through derivative wherever it reads quantized numbers.

    Its values, parameters and results stay. A call with integer inputs or outputs is inlined, so that a chain is
    followed through it; other calls stay, and so do those with their own rule. Done twice it changes nothing.
    """
    with tracing.fresh_stack():
        return _Walk({}, {}, {}, {}).run(block)


HOOKS.with_straight_through = imported(f"{__name__.partition('.')[2]}.with_straight_through", "|".join(QUANTIZING))


def _is_opened(call: Op) -> bool:
    """Whether a chain of integers may go through a call, or end in it."""
    held = call.attributes
    is_closed = "rule" in held or held.get("inline") is False
    if is_closed or not any(map(_holds_integers, (*call.inputs, *call.outputs))):
        return False
    return any(step.kind in OPENED for step in walk(held["body"]))


def _holds_integers(value: Value | None) -> bool:
    """Whether it holds quantized numbers, or a product of integers."""
    if value is None:
        return False
    dtype = value.type.dtype
    return value.type.key[0] in QUANTIZED or (dtype.kind in "iu" and dtype.itemsize < 8)


class _Walk:
    """One walk. `origins` maps a Var to the op that defines it, `meanings` integers to their meaning, once asked.

    `lost` are integers computed from quantized numbers by an op that leaves their meaning unknown: that op, and the
    numbers. `told` are numbers that have their derivative already, `settled` the scales of numbers that an earlier walk
    wrote.
    """

    def __init__(
        self,
        replaced: dict[Var, Value],
        origins: dict[Var, Op],
        meanings: dict[Var, Meaning | None],
        lost: dict[Var, tuple[Op, Array]],
    ) -> None:
        self.replaced = replaced
        self.origins = origins
        self.meanings = meanings
        self.lost = lost
        self.told: set[Value | None] = set()
        self.settled: set[Value | None] = set()

    def run(self, block: Block) -> Block:
        """Return the block, or sub-block, rewritten."""
        for step in reversed(block.ops):
            if step.kind in TOLD:
                self.told.add(step.inputs[0])
            elif step.kind == f"call::{FAKE_QUANTIZE}":
                self.settled.add(step.inputs[1])
            elif step.kind == "Mul" and step.outputs[0] in self.told:  # as `dequantized` writes it
                self.told.update(step.inputs)
        with tracing.recording() as recorded:
            for param in block.params:
                recorded.learn(param)
            for step in block.ops:
                recorded.place = step.place
                recorded.remark = step.remark
                self.step(step, block)
            results = tuple(self.value(r) for r in block.results)
        return Block(block.name, block.params, tuple(live_ops(recorded.ops, results)), results)

    def value(self, value: Value) -> Value:
        """Return the current replacement of this value."""
        return renamed(value, self.replaced)

    def step(self, step: Op, block: Block | None = None) -> None:
        """Record an op, its replacement, or the ops of a call that quantizes; `block` holds the op."""
        inputs = tuple(None if v is None else self.value(v) for v in step.inputs)
        if is_call(step) and _is_opened(step):
            ops: list[Op] = []
            results = ir.inline(step.attributes["body"], [v for v in inputs if v is not None], ops)
            for inner in ops:
                self.step(inner)
            self.replaced.update((o, self.value(r)) for o, r in zip(step.outputs, results, strict=True))
            return
        read = replace(step if is_call(step) else step.with_blocks(self.inside), inputs=inputs)
        found = None if step.outputs[0] in self.told else self.numbers(read)
        if found is not None:
            self.replaced[step.outputs[0]] = found.value
            return
        tracing.append(read)
        self.origins.update((v, read) for v in step.outputs)
        if step.kind == "DynamicQuantizeLinear" and not {step.outputs[1]} & (self.told | self.settled):
            self.rescale(read, block)
        for var in step.outputs:
            # Asked at once, a chain is followed by one step here rather than from its end, by all of them.
            if _holds_integers(var) and self.meaning(var) is None:
                self.lose(var, read)

    def rescale(self, step: Op, block: Block | None) -> None:
        """Give the scale of a quantization a derivative, unless it is known to cancel."""
        if block is None or not cancels(step, block):
            scale = step.outputs[1]
            smooth = smooth_scale(Array(_present(step, 0)), scale)
            self.replaced[scale] = straight_through(Array(scale), smooth).value

    def inside(self, block: Block) -> Block:
        """A sub-block rewritten: what it learns of integers around it is recorded in it, and is not known outside."""
        return _Walk(dict(self.replaced), dict(self.origins), dict(self.meanings), dict(self.lost)).run(block)

    def lose(self, var: Var, origin: Op) -> None:
        """Note that the meaning of these integers is unknown, if they come from some of known meaning."""
        blocks = [b for b in origin.attributes.values() if isinstance(b, Block)]
        read = [*origin.inputs, *(v for b in blocks for s in walk(b) for v in s.inputs)]
        for value in [v for v in (*read, *(r for b in blocks for r in b.results)) if isinstance(v, Var)]:
            meaning = self.meanings.get(value)
            if value in self.lost or meaning is not None:
                self.lost[var] = self.lost[value] if meaning is None else (origin, meaning.numbers)
                return

    def numbers(self, step: Op) -> Array | None:
        """Return the numbers that an op converts integers to, with a derivative; None for any other op."""
        if step.kind not in {"DequantizeLinear", "Cast"} or not step.outputs[0].type.is_float:
            return None
        value = _present(step, 0)
        meaning = self.meaning(value)
        if meaning is None and not self.is_lost(value):
            return None
        if step.kind == "DequantizeLinear":
            along = _along(step)
            found, is_exact = self.dequantized(value, _present(step, 1), _optional(step, 2), along)
            # What onnxruntime fuses, which rounds, depends on how the axis is written: a pair writes it in one way.
            is_exact = is_exact and (is_single(_present(step, 1)) or self.written(value) == _written(step))
            if found is not None:
                return found if is_exact else _exact(step, found)
        elif meaning is not None and meaning.along is None:
            return _exact(step, op.Cast(meaning.levels(None), to=step.outputs[0].type.dtype))
        return self.refusing(Array(tracing.emit(step.kind, step.inputs, step.attributes)[0]), value, step)

    def is_lost(self, value: Value) -> bool:
        """Whether integers come from quantized numbers, and have no known meaning."""
        return isinstance(value, Var) and value in self.lost

    def refusing(self, exact: Array, value: Value, origin: Op) -> Array:
        """Return numbers read from integers.

        Their derivative is refused if the integers come from quantized numbers.
        """
        meaning = self.meaning(value)
        if isinstance(value, Var) and value in self.lost:
            return unfollowed(exact, self.lost[value][1], self.lost[value][0])
        return exact if meaning is None else unfollowed(exact, meaning.numbers, origin)

    def written(self, value: Value) -> int | None:
        """Return the axis of the quantization that these integers come from, as it is written."""
        return _written(self.origins[value]) if isinstance(value, Var) else None

    def dequantized(
        self, value: Value, scale: Value, zero: Value | None, along: tuple[int, int]
    ) -> tuple[Array | None, bool]:
        """Return integers as numbers with a derivative, None if they come from none; and whether bit by bit."""
        meaning = self.meaning(value)
        if meaning is None:
            return None, False
        is_same_scale = self.is_equal(self.uncast(scale), self.uncast(meaning.scale))
        if is_same_scale and self.is_equal(zero, meaning.zero) and meaning.along in {None, along}:
            if scale.type.dtype == meaning.scale.type.dtype:
                return meaning.numbers, True
            return op.Cast(meaning.numbers, to=scale.type.dtype), False
        if meaning.along is not None or not is_single(scale):
            return None, False
        return op.Mul(meaning.levels(zero), Array(scale)), False

    def is_equal(self, a: Value | None, b: Value | None) -> bool:
        """Whether two values are the same, or broadcast from the same value in the same way."""
        if is_same(a, b):
            return True
        if not (isinstance(a, Var) and isinstance(b, Var)) or a not in self.origins or b not in self.origins:
            return False
        if a.sizes is not None and b.sizes is not None:
            return same_shape(a.sizes, b.sizes)
        made, other = self.origins[a], self.origins[b]
        if made.kind != other.kind or made.kind not in {"Expand", "Reshape"} or made.attributes != other.attributes:
            return False
        return all(map(self.is_equal, made.inputs, other.inputs))

    def uncast(self, scale: Value) -> Value:
        """Return a scale before it was cast to a dtype that holds all its numbers."""
        origin = self.origins.get(scale) if isinstance(scale, Var) else None
        if origin is None or origin.kind != "Cast":
            return scale
        before = _present(origin, 0)
        is_wider = before.type.key[0] == POWERS_OF_TWO or is_lossless(before.type.dtype, scale.type.dtype)
        return self.uncast(before) if is_wider else scale

    def meaning(self, value: Value) -> Meaning | None:
        """Return the meaning of integers; None if they come from no known numbers."""
        if not isinstance(value, Var) or value not in self.origins:
            return None
        if value not in self.meanings:
            self.meanings[value] = self.found(value, self.origins[value])
        return self.meanings[value]

    def found(self, value: Var, origin: Op) -> Meaning | None:
        if any(isinstance(v, Var) and v in self.lost for v in origin.inputs):
            return None
        if origin.kind == "QuantizeLinear":
            return _of_quantized(origin)
        if origin.kind == "DynamicQuantizeLinear" and value == origin.outputs[0]:
            _, scale, zero = origin.outputs
            # The numbers are what they would be without integers: they do not vary with the scale.
            numbers = fake_quantize(Array(_present(origin, 0)), Array(scale), Array(zero))
            return Meaning(numbers, self.value(scale), zero)
        if origin.kind in {"MatMulInteger", "ConvInteger"}:
            left, right = self.levels(origin, 0), self.levels(origin, 1)
            return Meaning(_multiplied(origin, left, right, None), Const(_UNIT), None)
        if origin.kind in {"QLinearMatMul", "QLinearConv"}:
            return self.product(origin, value)
        if origin.kind == "Concat":
            return self.concatenation(origin)
        if origin.kind == "Add":
            return self.shifted(origin)
        if origin.kind == "Cast" and is_lossless(_present(origin, 0).type.dtype, value.type.dtype):
            return self.meaning(_present(origin, 0))
        if origin.kind in LAYOUT:
            meaning = self.meaning(_present(origin, 0))
            return None if meaning is None else moved(origin, value, meaning)
        return None

    def shifted(self, origin: Op) -> Meaning | None:
        """The meaning of a sum of integers without a zero point and others of the same scale: the bias of a product."""
        (left, found), (right, other) = ((v, self.meaning(v)) for v in (_present(origin, 0), _present(origin, 1)))
        if found is None:
            left, found, right, other = right, other, left, found
        if found is None or found.along is not None or not is_same(found.zero, None):
            return None
        if other is not None and not (is_same(other.scale, found.scale) and is_same(other.zero, None)):
            return None
        added = op.Mul(number(right), Array(found.scale)) if other is None else other.numbers
        return Meaning(op.Add(found.numbers, added), found.scale, found.zero)

    def concatenation(self, origin: Op) -> Meaning | None:
        """Return the meaning of integers of one scale, side by side."""
        parts = [self.meaning(v) for v in origin.inputs if v is not None]
        first = parts[0]
        if first is None or first.along is not None:
            return None
        known = [p for p in parts if p is not None and is_same(p.scale, first.scale) and is_same(p.zero, first.zero)]
        if len(known) < len(parts):
            return None
        return Meaning(op.Concat(*(p.numbers for p in known), **origin.attributes), first.scale, first.zero)

    def product(self, origin: Op, value: Var) -> Meaning | None:
        """The meaning of a product or convolution of integers: the numbers' own, rounded to the result's integers."""
        scale, zero = _present(origin, 6), _optional(origin, 7)
        if not is_single(scale):
            return None
        is_matmul = origin.kind == "QLinearMatMul"
        left = self.operand(origin, 0, -2)
        right = self.operand(origin, 3, -1 if is_matmul else 0)
        bias = _optional(origin, 8)
        if bias is not None:
            both = op.Mul(Array(_present(origin, 4)), Array(_present(origin, 1)))
            bias = op.Mul(number(bias), both).value
        made = _multiplied(origin, left, right, bias)
        given = Array(scale), None if zero is None else Array(zero)
        exact = dequantized(Array(value), *given)
        return Meaning(straight_through(exact, fake_quantize(made, *given)), scale, zero)

    def operand(self, origin: Op, position: int, axis: int) -> Array:
        """Return integers that a product reads with their scale and zero point, as numbers with a derivative."""
        value, scale, zero = _present(origin, position), _present(origin, position + 1), _optional(origin, position + 2)
        along = axis % len(value.type.shape or (0,)), 0
        found, _ = self.dequantized(value, scale, zero, along)
        if found is not None:
            return found
        given = Array(scale), None if zero is None else Array(zero)
        return self.refusing(op.DequantizeLinear(Array(value), *given, axis=along[0]), value, origin)

    def levels(self, origin: Op, position: int) -> Any:
        """Return an operand of an integer product minus its zero point, as numbers with a derivative."""
        value, zero = _present(origin, position), _optional(origin, position + 2)
        meaning = self.meaning(value)
        if meaning is not None and meaning.along is None and (zero is None or is_single(zero)):
            return meaning.levels(zero)
        read = self.refusing(number(value), value, origin)
        if zero is None:
            return read
        shift = number(zero)
        if not is_single(zero):
            # One zero point a filter, a row of the left operand, or a column of the right one.
            rank = len(value.type.shape or ())
            after = rank - 1 if origin.kind == "ConvInteger" else 1 - position
            shift = op.Unsqueeze(shift, list(range(1, after + 1))) if after else shift
        return op.Sub(read, shift)


def _exact(step: Op, smooth: Array) -> Array:
    """Return the op's own value, with the derivative of numbers that equal it up to rounding."""
    made = tracing.emit(step.kind, step.inputs, step.attributes)
    found: Array = straight_through(Array(made[0]), smooth)
    return found


def _multiplied(origin: Op, left: Array, right: Array, bias: Value | None) -> Any:
    if origin.kind in {"MatMulInteger", "QLinearMatMul"}:
        return op.MatMul(left, right)
    return op.Conv(left, right, None if bias is None else Array(bias), **origin.attributes)


def _present(origin: Op, position: int) -> Value:
    value = origin.inputs[position]
    if value is None:
        raise PrimsplitError(f"{origin.kind} lacks its input {position}", place=origin.place)
    return value


def _optional(origin: Op, position: int) -> Value | None:
    return origin.inputs[position] if len(origin.inputs) > position else None


def _written(step: Op) -> int:
    axis: int = step.attributes.get("axis", 1)
    return axis


def _along(step: Op) -> tuple[int, int]:
    """Return the axis of the scales, counted from the front, and the size of their blocks."""
    axis, rank = _written(step), _present(step, 0).type.rank
    return axis % rank if rank else axis, step.attributes.get("block_size", 0)


def _of_quantized(origin: Op) -> Meaning | None:
    x, scale, zero = _present(origin, 0), _present(origin, 1), _optional(origin, 2)
    if not x.type.is_float:
        return None
    along = _along(origin)
    numbers = fake_quantize(
        Array(x),
        Array(scale),
        None if zero is None else Array(zero),
        axis=_written(origin),
        block_size=along[1],
        dtype=origin.outputs[0].type.dtype.name,
        saturate=origin.attributes.get("saturate", 1),
    )
    return Meaning(numbers, scale, zero, None if is_single(scale) else along)
