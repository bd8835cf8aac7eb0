"""Settle quotients 0 / 0 in derivatives: 0 where the numerator is 0 whatever x is, NaN where it only happens to be.

The slope of y = sqrt(x) at 0 is `dy / (2 y)`. With a cotangent of 0 that is

* 0 if dy does not vary with x: another element's, or one that a mask leaves out;
* unknown if it does: 2 y for y**2, whose slope is 1.

Both are 0 / 0. This pass finds where the numerators of a whole program come from: a numerator that varies with the same
parameters as y does is unknown, unless a factor that does not, or a choice, makes it 0 (`Support`).

    n = Where(mask, 2 y dz, 0)                 n = Where(mask, 2 y dz, 0)
    dx = root_quotient(n, y)        becomes    s = Where(mask, 1, 0)
                                               dx = exact_quotient(n, Where(s == 0, 1, y))
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call, readers, reads
from primsplit.ir.analysis.orders import order_of
from primsplit.numpy.quotients import exact_kink, exact_quotient, open_length_quotient, unknown_slope
from primsplit.ops import op as operators
from primsplit.ops.traits import terms_of
from primsplit.rules.activity import stops
from primsplit.tracing import fresh_stack, recording
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.calls.primitive import Primitive
from primsplit.transforms.marked_factors import parameter_bits
from primsplit.transforms.sign_factors import may_meet, with_unknown_slopes
from primsplit.transforms.supports import Support, Supports

SETTLED: dict[str, Primitive] = {
    "call::kink": exact_kink,
    "call::length_quotient": open_length_quotient,
    "call::root_quotient": exact_quotient,
    "call::tangent_kink": exact_kink,
    "call::unknown_slope": unknown_slope,
}
"""The quotient to use if its numerator is not known to be 0 for every x."""
Settle = Callable[[Sequence[Op], Block, Sequence[Var]], tuple[Op, ...]]
"""Settles a linear list after its primal ops, as `settled` and `marked` do."""
EVERYTHING = -1
"""The parameters that a value inside of a loop may vary with, as bits: unknown, so all."""


def settled(primal: Sequence[Op], linear: Block, wrt: Iterable[Var], forward: bool = False) -> tuple[Op, ...]:
    """Return the ops of a linear list, tangent (`forward`) or pullback, of a whole program, its quotients settled.

    `primal` are the ops before it, `wrt` the parameters that it is a derivative by. Quotients that need no change
    stay.
    """
    meets = may_meet(primal, linear)
    if SETTLED.keys().isdisjoint(linear.kinds) and not meets:
        return linear.ops
    varies, parts = parameter_bits(primal, wrt)
    linear = with_unknown_slopes(primal, linear, varies, parts, forward) if meets else linear
    settling = _Settling(varies, {}, any(order_of(op.remark) for op in primal), parts)
    settling.forward = forward
    return settling.run(primal, linear)


def marked(primal: Sequence[Op], pullback: Block, wrt: Iterable[Var]) -> tuple[Op, ...]:
    """Return the ops of the pullback of a part of a program, NaN where a sign makes a slope 0 by chance.

    Its quotients stay as they are: whether 0 / 0 is 0 is known in the whole program alone.
    """
    if not may_meet(primal, pullback):
        return pullback.ops
    return with_unknown_slopes(primal, pullback, *parameter_bits(primal, wrt), forward=False).ops


@dataclass
class _Settling:
    """One walk. `varies` are the parameters that each value varies with, as bits, `made` the ops that compute values.

    `parts` are the bits of elements of parameters, by the values that hold them.
    """

    varies: dict[Var, int]
    made: dict[Var, Op]
    is_higher: bool
    parts: Mapping[Var, int] = field(default_factory=dict)
    supports: Supports = field(default_factory=dict)
    entrance: "_Entrance | None" = None
    readers: Mapping[Var, Sequence[Op | None]] = field(default_factory=dict)
    forward: bool = False

    def run(self, before: Sequence[Op], linear: Block) -> tuple[Op, ...]:
        """Return the ops of the linear list after those before it."""
        for op in before:
            self.note(op)
        if "call::tangent_kink" in linear.kinds:
            self.readers = readers(linear.ops, linear.results)
        kept: list[Op] = []
        for op in linear.ops:
            for one in self.settle(op):
                self.note(one)
                kept.append(one)
        return tuple(kept)

    def note(self, op: Op) -> None:
        """Record what the outputs of an op vary with."""
        for out, found in zip(op.outputs, self.bits_of_outputs(op), strict=True):
            self.made[out] = op
            if found and out.type.is_float:
                self.varies[out] = self.parts.get(out, found)

    def bits_of_outputs(self, op: Op) -> list[int]:
        """Return what each output of an op varies with: that of an If with what its branches' results do."""
        whole = 0
        if not stops(op) or op.kind == "Sign":  # whose 0 at 0 says nothing of what it multiplies
            for v in reads(op):
                whole |= self.varies.get(v, 0)
        outputs = [whole] * len(op.outputs)
        if not whole or op.kind != "If":
            return outputs
        for block in op.blocks():
            for inner in block.ops:
                self.note(inner)
        return [
            reduce(or_, map(self.bits, side)) for side in zip(*(block.results for block in op.blocks()), strict=True)
        ]

    def settle(self, op: Op) -> Sequence[Op]:
        """Return the op, or the ops that replace it."""
        if op.kind not in SETTLED:
            return self.within(op) if op.blocks() else [op]
        n, y, *_ = op.inputs
        if n is None or not isinstance(y, Var):
            return [op]
        is_multiplied = op.kind == "call::tangent_kink" and self.is_multiplied(op.outputs[0], y)
        mode = SETTLED[op.kind] if is_multiplied else self.form(op.kind, n, y, *op.inputs[2:])
        if mode is None:
            return [op]
        with fresh_stack(), recording(place=op.place, remark=op.remark) as around:
            for var in reads(op):
                around.learn(var)
            if mode is exact_kink:
                fixed = None if op.kind == "call::kink" or is_multiplied else Const(np.ones((), y.type.dtype))
                self.write_kink(n if fixed is None else fixed, y, op.inputs[2])
            elif mode is unknown_slope:
                self.write_unknown(n, y)
            else:
                self.write(mode, Array(n), Array(y), self.support(n, y))
        return [*around.ops[:-1], replace(around.ops[-1], outputs=op.outputs)]

    def support(self, n: Value | None, y: Var) -> Array | None:
        """Return where n is 0 whatever the parameters are that y varies with."""
        return Support(self.made, self.varies, self.varies.get(y, 0), self.supports, self.entrance).of(n)

    def form(self, kind: str, n: Value, y: Var, t: Value | None = None) -> Primitive | None:
        """Return what a quotient becomes; None if it stays."""
        if kind == "call::length_quotient":
            return SETTLED[kind] if self.is_higher else None
        if kind == "call::unknown_slope":
            return SETTLED[kind] if self.forward else None
        factors = (n, t) if SETTLED[kind] is exact_kink else (n,)
        return SETTLED[kind] if any(self.are_alike(v, y) for v in factors) else None

    def are_alike(self, n: Value | None, y: Var) -> bool:
        """Whether two values vary with a common parameter."""
        return n is not None and bool(self.bits(n) & self.bits(y))

    def is_multiplied(self, tangent: Var, x: Var) -> bool:
        """Whether a tangent goes into a result through a product with what varies with x, or in an unknown way."""
        seen, open_ones = {tangent}, [tangent]
        while open_ones:
            value = open_ones.pop()
            for op in self.readers.get(value, ()):
                if op is None and self.entrance is None:
                    continue
                if op is None or op.blocks() or not terms_of(op):
                    return True
                if any(self.are_alike(v, x) for v in _factors_beside(value, op)):
                    return True
                open_ones.extend(v for v in op.outputs if v not in seen)
                seen.update(op.outputs)
        return False

    def write_unknown(self, n: Value, y: Var) -> None:
        """Record the unknown slope of a part of a program in a tangent list: its tangent n may be 0 by chance."""
        used = self.support(n, y)
        used = Array(Const(np.ones((), n.type.dtype))) if used is None else used
        unknown_slope(expand_to(used, Array(n).shape), Array(y))

    def write_kink(self, n: Value, x: Var, t: Value | None) -> None:
        """Record the settled kink of |x|.

        With a factor n that varies with x it is unknown. If only t varies, |x| has a kink where t is not 0, for which 0
        is taken as for relu; but where t is 0 by chance, |x| may be smooth, as that of 1 - cos(p) is. Two tangents are
        both like t: the factor comes behind them.
        """
        if t is None:
            raise AssertionError("a kink has three inputs")
        used = [self.support(v, x) for v in (n, t)]
        first, second = (Array(Const(np.ones((), x.type.dtype))) if s is None else s for s in used)
        if not self.are_alike(t, x):
            second = Array(t)
        elif not self.are_alike(n, x):
            second = operators.Where(operators.Equal(Array(t), 0.0), second, np.zeros((), x.type.dtype))
        exact_kink(first, Array(x), second)

    def write(self, form: Primitive, n: Array, y: Array, support: Array | None) -> None:
        """Record the settled quotient of n by y, 0 where the support is.

        A first derivative keeps a NaN there: of the side of `np.where` that was not chosen.
        """
        if support is not None:
            used = operators.Not(operators.Equal(expand_to(support, n.shape), 0.0))
            n = operators.Where(used, n, np.zeros((), n.dtype)) if self.is_higher else n
            y = y if form is not exact_quotient else operators.Where(used, y, np.ones((), y.dtype))
        form(n, y)

    def within(self, op: Op) -> Sequence[Op]:
        """Return an op with sub-blocks, after the ops of the supports that it gets beside its inputs."""
        if all(SETTLED.keys().isdisjoint(block.kinds) for block in op.blocks()):
            return [op]
        entrance = _Entrance(self, op)
        found = op.with_blocks(lambda block: self.inside(block, entrance))
        return [*entrance.before, entrance.given(found)]

    def inside(self, block: Block, entrance: "_Entrance") -> Block:
        """Return a sub-block, settled. Parameters without a known value may vary with anything."""
        if SETTLED.keys().isdisjoint(block.kinds):
            return block
        varies = dict(self.varies)
        for param in block.params:
            if param.type.is_float:
                value = entrance.values.get(param)
                varies[param] = EVERYTHING if value is None else self.bits(value)
        inner = _Settling(varies, dict(self.made), self.is_higher, self.parts, dict(self.supports), entrance)
        inner.forward = self.forward
        return Block(block.name, block.params, inner.run((), block), block.results)

    def bits(self, value: Value) -> int:
        """Return what a value varies with."""
        return self.varies.get(value, 0) if isinstance(value, Var) else 0


def _factors_beside(value: Var, op: Op) -> Iterator[Value | None]:
    """Yield the inputs of a linear op that may multiply this one: all but the terms that are added to it."""
    terms = terms_of(op)
    added = {i for term in terms if all(op.inputs[j] is not value for j in term if j < len(op.inputs)) for i in term}
    yield from (v for i, v in enumerate(op.inputs) if v is not value and i not in added)


class _Entrance:
    """Passes the supports of inputs into a call or a Scan.

    `values` maps the block's parameters to their values: a call's arguments, and the sequences of which a Scan takes a
    slice in each step. `before` are the ops that compute the supports.
    """

    def __init__(self, outer: _Settling, op: Op) -> None:
        self.outer = outer
        self.op = op
        self.before: list[Op] = []
        self.scanned = int(op.attributes.get("num_scan_inputs", 0)) if op.kind == "Scan" else 0
        self.values: dict[Var, Value] = {}
        self._added: dict[tuple[Var, int], tuple[Var, Value] | None] = {}
        if is_call(op) or self.scanned:
            (block,) = op.blocks()
            entering = list(zip(block.params, (v for v in op.inputs if v is not None), strict=True))
            self.values = dict(entering[-self.scanned :])

    def support(self, param: Var, bits: int) -> Array | None:
        """Return the support of a parameter's value, as a parameter of its own; None if none is known."""
        value = self.values.get(param)
        if value is None:
            return None
        key = param, bits
        if key not in self._added:
            self._added[key] = self._entered(param, value, bits)
        found = self._added[key]
        return None if found is None else Array(found[0])

    def _entered(self, param: Var, value: Value, bits: int) -> tuple[Var, Value] | None:
        outer = self.outer
        with fresh_stack(), recording(place=self.op.place, remark=self.op.remark) as around:
            for var in reads(self.op):
                around.learn(var)
            found = Support(outer.made, outer.varies, bits, outer.supports, outer.entrance).of(value)
            whole = None if found is None else expand_to(found, Array(value).shape).value
        for one in around.ops:
            outer.note(one)
        self.before.extend(around.ops)
        return None if whole is None else (Var(param.type), whole)

    def given(self, op: Op) -> Op:
        """Return the op with the supports among its inputs, and its block's parameters."""
        found = {key: pair for key, pair in self._added.items() if pair is not None}
        added = list(found.values())
        if not added:
            return op
        (name,) = (k for k, v in op.attributes.items() if isinstance(v, Block))
        block: Block = op.attributes[name]
        params = (*block.params, *(param for param, _ in added))
        attributes = {**op.attributes, name: Block(block.name, params, block.ops, block.results)}
        attributes = {k: v for k, v in attributes.items() if k not in {"rule", "frule"}}
        if self.scanned:
            attributes["num_scan_inputs"] = self.scanned + len(added)
            order = list(self.values)
            sources = [order.index(param) for param, _ in found]
            for each in ("scan_input_axes", "scan_input_directions"):
                if each in attributes:
                    attributes[each] = [*attributes[each], *(attributes[each][i] for i in sources)]
        return replace(op, inputs=(*op.inputs, *(value for _, value in added)), attributes=attributes)
