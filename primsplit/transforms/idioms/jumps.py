"""Give products with functions of signs the slopes that they have beside 0, before differentiation.

The square of a sign is 0 at 0 and 1 beside it: its product with sin(x) is the sine, whose slope at 0 is 1. Where the
other factor is 0 too, the number beside 0 changes no value:

    s = Sign(x)                          s = Sign(x);  t = Mul(s, s)
    z = Mul(Mul(s, s), y)     becomes    z = Mul(y, Where(y == 0 and t == 0, 1, t))

In general the number at 0 is not between those beside, and their mean takes its place.

A test for 0 chooses a side, as a `where` does, and stays: in `(x == 0) * f(x) + (x != 0) * g(x)` f has the slope at 0.
The other factor must vary with parameters that the sign varies with, and with no others: a mask of data keeps the
slope 0 by weights that are 0. A function of the sign that is odd, as `2 heaviside(x, 0.5) - 1`, becomes a multiple of
the sign, which the rules for signs know (`transforms/sign_factors.py`). A choice that is a line has the line's slope:

    z = Where(x >= 0, Abs(x), x)         becomes    z = Where(x == 0, x, Where(x >= 0, Abs(x), x))
"""

import operator
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce

import numpy as np

from primsplit.ir import Block, Op, Value, Var, is_call
from primsplit.ops import op as operators
from primsplit.rewrites.near_zero import Jump, Jumps
from primsplit.rewrites.rewriting import drop_dead_code, recorded_beside
from primsplit.rewrites.same_values import opposite_value, same_value
from primsplit.rewrites.signs import sign_argument
from primsplit.tracing import current
from primsplit.tracing.array import Array
from primsplit.transforms.marked_factors import Factors, is_closed, parameter_bits

MOST_FACTORS = 16
"""The depth of products in which factors are searched is that of a balanced tree of so many."""
RULES = frozenset({"rule", "frule"})


def with_slopes_beside_jumps(block: Block, wrt: Sequence[int]) -> Block:
    """Return the block with such products and choices written so; itself if there are none."""
    if _Walk(None).run(block) is block:
        return block
    varies, parts = parameter_bits(block.ops, [block.params[i] for i in wrt])
    factors = Factors((), ChainMap(varies), parts)
    found = _Walk(factors).run(block)
    return block if found is block else drop_dead_code(found)


@dataclass
class _Walk:
    """One walk over a block. `varies` tells the parameters that values vary with; None: any."""

    varies: Factors | None
    made: ChainMap[Var, Op] = field(default_factory=ChainMap)
    mended: dict[Value, tuple[frozenset[Value], frozenset[Value]]] = field(default_factory=dict)
    """The functions of signs that were replaced in products, and the factors that vary as the signs do."""

    def __post_init__(self) -> None:
        """Start without jumps."""
        self.jumps = Jumps(self.made)

    def run(self, block: Block) -> Block:
        """Return the block rewritten; the same object if nothing changes."""
        kept: list[Op] = []
        for op in block.ops:
            self.made.update(dict.fromkeys(op.outputs, op))
            self.jumps.note(op)
            kept.extend(self.written(self.within(op)))
            if self.varies is not None:
                self.varies.note(op)
        same = len(kept) == len(block.ops) and all(map(operator.is_, kept, block.ops))
        return block if same else replace(block, ops=tuple(kept))

    def within(self, op: Op) -> Op:
        """Return an op with its blocks rewritten; itself if nothing changes."""
        if not op.blocks() or (is_call(op) and not is_closed(op)):
            return op
        outer = self.varies
        params = [] if outer is None else outer.entering(op)

        def inside(block: Block) -> Block:
            self.varies = None if outer is None else outer.inside(block, params)
            return self.run(block)

        found = op.with_blocks(inside)
        self.varies = outer
        if is_call(op) and found is not op:
            found = replace(found, attributes={k: v for k, v in found.attributes.items() if k not in RULES})
        return found

    def written(self, op: Op) -> Sequence[Op]:
        """Return the op, or the ops that compute its result."""
        write = self.mending(op) if op.kind in {"Div", "Mul", "Where"} and op.outputs[0].type.is_float else None
        if write is None:
            return [op]
        with recorded_beside(op) as around:
            write()
        return [*around.ops[:-1], replace(around.ops[-1], outputs=op.outputs)]

    def mending(self, op: Op) -> Callable[[], object] | None:
        """Return what records the result of an op in another way; None if it stays."""
        jump = self.jumps.of(op.outputs[0])
        if jump is not None and jump.is_number:
            return None
        if jump is not None and jump.is_line and jump.place is jump.argument and self.is_unseen_line(op):
            return partial(_on_line, op, jump)
        if op.kind == "Where":
            return None
        if op.kind == "Div":
            return self.mended_quotient(op)
        factors = [*self.factors(op, MOST_FACTORS)]
        for group in self.groups(factors):
            jump = self.jumps.product(group)
            others = [v for v in factors if all(v is not one for one in group)]
            if jump is None or not any(self.meet(jump.argument, v) for v in others):
                continue
            if jump.is_told and self.is_news(op, group, others, jump):
                return partial(_beside_jump, op, group, others, jump, self.mended[op.outputs[0]][1])
            is_unseen = len(group) > 1 or self.is_unseen_sign(group[0])
            if jump.is_odd and jump.place is jump.argument and is_unseen:
                return partial(_with_sign, op, others, jump)
        return self.mended_sum(op, *op.inputs) or self.mended_sum(op, *op.inputs[::-1])

    def mended_quotient(self, op: Op) -> Callable[[], object] | None:
        n, divisor = op.inputs
        jump = self.jumps.of(divisor)
        if n is None or divisor is None or jump is None or not self.is_told_beside(jump, n):
            return None
        return lambda: operators.Div(_read(n), _number_beside(_read(n), _read(divisor), jump))

    def mended_sum(self, op: Op, total: Value | None, other: Value | None) -> Callable[[], object] | None:
        """Return what records a product with a sum of functions of signs and other terms."""
        made = self.made.get(total) if isinstance(total, Var) else None
        if made is None or made.kind not in {"Add", "Sub"} or other is None:
            return None
        terms = [(v, self.jumps.of(v)) for v in made.inputs if v is not None]
        if not any(self.is_told_beside(jump, other) for _, jump in terms):
            return None

        def write() -> None:
            beside = [
                _number_beside(_read(other), _read(v), jump) if jump and self.is_told_beside(jump, other) else _read(v)
                for v, jump in terms
            ]
            operators.Mul(getattr(operators, made.kind)(*beside), _read(other), types=[op.outputs[0].type])

        return write

    def is_told_beside(self, jump: Jump | None, other: Value) -> bool:
        """Whether the slope at a jump is told, and another value varies as the signs do."""
        return jump is not None and jump.is_told and self.is_alike(jump.argument, other)

    def factors(self, product: Op, most: int) -> Iterator[Value]:
        """Yield the factors of a product, and of at most so many products that are factors."""
        for value in product.inputs:
            made = self.made.get(value) if isinstance(value, Var) and most > 1 else None
            jump = self.jumps.of(value)
            if made is not None and made.kind == "Mul" and (jump is None or not jump.is_number):
                yield from self.factors(made, most // 2)
            elif value is not None:
                yield value

    def groups(self, factors: Sequence[Value]) -> list[list[Var]]:
        """Return the factors that jump where one number is 0, for each such number."""
        groups: list[list[Var]] = []
        for value in factors:
            jump = self.jumps.of(value)
            if jump is None or not isinstance(value, Var) or not jump.is_number:
                continue
            for group in groups:
                if self.are_of_one(self.jumps.found[group[0]], jump):
                    group.append(value)
                    break
            else:
                groups.append([value])
        return groups

    def are_of_one(self, one: Jump, other: Jump) -> bool:
        """Whether two values jump at the same place."""
        a, b = one.place, other.place
        return same_value(a, b, self.made) or opposite_value(a, b, self.made)

    def meet(self, argument: Value, other: Value) -> bool:
        """Whether two values vary with a common parameter."""
        return self.varies is None or bool(self.varies.bits(argument) & self.varies.bits(other))

    def is_alike(self, argument: Value, other: Value) -> bool:
        """Whether a value varies, and with no other parameters than a number: its slope is by these alone."""
        if self.varies is None:
            return True
        bits = self.varies.bits(other)
        return bool(bits) and not bits & ~self.varies.bits(argument)

    def is_news(self, op: Op, group: Sequence[Value], others: Sequence[Value], jump: Jump) -> bool:
        """Whether some factors vary as the signs do, and no factor that is a product has the same ones."""
        like = frozenset(v for v in others if self.is_alike(jump.argument, v))
        known = frozenset(group), like
        self.mended[op.outputs[0]] = known
        return bool(like) and all(self.mended.get(v) != known for v in op.inputs if v is not None)

    def is_unseen_sign(self, value: Value) -> bool:
        """Whether the rules for signs do not find the sign of which a value is a function."""
        made = self.made.get(value) if isinstance(value, Var) else None
        while made is not None and made.kind in {"Mul", "Neg"}:
            jumping = [v for v in made.inputs if self.jumps.of(v) is not None]
            made = self.made.get(jumping[0]) if len(jumping) == 1 and isinstance(jumping[0], Var) else None
        return made is None or sign_argument(made, self.made) is None

    def is_unseen_line(self, op: Op) -> bool:
        """Whether a value is none of the products of |x| and sign(x) of which the rules for |x| know the slope."""
        if op.kind == "Where":
            return any(self.jumps.of(v) is not None for v in op.inputs[1:])
        made = [self.made.get(v) if isinstance(v, Var) else None for v in op.inputs]
        sizes = [one for one in made if one is not None and one.kind == "Abs"]
        signs = [one for one in made if one is not None and sign_argument(one, self.made) is not None]
        return bool(sizes) and not signs


def _read(value: Value) -> Array:
    """Return a value, and let the recording read its sizes."""
    if isinstance(value, Var):
        current().learn(value)
    return Array(value)


def _beside_jump(op: Op, group: Sequence[Value], others: Sequence[Value], jump: Jump, like: Set[Value]) -> None:
    """Record a product with a function of signs that is the same on both sides of 0.

    `like` are the other factors that vary as the signs do. A product of several keeps the order of its factors, and so
    its roundings.
    """
    other = reduce(operator.mul, [_read(v) for v in others if v in like])
    function = reduce(operator.mul, map(_read, group))
    if len(group) == len(others) == 1:
        operators.Mul(other, _number_beside(other, function, jump), types=[op.outputs[0].type])
        return
    known = operators.Mul(*[_read(v) for v in op.inputs if v is not None])
    beside = reduce(operator.mul, [_read(v) for v in others if v not in like], other * jump.beside(known.dtype))
    operators.Where(_is_there(other, function, jump), beside, known)


def _number_beside(other: Array, function: Array, jump: Jump) -> Array:
    """Return a function of signs, with the number beside 0 where another factor is 0."""
    found: Array = operators.Where(_is_there(other, function, jump), jump.beside(function.dtype), function)
    return found


def _is_there(other: Array, function: Array, jump: Jump) -> Array:
    """Return where the signs are 0, and another factor is."""
    at = jump.numbers(function.dtype)[1]
    found: Array = operators.And(operators.Equal(other, 0.0), operators.Equal(function, at))
    return operators.And(found, operators.Equal(_read(jump.place), 0.0)) if jump.is_local else found


def _with_sign(op: Op, others: Sequence[Value], jump: Jump) -> None:
    """Record a product with an odd function of a sign."""
    _, at, above = jump.numbers(op.outputs[0].type.dtype)
    x = _read(jump.argument)
    one = np.ones((), at.dtype)
    if at == above:
        sign = operators.Where(operators.GreaterOrEqual(x, 0.0), one, -one)
    elif at == -above:
        sign = operators.Where(operators.Greater(x, 0.0), one, -one)
    else:
        sign = operators.Sign(x)
    made = reduce(operator.mul, map(_read, others)) * (sign * above)
    if jump.is_local or len(others) > 1 or all(v is not others[0] for v in op.inputs):
        known = operators.Mul(*[_read(v) for v in op.inputs if v is not None])
        made = operators.Where(operators.Equal(x, 0.0), made, known)
    operators.Identity(made, types=[op.outputs[0].type])


def _on_line(op: Op, jump: Jump) -> None:
    """Record a value that is a multiple of a number, with the slope of the line where it is 0."""
    x = _read(jump.argument)
    slope = jump.numbers(op.outputs[0].type.dtype)[2]
    known = getattr(operators, op.kind)(*map(_read, [v for v in op.inputs if v is not None]))
    operators.Where(operators.Equal(x, 0.0), x * slope, known)
