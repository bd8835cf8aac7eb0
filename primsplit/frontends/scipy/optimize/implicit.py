"""Values defined by an equation, and their derivatives by the implicit function theorem.

A root x of f(x, t) = 0 moves with t so that f stays 0: df/dx dx + df/dt dt = 0. The cotangent of t is therefore the
pullback of f for -(df/dx)^-T dx, no matter how the root was found. The rule reads the root as a result of the same
call, so that its own derivative is right too.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Var, free
from primsplit.numpy import failing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import full, reshape_to
from primsplit.tracing.calls.primitive import Primitive, rrule
from primsplit.tracing.calls.recorded import StandIn, record_call
from primsplit.transforms.directions import jacobian_of
from primsplit.transforms.gradient import vector_jacobian

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """A function of one argument as a block, whose parameters are the argument and what is read around it."""

    block: Block
    captures: tuple[Var, ...]

    def __call__(self, x: Array, captures: Sequence[Array]) -> Array:
        """The result, recorded here, where what is read around the function has these values."""
        return Array(tracing.inline(self.block, [x.value, *(c.value for c in captures)])[0])


def recorded(function: Function, argument: StandIn, *, reshapes: bool = True) -> Recorded:
    """The function of one argument, its result in the dtype and shape of the argument. Raises ShapeError.

    Without `reshapes` the result keeps its shape.
    """
    wanted = argument.type

    def call(handles: list[Array]) -> Any:
        found = cast_to(array_like(function(*handles)), wanted.dtype)
        return reshape_to(found, wanted.shape or ()) if reshapes else found

    block, _ = record_call(getattr(function, "__name__", "f"), [argument], call)
    captures = tuple(free(block))
    return Recorded(Block(block.name, (*block.params, *captures), block.ops, block.results), captures)


def root_of(
    name: str,
    functions: Sequence[Recorded],
    starts: Sequence[Array],
    solver: Callable[..., Array],
    *,
    coupled: bool = False,
) -> Array:
    """The x that `solver(*functions, *starts)` finds, where the first function is 0. The starts have no gradient.

    Each function is given to the solver as one of x alone. Where x is not `coupled`, an element of the first function
    depends on that element of x alone.
    """
    count, own = len(starts), len(functions[0].captures)

    def found(*args: Array) -> Array:
        rest, bound = list(args[count:]), []
        for function in functions:
            bound.append(_bound(function, rest[: len(function.captures)]))
            rest = rest[len(function.captures) :]
        return solver(*bound, *args[:count])

    made = Primitive(found, name)

    @rrule(made)
    def rule(*args: Array) -> tuple[Array, Function]:
        x: Array = made(*args)

        def pullback(dx: Array) -> tuple[Array | None, ...]:
            moved = _cotangents(functions[0], x, args[count : count + own], dx, coupled=coupled)
            return (*[None] * count, *moved, *[None] * (len(args) - count - own))

        return x, pullback

    rule.__name__ = f"{name}_rule"
    result: Array = made(*starts, *(Array(c) for f in functions for c in f.captures))
    return result


def _bound(function: Recorded, captures: Sequence[Array]) -> Callable[[Array], Array]:
    return lambda x: function(x, captures)


def _cotangents(
    function: Recorded, x: Array, captures: Sequence[Array], dx: Array, *, coupled: bool
) -> list[Array | None]:
    """The cotangents of what a function reads, of which x is a root with the cotangent `dx`."""
    floats = [i for i, c in enumerate(captures) if c.type.is_float]

    def residual(x: Array, *moving: Array) -> Array:
        given = list(captures)
        for i, value in zip(floats, moving, strict=True):
            given[i] = value
        return function(x, given)

    args = (x, *(captures[i] for i in floats))
    _, pullback = vector_jacobian(residual, args, {}, list(range(len(args))))
    if coupled:
        size = math.prod(x.shape)
        _, slope = jacobian_of(residual, args, {}, 0, mode=None, chunk=None)
        turned: Any = failing.nan_where_singular.solve(reshape_to(slope, (size, size)).T, reshape_to(dx, (size,)))
        step = reshape_to(turned, x.shape)
    else:
        step = dx / pullback(full(x.shape, np.ones((), x.dtype)))[0]
    moved = dict(zip(floats, pullback(-step)[1:], strict=True))
    return [moved.get(i) for i in range(len(captures))]
