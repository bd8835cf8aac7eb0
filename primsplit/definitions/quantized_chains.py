"""Chains of integer operators between a quantization and its reversal, given the straight-through derivative.

`with_straight_through` walks a block. Where integers are read as numbers again (DequantizeLinear, or a Cast of an
integer product), it finds what they stand for: the numbers that were quantized, or the product or convolution of
those. The value stays that of the integers, bit by bit; the derivative is that of the numbers.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit import ir, tracing
from primsplit.array import Array
from primsplit.carriers import POWERS_OF_TWO, QUANTIZED
from primsplit.definitions.fake_quantize import STRAIGHT_THROUGH, dequantized, fake_quantize, straight_through
from primsplit.errors import PrimsplitError
from primsplit.ir import Block, Const, Op, Value, Var, is_call, live_ops, renamed, same_data, walk
from primsplit.ops import op
from primsplit.passes.rewrites.selection import is_lossless

SOURCES = frozenset({"QuantizeLinear", "DynamicQuantizeLinear"})
PRODUCTS = frozenset({"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"})
QUANTIZING = SOURCES | PRODUCTS
LAYOUT = frozenset(
    {"DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "MaxPool"}
    | {"Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"}
)
"""What moves integers, or chooses among them: the numbers of a common scale are moved and chosen in the same way."""

_UNIT = np.ones((), np.float32)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The numbers that integers stand for: `numbers` is `(integers - zero) scale` bit by bit, and has a derivative.

    `along` is the axis of the scales and the size of their blocks, None for one scale.
    """

    numbers: Array
    scale: Value
    zero: Value | None
    along: tuple[int, int] | None = None

    def levels(self, zero: Value | None) -> Any:
        """The integers less a zero point, with a derivative."""
        found = op.Div(self.numbers, Array(self.scale))
        if is_same(zero, self.zero):
            return found
        found = found if self.zero is None else op.Add(found, _number(self.zero))
        return found if zero is None else op.Sub(found, _number(zero))


def _number(value: Value) -> Any:
    return op.Cast(Array(value), to="float32")


def with_straight_through(block: Block) -> Block:
    """The block with the straight-through derivative wherever it reads quantized numbers; itself where it reads none.

    Its values, parameters and results stay. A call that takes or gives integers is opened, so that a chain is followed
    through it; any other is left as it is, and so is one with a rule of its own. Done twice it changes nothing.
    """
    if not _quantizes(block):
        return block
    with tracing.fresh_stack():
        return _Walk({}, {}, {}).run(block)


def _quantizes(block: Block) -> bool:
    return any(step.kind in QUANTIZING for step in walk(block))


def _is_opened(call: Op) -> bool:
    """True for a call that a chain of integers may go through, or end in."""
    held = call.attributes
    is_closed = "rule" in held or held.get("inline") is False
    if is_closed or not any(map(_holds_integers, (*call.inputs, *call.outputs))):
        return False
    return any(step.kind in QUANTIZING or step.kind == "DequantizeLinear" for step in walk(held["body"]))


def _holds_integers(value: Value | None) -> bool:
    """True for what numbers are quantized to, and for the products of integers."""
    if value is None:
        return False
    dtype = value.type.dtype
    return value.type.key[0] in QUANTIZED or (dtype.kind in "iu" and dtype.itemsize < 8)


def is_same(a: Value | None, b: Value | None) -> bool:
    """True for one value, or equal constants. No zero point is one of 0."""
    if a is b:
        return True
    if isinstance(a, Const) and isinstance(b, Const):
        return same_data(a, b)
    return (a is None and _is_zero(b)) or (b is None and _is_zero(a))


def _is_zero(value: Value | None) -> bool:
    return isinstance(value, Const) and value.is_small and not np.any(value.numpy())


class _Walk:
    """One walk. `origins` says which op made a Var, `meanings` what integers stand for, as far as it was asked.

    `told` are numbers that have their derivative already.
    """

    def __init__(self, replaced: dict[Var, Value], origins: dict[Var, Op], meanings: dict[Var, Meaning | None]) -> None:
        self.replaced = replaced
        self.origins = origins
        self.meanings = meanings
        self.told: set[Value | None] = set()

    def run(self, block: Block) -> Block:
        """The block, or sub-block, rewritten."""
        self.told.update(s.inputs[0] for s in block.ops if s.kind == f"call::{STRAIGHT_THROUGH}")
        with tracing.recording() as recorded:
            for param in block.params:
                recorded.learn(param)
            for step in block.ops:
                recorded.place = step.place
                recorded.remark = step.remark
                self.step(step)
            results = tuple(self.value(r) for r in block.results)
        return Block(block.name, block.params, tuple(live_ops(recorded.ops, results)), results)

    def value(self, value: Value) -> Value:
        """What stands for this value now."""
        return renamed(value, self.replaced)

    def step(self, step: Op) -> None:
        """Record an op, what stands for it, or the ops of a call that quantizes."""
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
        for var in step.outputs:
            # Asked at once, a chain is followed by one step here rather than from its end, by all of them.
            if _holds_integers(var):
                self.meaning(var)

    def inside(self, block: Block) -> Block:
        """A sub-block: what it learns of integers around it is recorded in it, and is not known outside."""
        return _Walk(dict(self.replaced), dict(self.origins), dict(self.meanings)).run(block)

    def numbers(self, step: Op) -> Array | None:
        """What an op that reads integers as numbers is, with a derivative; None for any other op."""
        if step.kind not in {"DequantizeLinear", "Cast"} or not step.outputs[0].type.is_float:
            return None
        value = _present(step, 0)
        if step.kind == "DequantizeLinear":
            along = _along(step)
            found, is_exact = self.dequantized(value, _present(step, 1), _optional(step, 2), along)
            # What onnxruntime fuses, which rounds, depends on how the axis is written: a pair writes it in one way.
            is_exact = is_exact and (_is_single(_present(step, 1)) or self.written(value) == _written(step))
            return found if found is None or is_exact else _exact(step, found)
        meaning = self.meaning(value)
        if meaning is None or meaning.along is not None:
            return None
        return _exact(step, op.Cast(meaning.levels(None), to=step.outputs[0].type.dtype))

    def written(self, value: Value) -> int | None:
        """The axis of the quantization that made these integers, as it is written."""
        return _written(self.origins[value]) if isinstance(value, Var) else None

    def dequantized(
        self, value: Value, scale: Value, zero: Value | None, along: tuple[int, int]
    ) -> tuple[Array | None, bool]:
        """Integers as numbers with a derivative, None where they come from none; and whether bit by bit."""
        meaning = self.meaning(value)
        if meaning is None:
            return None, False
        is_same_scale = is_same(self.uncast(scale), self.uncast(meaning.scale))
        if is_same_scale and is_same(zero, meaning.zero) and meaning.along in {None, along}:
            if scale.type.dtype == meaning.scale.type.dtype:
                return meaning.numbers, True
            return op.Cast(meaning.numbers, to=scale.type.dtype), False
        if meaning.along is not None or not _is_single(scale):
            return None, False
        return op.Mul(meaning.levels(zero), Array(scale)), False

    def uncast(self, scale: Value) -> Value:
        """What a scale was before it was read in a dtype that holds all its numbers."""
        origin = self.origins.get(scale) if isinstance(scale, Var) else None
        if origin is None or origin.kind != "Cast":
            return scale
        before = _present(origin, 0)
        is_wider = before.type.key[0] == POWERS_OF_TWO or is_lossless(before.type.dtype, scale.type.dtype)
        return self.uncast(before) if is_wider else scale

    def meaning(self, value: Value) -> Meaning | None:
        """What integers stand for; None where they come from no numbers that are known."""
        if not isinstance(value, Var) or value not in self.origins:
            return None
        if value not in self.meanings:
            self.meanings[value] = self.found(value, self.origins[value])
        return self.meanings[value]

    def found(self, value: Var, origin: Op) -> Meaning | None:
        position = origin.outputs.index(value)
        if origin.kind == "QuantizeLinear":
            return _of_quantized(origin)
        if origin.kind == "DynamicQuantizeLinear" and position == 0:
            _, scale, zero = origin.outputs
            return Meaning(fake_quantize(Array(_present(origin, 0)), Array(scale), Array(zero)), scale, zero)
        if origin.kind in {"MatMulInteger", "ConvInteger"}:
            left, right = self.levels(origin, 0), self.levels(origin, 1)
            return Meaning(_multiplied(origin, left, right, None), Const(_UNIT), None)
        if origin.kind in {"QLinearMatMul", "QLinearConv"}:
            return self.product(origin, value)
        if origin.kind == "Concat":
            return self.concatenation(origin)
        if origin.kind == "Add":
            return self.shifted(origin)
        if origin.kind in LAYOUT and (origin.kind != "MaxPool" or position == 0):
            return self.moved(origin, position)
        return None

    def moved(self, origin: Op, position: int) -> Meaning | None:
        meaning = self.meaning(_present(origin, 0))
        if meaning is None or meaning.along is not None:
            return None
        count = 1 if origin.kind == "MaxPool" else len(origin.outputs)
        made = tracing.emit(origin.kind, (meaning.numbers.value, *origin.inputs[1:]), origin.attributes, outputs=count)
        return Meaning(Array(made[position]), meaning.scale, meaning.zero)

    def shifted(self, origin: Op) -> Meaning | None:
        """Integers without a zero point, and others of the same scale: the bias of a product."""
        (left, found), (right, other) = ((v, self.meaning(v)) for v in (_present(origin, 0), _present(origin, 1)))
        if found is None:
            left, found, right, other = right, other, left, found
        if found is None or found.along is not None or not is_same(found.zero, None):
            return None
        if other is not None and not (is_same(other.scale, found.scale) and is_same(other.zero, None)):
            return None
        added = op.Mul(_number(right), Array(found.scale)) if other is None else other.numbers
        return Meaning(op.Add(found.numbers, added), found.scale, found.zero)

    def concatenation(self, origin: Op) -> Meaning | None:
        """Integers of one scale, side by side."""
        parts = [self.meaning(v) for v in origin.inputs if v is not None]
        first = parts[0]
        if first is None or first.along is not None:
            return None
        known = [p for p in parts if p is not None and is_same(p.scale, first.scale) and is_same(p.zero, first.zero)]
        if len(known) < len(parts):
            return None
        return Meaning(op.Concat(*(p.numbers for p in known), **origin.attributes), first.scale, first.zero)

    def product(self, origin: Op, value: Var) -> Meaning | None:
        """A product or convolution of integers stands for that of the numbers, rounded to the result's integers."""
        scale, zero = _present(origin, 6), _optional(origin, 7)
        if not _is_single(scale):
            return None
        is_matmul = origin.kind == "QLinearMatMul"
        left = self.operand(origin, 0, -2)
        right = self.operand(origin, 3, -1 if is_matmul else 0)
        bias = _optional(origin, 8)
        if bias is not None:
            both = op.Mul(Array(_present(origin, 4)), Array(_present(origin, 1)))
            bias = op.Mul(_number(bias), both).value
        made = _multiplied(origin, left, right, bias)
        given = Array(scale), None if zero is None else Array(zero)
        exact = dequantized(Array(value), *given)
        return Meaning(straight_through(exact, fake_quantize(made, *given)), scale, zero)

    def operand(self, origin: Op, position: int, axis: int) -> Array:
        """Integers that a product reads with their scale and zero point, as numbers with a derivative."""
        value, scale, zero = _present(origin, position), _present(origin, position + 1), _optional(origin, position + 2)
        along = axis % len(value.type.shape or (0,)), 0
        found, _ = self.dequantized(value, scale, zero, along)
        if found is not None:
            return found
        made: Array = op.DequantizeLinear(
            Array(value), Array(scale), None if zero is None else Array(zero), axis=along[0]
        )
        return made

    def levels(self, origin: Op, position: int) -> Any:
        """An operand of an integer product less its zero point, as numbers with a derivative."""
        value, zero = _present(origin, position), _optional(origin, position + 2)
        meaning = self.meaning(value)
        if meaning is not None and meaning.along is None and (zero is None or _is_single(zero)):
            return meaning.levels(zero)
        if zero is None:
            return _number(value)
        shift = _number(zero)
        if not _is_single(zero):
            # One zero point a filter, a row of the left operand, or a column of the right one.
            rank = len(value.type.shape or ())
            after = rank - 1 if origin.kind == "ConvInteger" else 1 - position
            shift = op.Unsqueeze(shift, list(range(1, after + 1))) if after else shift
        return op.Sub(_number(value), shift)


def _exact(step: Op, smooth: Array) -> Array:
    """The op's own value, with the derivative of numbers that it is up to rounding."""
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


def _is_single(value: Value) -> bool:
    """True for a scale or zero point of all elements."""
    return value.type.shape in {(), (1,)}


def _written(step: Op) -> int:
    axis: int = step.attributes.get("axis", 1)
    return axis


def _along(step: Op) -> tuple[int, int]:
    """The axis that scales are along, counted from the front, and the size of their blocks."""
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
    return Meaning(numbers, scale, zero, None if _is_single(scale) else along)
