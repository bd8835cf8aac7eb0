"""Derivative rules of operators that move elements."""

from primsplit.array import Array
from primsplit.broadcasting import inverse_permutation, reshape_to, sum_to
from primsplit.ops import op
from primsplit.rules.table import Pullback, rrule


@rrule("Transpose")
def transpose(x: Array, *, perm: list[int] | None = None) -> tuple[Array, Pullback]:
    """Transposing back uses the inverse permutation."""
    order = list(range(len(x.shape)))[::-1] if perm is None else perm
    z = op.Transpose(x, perm=order)

    def pullback(dz: Array) -> tuple[Array]:
        return (op.Transpose(dz, perm=inverse_permutation(order)),)

    return z, pullback


@rrule("Reshape")
def reshape(x: Array, shape: Array, *, allowzero: int) -> tuple[Array, Pullback]:
    """The cotangent in the input's shape."""
    z = op.Reshape(x, shape, allowzero=allowzero)

    def pullback(dz: Array) -> tuple[Array, None]:
        return reshape_to(dz, x.shape), None

    return z, pullback


@rrule("Expand")
def expand(x: Array, shape: Array) -> tuple[Array, Pullback]:
    """The sum over the axes that were stretched."""
    z = op.Expand(x, shape)

    def pullback(dz: Array) -> tuple[Array, None]:
        return sum_to(dz, x.shape), None

    return z, pullback


def _axes_rule(name: str, inverse: str) -> None:
    forward, backward = getattr(op, name), getattr(op, inverse)

    def rule(x: Array, axes: Array) -> tuple[Array, Pullback]:
        z = forward(x, axes)

        def pullback(dz: Array) -> tuple[Array, None]:
            return backward(dz, axes), None

        return z, pullback

    rrule(name)(rule)


_axes_rule("Squeeze", "Unsqueeze")
_axes_rule("Unsqueeze", "Squeeze")
