"""Forward mode, products, Jacobians and Hessians of functions: called on arrays, traced once and run by onnxruntime.

Like `grad`, each is an ordinary function again, and becomes part of a function that is being traced.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.errors import DtypeError, ShapeError, SpecError
from primsplit.fingerprint import Same
from primsplit.functionlike import remade
from primsplit.limited import Limited
from primsplit.programs.compiled import CACHE_SIZE, Compiled
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram, push_program
from primsplit.transforms.directions import hessian_of, jacobian_of, laplacian_of
from primsplit.transforms.forward import (
    as_tuple,
    jacobian_vector,
    linear_part,
    value_gradient_and_product,
)
from primsplit.transforms.gradient import Wrt, check_differentiable, select_arguments
from primsplit.transforms.linear import Mode

Function = Callable[..., Any]


def jvp(function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`f(*primals)` and its derivative along the tangents.

    Both are tuples with one value an argument; a tangent has its primal's structure, shapes and dtypes, and is None for
    an argument (or a leaf of one) that stays as it is. The tangent of a result that is not floating point is None.
    Raises SpecError, ShapeError or DtypeError where a tangent does not fit, MissingRule where there is no derivative.
    """
    if _is_traced((primals, tangents)):
        return jacobian_vector(function, primals, tangents)
    given = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
    pair: tuple[Any, Any] = _jvp_program(Same(function))(*given)
    return pair


@functools.lru_cache(CACHE_SIZE)
def _jvp_program(of: Same) -> Compiled:
    def jvp_of(primals: Any, tangents: Any) -> Any:
        return jacobian_vector(of.value, primals, tangents)

    return Compiled(jvp_of, of.value)


def linearize(function: Function, *primals: Any) -> tuple[Any, Function]:
    """`f(*primals)`, and the linear function that maps tangents of the primals to the tangent of the result.

    What the tangents do not change is computed once, here; a call of the linear function runs its list alone. It
    takes one tangent a primal, None for zero.
    """
    if _is_traced(primals):
        return linear_part(function, primals)
    prepared = _linear_programs(Same(function))
    return prepared.of(prepared.programs.program(*primals)).linearized(primals)


class _Linear:
    """The programs of a function, one a signature, each with its tangent list."""

    def __init__(self, function: Function) -> None:
        self.programs = Compiled(function, function)
        self.pushed: Limited[int, PushedProgram] = Limited(CACHE_SIZE)

    def of(self, program: Program) -> PushedProgram:
        """The tangent list of a program, which it keeps, so that its id stays its own."""
        known = self.pushed.get(id(program))
        if known is None:
            known = self.pushed[id(program)] = push_program(program)
        return known


@functools.lru_cache(CACHE_SIZE)
def _linear_programs(of: Same) -> _Linear:
    return _Linear(of.value)


def _is_traced(tree: Any) -> bool:
    return tracing.is_recording() or any(isinstance(x, Array) for x in trees.flatten(tree)[0])


@remade
def value_grad_and_hvp(function: Function, wrt: Wrt = 0) -> Compiled:
    """The function `(*args, v) -> (value, gradient, H v)` for the Hessian H of a scalar function.

    `v`, like the gradient and the product, has the structure of the argument in `wrt`: a tuple for several. Forward
    over reverse, as one program: about twice the work of the gradient, whatever the size of H.
    """

    def product_of(*args: Any, **named: Any) -> Any:
        *positional, vector = _with_vector(args)
        return value_gradient_and_product(function, positional, named, wrt, vector)

    return Compiled(product_of, function, last="v")


def hvp(function: Function, primals: Sequence[Any] | None = None, v: Any = None, *, wrt: Wrt = 0) -> Any:
    """Products of a scalar function's Hessian with vectors.

    `hvp(f)` is the prepared form, a function `(*args, v) -> H v` that is traced once; `hvp(f, primals, v)` is one
    product at the arguments `primals`, a tuple. `v` has the structure of the argument in `wrt`: a tuple for several.
    """
    if primals is None:
        return _products_of(function, wrt)
    if v is None:
        raise SpecError("hvp(f, primals, v) has no v", place=tracing.user_place(), cure="Give the vector, or hvp(f).")
    given = (*as_tuple(primals, "primals"), v)
    if _is_traced(given):
        return value_gradient_and_product(function, given[:-1], {}, wrt, v)[2]
    return _kept_products(Same(function), wrt if isinstance(wrt, int | str) else tuple(wrt))(*given)


@remade
def _products_of(function: Function, wrt: Wrt) -> Compiled:
    def product_of(*args: Any, **named: Any) -> Any:
        *positional, vector = _with_vector(args)
        return value_gradient_and_product(function, positional, named, wrt, vector)[2]

    return Compiled(product_of, function, last="v")


@functools.lru_cache(CACHE_SIZE)
def _kept_products(of: Same, wrt: Wrt) -> Compiled:
    return _products_of(of.value, wrt)


def _with_vector(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(args) < 2:
        raise SpecError(
            "a Hessian-vector product takes the function's arguments and then the vector",
            place=tracing.user_place(),
            cure="Call it like hvp(f)(x, v).",
        )
    return args


@remade
def jacobian(function: Function, wrt: Wrt = 0, *, mode: Mode | None = None, chunk: int | None = None) -> Compiled:
    """The Jacobian of a function, in the structure of the result and, in it, of the argument in `wrt`.

    Its arrays have the shape (*result, *argument); several arguments are a tuple. `mode="forward"` makes columns,
    `"reverse"` rows; by default whichever are fewer. `chunk` directions are computed at a time, by default all at once.
    Raises DtypeError for an argument or result that is not floating point, MissingRule where an operator has no
    derivative.
    """

    def jacobian_at(*args: Any, **named: Any) -> Any:
        return jacobian_of(function, args, named, wrt, mode=mode, chunk=chunk)[1]

    return Compiled(jacobian_at, function)


@remade
def value_and_jacobian(
    function: Function, wrt: Wrt = 0, *, mode: Mode | None = None, chunk: int | None = None
) -> Compiled:
    """The function that returns `(f(*args), Jacobian)`; see `jacobian`."""

    def both_at(*args: Any, **named: Any) -> Any:
        return jacobian_of(function, args, named, wrt, mode=mode, chunk=chunk)

    return Compiled(both_at, function)


@remade
def hessian(function: Function, wrt: Wrt = 0, *, chunk: int | None = None) -> Compiled:
    """The Hessian of a scalar function: arrays of shape (*a, *b) in the structure of the argument in `wrt`, twice.

    `chunk` directions are computed at a time, by default all at once. Raises what `value_and_grad` raises.
    """

    def hessian_at(*args: Any, **named: Any) -> Any:
        return hessian_of(function, args, named, wrt, chunk=chunk)[2]

    return Compiled(hessian_at, function)


@remade
def value_grad_and_hessian(function: Function, wrt: Wrt = 0, *, chunk: int | None = None) -> Compiled:
    """The function that returns `(value, gradient, Hessian)` of a scalar function."""

    def all_of(*args: Any, **named: Any) -> Any:
        return hessian_of(function, args, named, wrt, chunk=chunk)

    return Compiled(all_of, function)


@remade
def laplacian(function: Function, wrt: Wrt = 0, *, chunk: int | None = None) -> Compiled:
    """The sum of the second derivatives of a scalar function, over the elements of the argument in `wrt`."""

    def laplacian_at(*args: Any, **named: Any) -> Any:
        return laplacian_of(function, args, named, wrt, chunk=chunk)

    return Compiled(laplacian_at, function)


@remade
def derivative(function: Function, wrt: int | str = 0) -> Compiled:
    """The derivative of a function of a number, in the structure of its result. Raises ShapeError for an array."""

    def derivative_at(*args: Any, **named: Any) -> Any:
        return _with_derivative(function, args, named, wrt)[1]

    return Compiled(derivative_at, function)


@remade
def value_and_derivative(function: Function, wrt: int | str = 0) -> Compiled:
    """The function that returns `(f(x), derivative)` of a function of a number; see `derivative`."""

    def both_at(*args: Any, **named: Any) -> Any:
        return _with_derivative(function, args, named, wrt)

    return Compiled(both_at, function)


def _with_derivative(function: Function, args: tuple[Any, ...], named: dict[str, Any], wrt: int | str) -> Any:
    ((key, x),) = select_arguments(function, args, named, wrt).items()
    leaves, _ = trees.flatten(x)
    if len(leaves) == 1 and isinstance(leaves[0], int):
        raise DtypeError(
            f"cannot differentiate with respect to {leaves[0]}: it is a static {type(leaves[0]).__name__}",
            place=tracing.user_place(),
            cure="Pass a float.",
        )
    if len(leaves) != 1 or not trees.is_array(leaves[0]) or getattr(leaves[0], "shape", ()) != ():
        raise ShapeError(
            "derivative takes a function of a number",
            place=tracing.user_place(),
            cure="Use ps.jacobian for an array, or ps.jvp along a direction.",
        )

    def along(number: Any) -> Any:
        positional = [number if i == key else a for i, a in enumerate(args)]
        return function(*positional, **{k: number if k == key else v for k, v in named.items()})

    value, slope = jacobian_vector(along, (x,), (1.0,))
    check_differentiable([a.type for a in trees.flatten(value)[0]], "derivative")
    return value, slope
