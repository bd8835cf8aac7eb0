"""The Frechet derivative of a function of matrices along a direction, and the rules of both.

N. J. Higham, Functions of Matrices (2008). The derivative L(A, E) of f at A along E is the upper right block of f at
[[A, E], [0, A]] (equation 3.16), and its transpose is the derivative at the transpose of A. `along` is a primitive, so
that its linearity in the direction is known: forward mode transposes it.
"""

from collections.abc import Callable

from primsplit.numpy.axes import END
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import swapped
from primsplit.tracing.calls.primitive import Primitive, rrule

Pullback = Callable[[Array], tuple[Array, ...]]


def upper_right(function: Callable[[Array], Array], a: Array, direction: Array) -> Array:
    """The derivative at `a` along `direction`, by one value of the function at a matrix of twice the size."""
    return _block(function(_blocks(a, direction)), a, 0, 1)


def _blocks(a: Array, direction: Array) -> Array:
    """[[a, direction], [0, a]]."""
    above, below = op.Concat(a, direction, axis=-1), op.Concat(op.Sub(a, a), a, axis=-1)
    return op.Concat(above, below, axis=-2)


def _block(whole: Array, like: Array, row: int, column: int) -> Array:
    """One of the four blocks, which are of the size of `like`."""
    size = op.Shape(like, start=-1)
    ends = (([0], size), (size, [END]))
    (top, bottom), (left, right) = ends[row], ends[column]
    return op.Slice(op.Slice(whole, top, bottom, [-2]), left, right, [-1], types=[like.type])


def give_rules(function: Primitive, along: Primitive) -> None:
    """Register the rule of a function of a matrix, by its derivative along a direction, and that derivative's rule."""

    def rule(a: Array) -> tuple[Array, Pullback]:
        return function(a), lambda dy: (along(swapped(a), dy),)

    def rule_along(a: Array, direction: Array) -> tuple[Array, Pullback]:
        """The cotangent of A is that of the two blocks on the diagonal, in which A stands."""

        def pullback(dz: Array) -> tuple[Array, ...]:
            none = op.Sub(dz, dz)
            seed = op.Concat(op.Concat(none, dz, axis=-1), op.Concat(none, none, axis=-1), axis=-2)
            whole = along(swapped(_blocks(a, direction)), seed)
            return op.Add(_block(whole, a, 0, 0), _block(whole, a, 1, 1)), along(swapped(a), dz)

        return along(a, direction), pullback

    for target, own in ((function, rule), (along, rule_along)):
        own.__name__ = f"{target.name}_rule"
        rrule(target)(own)
