"""Forward rules where the transposed pullback would be longer: operators that are linear, products, or pick elements.

Every other operator gets its forward rule from its pullback. A linear operator maps tangents as it maps values, a
product has one term a factor, and the tangent of an operator that works element by element is scaled as a cotangent is.

```
y = Gather(x, i)   ->   ty = Gather(tx, i)
y = MatMul(a, b)   ->   ty = Add(MatMul(ta, b), MatMul(a, tb))
```
"""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit.ir import Op
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.ops.traits import kinds_where, terms_of
from primsplit.rules.table import RULES, Pullback, frule, symmetric
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to

symmetric(*kinds_where(lambda t: t.elementwise), "Softmax")


def _first_alone(op: Op, wrt: tuple[int, ...]) -> bool:
    return wrt == (0,)


def _is_linear(op: Op, wrt: tuple[int, ...]) -> bool:
    return wrt == (0,) and bool(terms_of(op))


def _all_inputs(op: Op, wrt: tuple[int, ...]) -> bool:
    return len(wrt) == len(op.inputs)


def _a_factor(op: Op, wrt: tuple[int, ...]) -> bool:
    return wrt[0] < 2


def _linear(kind: str, changes: dict[str, Any] | None = None) -> None:
    """Register an operator that is linear in its first input; `changes` are attributes of its linear part alone."""
    operator = getattr(later, kind)

    def rule(x: Array, *rest: Array | None, **attributes: Any) -> tuple[Array, Pullback]:
        y = operator(x, *rest, **attributes)
        linear = {**attributes, **(changes or {})}
        return y, lambda tx, *_: operator(tx, *rest, types=[y.type], **linear)

    frule(kind, admits=_first_alone if changes else _is_linear)(rule)


for _kind in sorted(kinds_where(lambda t: t.terms == ((0,),)) - {"Resize"}):
    _linear(_kind)
_linear("Resize", {"extrapolation_value": 0.0})


@frule("Split", admits=_first_alone)
def split(x: Array, sizes: Array | None = None, **attributes: Any) -> tuple[Sequence[Array], Pullback]:
    """The tangent is split in the same way."""
    parts: Sequence[Array] = op.Split(x, sizes, **attributes)
    types = [part.type for part in parts]
    return parts, lambda tx, _=None: op.Split(tx, sizes, outputs=len(parts), types=types, **attributes)


@frule("Pad", admits=_first_alone)
def pad(
    x: Array, pads: Array, fill: Array | None = None, axes: Array | None = None, *, mode: str | bytes
) -> tuple[Array, Pullback]:
    """The tangent of a constant border is zero."""
    y = op.Pad(x, pads, fill, axes, mode=mode)
    return y, lambda tx, *_: op.Pad(tx, pads, None, axes, mode=mode, types=[y.type])


def _sum(kind: str) -> None:
    """Register an operator that is linear in all its inputs together."""
    operator = getattr(later, kind)

    def rule(*inputs: Array, **attributes: Any) -> tuple[Array, Pullback]:
        y = operator(*inputs, **attributes)
        return y, lambda *tangents: operator(*tangents, types=[y.type], **attributes)

    frule(kind, admits=_all_inputs)(rule)


for _kind in sorted(kinds_where(lambda t: t.terms == "each")):
    _sum(_kind)


def _product(kind: str, admits: Callable[[Op, tuple[int, ...]], bool]) -> None:
    """Register an operator that is linear in each of its factors, and may add a third input.

    Each term takes the form that the operator's reverse rule chooses for its value.
    """

    def form(*inputs: Array | None, **attributes: Any) -> Array:
        rule = RULES[kind].rule
        assert rule is not None
        value: Array = rule(*inputs, **attributes)[0]
        return value

    def rule(*inputs: Array | None, **attributes: Any) -> tuple[Array, Pullback]:
        y = form(*inputs, **attributes)
        count = len(inputs) if kind == "Einsum" else 2

        def pushforward(*tangents: Array | None) -> Array:
            total: Array | None = None
            for position, tangent in enumerate(tangents[:count]):
                if tangent is not None:
                    factors = [tangent if i == position else x for i, x in enumerate(inputs[:count])]
                    added = tangents[count:] if total is None else ()
                    term = form(*factors, *added, **attributes)
                    total = term if total is None else op.Add(total, term)
            assert total is not None
            return total

        return y, pushforward

    frule(kind, admits=admits)(rule)


for _kind in sorted(kinds_where(lambda t: t.contracts and t.terms in {((0, 1),), ((0, 1), (2,))})):
    _product(_kind, _a_factor)
_product("Einsum", lambda op, wrt: True)


@frule("Mul", admits=_all_inputs)
def multiply(x: Array, y: Array) -> tuple[Array, Pullback]:
    """d(x y) = dx y + x dy."""
    return op.Mul(x, y), lambda tx, ty: op.Add(op.Mul(tx, y), op.Mul(x, ty))


@frule("Div", admits=_all_inputs)
def divide(x: Array, y: Array) -> tuple[Array, Pullback]:
    """d(x / y) = (dx - (x / y) dy) / y."""
    z = op.Div(x, y)
    return z, lambda tx, ty: op.Div(op.Sub(tx, op.Mul(z, ty)), y)


@frule("Mod", admits=_all_inputs)
def modulo(x: Array, y: Array, *, fmod: int) -> tuple[Array, Pullback]:
    """d(x mod y) = dx - trunc(x / y) dy, from the exact quotient."""
    z = op.Mod(x, y, fmod=fmod)
    return z, lambda tx, ty: op.Sub(tx, op.Mul(op.Round(op.Div(op.Sub(x, z), y)), ty))


@frule("Where")
def where(condition: Array, x: Array, y: Array) -> tuple[Array, Pullback]:
    """The tangent of the chosen side; a side without one is zero, broadcast to the result's shape."""
    z = op.Where(condition, x, y)

    def pushforward(_: None, tx: Array | None, ty: Array | None) -> Array:
        if tx is not None and ty is not None:
            return op.Where(condition, tx, ty, types=[z.type])
        moved = op.Where(condition, 0 if tx is None else tx, 0 if ty is None else ty)
        return op.Expand(moved, op.Shape(z), types=[z.type]) if z.type.shape is None else expand_to(moved, z.shape)

    return z, pushforward


@frule("LogSoftmax")
def log_softmax(x: Array, *, axis: int) -> tuple[Array, Pullback]:
    """dx less its mean under the softmax."""
    y = op.LogSoftmax(x, axis=axis)
    return y, lambda tx: op.Sub(tx, op.ReduceSum(op.Mul(op.Exp(y), tx), [axis], keepdims=1))


@frule("PRelu", admits=_all_inputs)
def prelu(x: Array, slope: Array) -> tuple[Array, Pullback]:
    """dx where x is positive, else slope dx + x dslope."""
    y = op.PRelu(x, slope)

    def pushforward(tx: Array, ts: Array) -> Array:
        below = op.Add(op.Mul(tx, slope), op.Mul(x, ts), types=[y.type])
        return op.Where(op.Greater(x, 0.0), tx, below, types=[y.type])

    return y, pushforward


def _extreme(kind: str, beats: Callable[[Array, Array], Array]) -> None:
    operator = getattr(later, kind)

    def rule(x: Array, y: Array) -> tuple[Array, Pullback]:
        z = operator(x, y)

        def pushforward(tx: Array | None, ty: Array | None) -> Array:
            half = tx if ty is None else ty if tx is None else op.Add(tx, ty)
            first, second = beats(x, y), beats(y, x)
            tied = op.Where(second, 0 if ty is None else ty, op.Mul(half, 0.5))
            return expand_to(op.Where(first, 0 if tx is None else tx, tied), z.shape)

        return z, pushforward

    frule(kind, admits=lambda op, wrt: len(op.inputs) == 2)(rule)


_extreme("Max", later.Greater)
_extreme("Min", later.Less)
