"""Replace norms, roots and their quotients that a file writes out by the calls that they were, before differentiation.

At 0 each of these is written as a choice, whose own derivative there is that of the chosen side: 0 where the true one
is unknown. Their rules know better. These occur in derivatives that a file holds:

    p = Equal(y, -0.0);  z = Where(p, 0, Div(n, Where(p, 1, y)))   becomes    z = length_quotient(n, y)
    z = Div(n, Max(y, tiny))                                       becomes    z = root_quotient(n, y)
    s = Clip(Mul(x, huge), -1, 1)                                  becomes    s = open_sign_of(x)

Their numbers identify these three: -0.0, the smallest and the largest float. A user who divides so compares with 0.0
and means 0. Metadata of the nodes is not used, since other programs drop it. Sizes written out are found too:

    z = Max(x, Neg(x)), z = Mul(x, Sign(x))                        become     z = Abs(x)
    z = Mul(Mul(Mul(x, x), Sign(x)), Sign(x))                      becomes    z = Mul(Abs(x), Abs(x))
    z = Where(Greater(x, 0), y, Neg(y))                            becomes    z = Mul(y, Where(Greater(x, 0), 1, -1))
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var
from primsplit.ir.analysis.orders import Origin, order_of
from primsplit.numpy.approximations.limits import float_limits
from primsplit.numpy.exponential import cbrt
from primsplit.numpy.norms import power_norm
from primsplit.numpy.quotients import length_quotient, open_sign_of, root_quotient, sign_of, signed, times_scaled
from primsplit.numpy.statistics import safe_root
from primsplit.numpy.trigonometric import hypot
from primsplit.ops import op as operators
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewriting import recorded_beside, reduced_axes
from primsplit.rewrites.same_values import opposite_value, same_value
from primsplit.rewrites.signs import sign_argument, which_sign
from primsplit.rewrites.uses import LookingUp, Ops
from primsplit.tracing import current
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to
from primsplit.transforms.idioms.opposite_branches import recognize_opposite_branches

Reader = Callable[[Value], Array]
MOST_FACTORS = 16
"""The depth of products in which factors are searched is that of a balanced tree of so many."""
VIEWS = kinds_where(lambda t: t.keeps == "order") | {"Expand"}


def recognize_kinks(block: Block) -> Block:
    """Return the block with a call for each such form; itself if there are none."""
    return _Recognizing().run_and_drop(recognize_opposite_branches(block))


class _Recognizing(LookingUp):
    """The walk."""

    kinds = frozenset({"Clip", "Div", "Max", "Mul", "Where"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the call that it is the last op of."""
        if op.kind not in FORMS:
            return super().visit(op)
        written = self.ops.made_by[op.outputs[0]]
        for form in FORMS[op.kind]:
            with recorded_beside(op) as around:
                if form in OF_SLOPES and not order_of(op.remark):
                    around.remark = OF_SLOPES[form]
                found = form(written, self.ops, self.read_now)
                value = None if found is None else found.value
            if value is not None and self.replace(op.outputs[0], value):
                self.kept.extend(around.ops)
                return None
        return super().visit(op)

    def read_now(self, value: Value) -> Array:
        """Return the current value, and let the recording read its sizes."""
        found = self.value(value)
        if isinstance(found, Var):
            current().learn(found)
        return Array(found)


def _length_quotient(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(y == 0, 0, n / Where(y == 0, 1, y)), or some multiple of it."""
    is_zero, zero, quotient = choice.inputs
    y = _compared("Equal", is_zero, -0.0, ops)
    if not _is_all(zero, 0.0) or y is None:
        return None
    return _multiple(quotient, y, ops, read, 3)


def _multiple(value: Value | None, y: Value, ops: Ops, read: Reader, depth: int) -> Array | None:
    """Match a product with a quotient by Where(y == 0, 1, y), which is 0 where y is."""
    made = ops.made_by.get(value) if isinstance(value, Var) else None
    if made is None or not depth or made.kind not in {"Div", "Reciprocal", "Neg", "Mul"}:
        return None
    first, last = made.inputs[0], made.inputs[-1]
    if made.kind in {"Div", "Reciprocal"} and _is_guarded(last, y, ops):
        n = first if made.kind == "Div" else Const(np.ones((), y.type.dtype))
        shape = made.outputs[0].type.shape
        if n is None or shape is None:
            return None
        found: Array = length_quotient(expand_to(read(n), shape), expand_to(read(y), shape))
        return found
    if made.kind == "Neg":
        scaled = _multiple(first, y, ops, read, depth - 1)
        return None if scaled is None else operators.Neg(scaled)
    for one, other in ((first, last), (last, first)) if made.kind == "Mul" else ():
        factor = _multiple(one, y, ops, read, depth - 1)
        if factor is not None and other is not None:
            return operators.Mul(factor, read(other))
    return None


def _is_guarded(value: Value | None, y: Value, ops: Ops) -> bool:
    """Whether the value is Where(y == 0, 1, y)."""
    chosen = ops.maker(value, "Where")
    if chosen is None or not _is_all(chosen.inputs[1], 1.0) or _seen(chosen.inputs[2], ops) is not _seen(y, ops):
        return False
    return _compared("Equal", chosen.inputs[0], -0.0, ops) is not None


def _root_quotient(quotient: Op, ops: Ops, read: Reader) -> Array | None:
    """Match n / max(y, tiny)."""
    n, divisor = quotient.inputs
    bounded = ops.maker(divisor, "Max")
    if n is None or bounded is None or len(bounded.inputs) != 2:
        return None
    y, least = bounded.inputs
    if y is None or not y.type.is_float or not _is_all(least, float(float_limits(Array(y)).smallest_subnormal)):
        return None
    found: Array = root_quotient(read(n), read(y))
    return found


def _sign(clip: Op, ops: Ops, read: Reader) -> Array | None:
    """Match clip(x huge, -1, 1): the slope of a sum of sizes if it is a result, else a factor of an unknown slope."""
    x = _argument_of_sign(clip, ops)
    if x is None:
        return None
    is_result = ops.is_outermost and all(reader is None for reader in ops.readers[clip.outputs[0]])
    found: Array = sign_of(read(x)) if is_result else open_sign_of(read(x))
    return found


def _argument_of_sign(clip: Op, ops: Ops) -> Value | None:
    x, low, high = (*clip.inputs, None, None)[:3]
    if x is None or not _is_all(low, -1.0) or not _is_all(high, 1.0):
        return None
    for _ in range(times_scaled(x.type.dtype)):
        product = ops.maker(x, "Mul")
        x, huge = (None, None) if product is None else product.inputs
        if x is None or not x.type.is_float or not _is_all(huge, float(float_limits(Array(x)).max)):
            return None
    return x


def _signed(product: Op, ops: Ops, read: Reader) -> Array | None:
    """Match n sign(x)."""
    for n, sign in (product.inputs, product.inputs[::-1]):
        made = ops.maker(sign, "Clip")
        x = None if made is None else _argument_of_sign(made, ops)
        if n is not None and x is not None and product.outputs[0].type == x.type:
            found: Array = signed(read(n), read(x))
            return found
    return None


def _safe_root(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(v > 0, sqrt(Where(v > 0, v, 1)), 0 v)."""
    is_positive, positive, other = choice.inputs
    variance = _compared("Greater", is_positive, 0.0, ops)
    root, nothing = ops.maker(positive, "Sqrt"), ops.maker(other, "Mul")
    chosen = None if root is None else ops.maker(root.inputs[0], "Where")
    if variance is None or chosen is None or nothing is None or variance not in nothing.inputs:
        return None
    is_safe = chosen.inputs[1] is variance and _is_all(chosen.inputs[2], 1.0)
    return safe_root(read(variance)) if is_safe else None


def _cube_root(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(|x| > 0 and |x| < inf, |x|**(1/3) sign(x) after one Newton step, x)."""
    both, step, x = ops.maker(choice.inputs[0], "And"), ops.maker(choice.inputs[1], "Sub"), choice.inputs[2]
    if both is None or step is None or x is None:
        return None
    size = _compared("Greater", both.inputs[0], 0.0, ops)
    if size is None or _compared("Less", both.inputs[1], np.inf, ops) is not size or _size_of(size, ops) is not x:
        return None
    signs = ops.maker(step.inputs[0], "Where")
    power = None if signs is None else ops.maker(signs.inputs[2], "Pow")
    is_root = power is not None and power.inputs[0] is size and _is_all(power.inputs[1], 1.0 / 3.0)
    return cbrt(read(x)) if is_root else None


def _hypotenuse(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(|x| == inf or |y| == inf, inf, the larger times the root of 1 and the square of their ratio)."""
    infinite, chosen = ops.maker(choice.inputs[0], "Or"), ops.maker(choice.inputs[2], "Where")
    if infinite is None or chosen is None or not _is_all(choice.inputs[1], np.inf):
        return None
    sizes = [_compared("Equal", answer, np.inf, ops) for answer in infinite.inputs]
    x, y = (_size_of(size, ops) for size in sizes)
    larger, product = ops.maker(chosen.inputs[1], "Max"), ops.maker(chosen.inputs[2], "Mul")
    if x is None or y is None or larger is None or product is None or set(larger.inputs) != set(sizes):
        return None
    is_root = any(ops.maker(factor, "Sqrt") for factor in product.inputs)
    found: Array | None = hypot(read(x), read(y)) if is_root else None
    return found


def _euclidean(product: Op, ops: Ops, read: Reader) -> Array | None:
    """Match sqrt(sum((x / s)**2)) s for a power of two s near the largest |x|."""
    for one, other in (product.inputs, product.inputs[::-1]):
        scaled, root = _scaled_by(other, ops), ops.maker(_seen(one, ops), "Sqrt")
        if scaled is None or root is None:
            continue
        x, axes = scaled
        total = ops.maker(_seen(root.inputs[0], ops), "ReduceSum")
        squares = None if total is None else ops.maker(_seen(total.inputs[0], ops), "Mul")
        if squares is None or squares.inputs[0] is not squares.inputs[1]:
            continue
        share = ops.maker(squares.inputs[0], "Mul")
        if share is not None and any(_seen(v, ops) is _seen(x, ops) for v in share.inputs):
            kept = len(product.outputs[0].type.shape or ()) == len(x.type.shape or ())
            found: Array = operators.ReduceL2(read(x), sorted(axes), keepdims=int(kept))
            return found
    return None


def _power_norm(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(t == 0, 0, Where(t == 0, 1, t)**(1/p) s) for the total t of the |x / s|**p."""
    product = ops.maker(choice.inputs[2], "Mul")
    if not _is_all(choice.inputs[1], 0.0) or product is None or _compared("Equal", choice.inputs[0], 0.0, ops) is None:
        return None
    for one, other in (product.inputs, product.inputs[::-1]):
        scaled, power = _scaled_by(other, ops), ops.maker(one, "Pow")
        exponent = None if power is None else power.inputs[1]
        if scaled is None or not isinstance(exponent, Const) or exponent.type.shape != ():
            continue
        (x, axes), order = scaled, 1.0 / float(exponent.numpy())
        order = float(round(order)) if abs(order - round(order)) < 1e-6 else order
        if order > 1 and len(x.type.shape or ()) == len(choice.outputs[0].type.shape or ()):
            found: Array = power_norm(read(x), tuple(sorted(axes)), repr(order))
            return found
    return None


def _scaled_by(scale: Value | None, ops: Ops) -> tuple[Value, frozenset[int]] | None:
    """Return the array whose largest size along some axes is near this power of two, and the axes."""
    value = _seen(scale, ops)
    for kind, position in (("Pow", 1), ("Floor", 0), ("Mul", 0), ("Log", 0), ("Clip", 0)):
        made = ops.maker(value, kind)
        if made is None:
            return None
        value = made.inputs[position]
    largest = ops.maker(_seen(value, ops), "ReduceMax")
    x = None if largest is None else _size_of(largest.inputs[0], ops)
    if largest is None or x is None or x.type.shape is None:
        return None
    axes = reduced_axes(largest, len(x.type.shape))
    return None if axes is None else (x, axes)


def _opposite_sides(choice: Op, ops: Ops, read: Reader) -> Array | None:
    """Match Where(x > 0, y, -y): y with the sign of x. Of two signs the one that x has is a factor."""
    condition, first, second = choice.inputs
    asked = which_sign(condition, ops.made_by)
    if asked is None or condition is None or not choice.outputs[0].type.is_float:
        return None
    value = first if asked[1] else second
    if value is None or sign_argument(choice, ops.made_by) or not opposite_value(first, second, ops.made_by):
        return None
    sides = (1, -1) if asked[1] else (-1, 1)
    sign = operators.Where(read(condition), *(np.asarray(side, value.type.dtype) for side in sides))
    found: Array = operators.Mul(read(value), sign, types=[choice.outputs[0].type])
    return found


def _largest_of_both_signs(largest: Op, ops: Ops, read: Reader) -> Array | None:
    """Match max(x, -x)."""
    if len(largest.inputs) != 2:
        return None
    x, other = largest.inputs
    if x is None or not opposite_value(x, other, ops.made_by):
        return None
    found: Array = operators.Abs(read(x))
    return found


def _times_their_signs(product: Op, ops: Ops, read: Reader) -> Array | None:
    """Match products with x and sign(x) among their factors: each pair is |x|."""
    factors = [*_factors(product, ops, MOST_FACTORS)]
    alike = _Alike(ops)
    signs = Counter(alike(x) for v in factors if (x := _argument_of_kind("Sign", v, ops)) is not None)
    values = Counter(map(alike, factors))
    pairs = {x: min(count, values[x]) for x, count in signs.items() if x.type.is_float and x in values}
    return _with_sizes(product, _Pairs(ops, read, alike, Counter(pairs), Counter(pairs))) if pairs else None


class _Alike:
    """Gives one value for those that are computed alike."""

    def __init__(self, ops: Ops) -> None:
        self.ops = ops
        self.known: list[Value] = []

    def __call__(self, value: Value) -> Value:
        for known in self.known:
            if same_value(known, value, self.ops.made_by):
                return known
        self.known.append(value)
        return value


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The signs and the values of a product that make a size together, and how many of each are left."""

    ops: Ops
    read: Reader
    alike: _Alike
    signs: Counter[Value]
    others: Counter[Value]


def _factors(product: Op, ops: Ops, most: int) -> Iterator[Value]:
    """Yield the factors of a product, and of at most so many products that are factors; a sign twice for its square."""
    for value in product.inputs:
        made = ops.maker(value, "Mul") if most > 1 else None
        if made is not None:
            yield from _factors(made, ops, most // 2)
        elif value is not None:
            yield from _two_signs(value, ops)


def _two_signs(value: Value, ops: Ops) -> Sequence[Value]:
    """Return the value, but a sign twice for its square."""
    sign = _argument_of_kind("call::square", value, ops)
    return (value,) if sign is None or ops.maker(sign, "Sign") is None else (sign, sign)


def _with_sizes(product: Op, pairs: _Pairs, most: int = MOST_FACTORS) -> Array | None:
    """Return the product without the factors sign(x), and with |x| for as many factors x; None for no factor."""
    found: Array | None = None
    inputs = [v for value in product.inputs if value is not None for v in _two_signs(value, pairs.ops)]
    for value in inputs:
        made = pairs.ops.maker(value, "Mul") if most > 1 else None
        x = _argument_of_kind("Sign", value, pairs.ops)
        if made is not None:
            factor = _with_sizes(made, pairs, most // 2)
        elif x is not None and pairs.signs[pairs.alike(x)]:
            pairs.signs[pairs.alike(x)] -= 1
            factor = None
        elif value is not None and pairs.others[pairs.alike(value)]:
            pairs.others[pairs.alike(value)] -= 1
            factor = operators.Abs(pairs.read(value))
        else:
            factor = None if value is None else pairs.read(value)
        found = factor if found is None else found if factor is None else operators.Mul(found, factor)
    return found


def _compared(kind: str, answer: Value | None, number: float, ops: Ops) -> Value | None:
    """Return the value that is compared with a number."""
    made = ops.maker(answer, kind)
    return made.inputs[0] if made is not None and _is_all(made.inputs[1], number) else None


def _size_of(value: Value | None, ops: Ops) -> Value | None:
    return _argument_of_kind("Abs", value, ops)


def _argument_of_kind(kind: str, value: Value | None, ops: Ops) -> Value | None:
    made = ops.maker(value, kind)
    return None if made is None else made.inputs[0]


def _seen(value: Value | None, ops: Ops) -> Value | None:
    """Return the value that has the same numbers in another shape."""
    made = ops.made_by.get(value) if isinstance(value, Var) else None
    return _seen(made.inputs[0], ops) if made is not None and made.kind in VIEWS else value


def _is_all(value: Value | None, number: float) -> bool:
    """Whether the value is a small constant with this number everywhere, with its sign and to its precision."""
    if not isinstance(value, Const) or not value.is_small or value.is_weight or not value.type.is_float:
        return False
    array, wanted = value.numpy(), np.asarray(number, value.type.dtype)
    return array.size > 0 and bool(np.all((array == wanted) & (np.signbit(array) == np.signbit(wanted))))


Form = Callable[[Op, Ops, Reader], Array | None]
OF_SLOPES: Mapping[Form, Origin] = {
    form: Origin(f"pullback of {kind}", "pullback", kind, 1)
    for form, kind in ((_length_quotient, "ReduceL2"), (_root_quotient, "Sqrt"), (_sign, "Abs"), (_signed, "Abs"))
}
"""Forms that occur only in derivatives, with the remark of those, for files that do not record it.

No trait: it maps functions to operators.
"""
FORMS: Mapping[str, tuple[Form, ...]] = {
    "Where": (_length_quotient, _safe_root, _cube_root, _hypotenuse, _power_norm, _opposite_sides),
    "Div": (_root_quotient,),
    "Clip": (_sign,),
    "Mul": (_signed, _euclidean, _times_their_signs),
    "Max": (_largest_of_both_signs,),
}
"""The forms, by the kind of their last op."""
