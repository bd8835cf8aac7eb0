"""Forward mode, products, Jacobians and Hessians of functions: called on arrays, traced once and run by onnxruntime.

Like `grad`, each returns an ordinary function, which becomes part of a function that is being traced.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir.caching.fingerprint import Same
from primsplit.ir.caching.limited import Limited
from primsplit.ir.errors import DtypeError, ShapeError, SpecError
from primsplit.programs.compiled import CACHE_SIZE, Compiled
from primsplit.programs.out import refuse_traced
from primsplit.programs.program import Program
from primsplit.programs.pushed import PushedProgram, push_program
from primsplit.programs.trace_program import Branches
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.functionlike import remade
from primsplit.transforms.directions import hessian_of, jacobian_of, laplacian_of
from primsplit.transforms.forward import as_tuple, jacobian_vector, linear_part, value_gradient_and_product
from primsplit.transforms.gradient import Wrt, check_differentiable, differentiable, select_arguments
from primsplit.transforms.linear import Mode

Function = Callable[..., Any]


def jvp(
    function: Function,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    branches: Branches = "explore",
    out: Any = None,
) -> tuple[Any, Any]:
    """Return `f(*primals)` and its derivative along the tangents.

    Both are tuples with one value an argument; a tangent has its primal's structure, shapes and dtypes, and is None for
    an argument (or a leaf of one) that stays as it is. The tangent of a result that is not floating point is None;
    those of complex arrays are complex. `branches` is that of `value_and_grad`. Both are written into `out`, a pair of
    arrays nested like them, if it is given. Raises SpecError, ShapeError or DtypeError for a tangent or `out` that does
    not fit, MissingRule if there is no derivative.

    >>> value, slope = ps.jvp(lambda x: x**2, (np.array([1.0, 3.0]),), (np.array([1.0, 0.5]),))
    >>> value.tolist(), slope.tolist()
    ([1.0, 9.0], [2.0, 3.0])
    """
    if _is_traced((primals, tangents)):
        return jacobian_vector(function, primals, tangents) if out is None else refuse_traced()
    given = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
    compiled = _jvp_program(Same(function), branches)
    pair: tuple[Any, Any] = compiled(*given) if out is None else compiled.run_into(out, *given)
    return pair


@functools.lru_cache(CACHE_SIZE)
def _jvp_program(of: Same, branches: Branches) -> Compiled:
    def jvp_of(primals: Any, tangents: Any) -> Any:
        return jacobian_vector(of.value, primals, tangents)

    return Compiled(jvp_of, of.value, own=operator.itemgetter(0), branches=branches)


def linearize(function: Function, *primals: Any, branches: Branches = "explore") -> tuple[Any, Function]:
    """Return `f(*primals)`, and the linear function that maps tangents of the primals to the tangent of the result.

    Values that do not depend on the tangents are computed once, here; a call of the linear function runs only the
    tangent program. It takes one tangent a primal, with its structure, shapes and dtypes, None for zero; the tangent of
    a result that is not floating point is None. `linear(*tangents, out=arrays)` writes into arrays nested like its
    result. `branches` is that of `value_and_grad`. Both raise what `jvp` raises.

    >>> value, linear = ps.linearize(lambda x: x**2, np.array([1.0, 3.0]))
    >>> linear(np.array([1.0, 0.0])).tolist(), linear(np.array([0.0, 1.0])).tolist()
    ([2.0, 0.0], [0.0, 6.0])
    """
    if _is_traced(primals):
        return linear_part(function, primals)
    prepared = _linear_programs(Same(function), branches)
    pair: tuple[Any, Function] = prepared.programs.answered(
        lambda program: prepared.of(program).linearized(primals), primals, {}
    )
    return pair


class _Linear:
    """The programs of a function, one per signature, each with its tangent program."""

    def __init__(self, function: Function, branches: Branches) -> None:
        self.programs = Compiled(function, function, branches=branches)
        self.pushed: Limited[int, PushedProgram] = Limited(CACHE_SIZE)

    def of(self, program: Program) -> PushedProgram:
        """Return the tangent program of a program, which it keeps alive, so that its id stays its own."""
        known = self.pushed.get(id(program))
        if known is None:
            known = self.pushed[id(program)] = push_program(program)
        return known


@functools.lru_cache(CACHE_SIZE)
def _linear_programs(of: Same, branches: Branches) -> _Linear:
    return _Linear(of.value, branches)


def _is_traced(tree: Any) -> bool:
    return tracing.is_recording() or any(isinstance(x, Array) for x in trees.flatten(tree)[0])


@remade
def value_grad_and_hvp(function: Function, wrt: Wrt = 0, *, branches: Branches = "explore") -> Compiled:
    """Return the function `(*args, v) -> (value, gradient, H v)` for the Hessian H of a scalar function.

    `v`, like the gradient and the product, has the structure, shapes and dtypes of the argument in `wrt`: a tuple for
    several. Forward over reverse, as one program: about twice the work of the gradient, whatever the size of H. Raises
    SpecError, ShapeError or DtypeError for a `v` that does not fit, and what `value_and_grad` raises.

    >>> value, gradient, product = ps.value_grad_and_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.ones(2))
    >>> float(value), gradient.tolist(), product.tolist()
    (9.0, [3.0, 12.0], [6.0, 12.0])
    """

    def product_of(*args: Any, **named: Any) -> Any:
        *positional, vector = _with_vector(args)
        return value_gradient_and_product(function, positional, named, wrt, vector)

    return Compiled(product_of, function, last="v", branches=branches)


def hvp(
    function: Function,
    primals: Sequence[Any] | None = None,
    v: Any = None,
    *,
    wrt: Wrt = 0,
    branches: Branches = "explore",
    out: Any = None,
) -> Any:
    """Return products of a scalar function's Hessian with vectors.

    `hvp(f)` is the prepared form, a function `(*args, v) -> H v` that is traced once; `hvp(f, primals, v)` is one
    product at the arguments `primals`, a tuple, written into the arrays of `out` if they are given. `v`, like the
    product, has the structure, shapes and dtypes of the argument in `wrt`: a tuple for several. Raises what
    `value_grad_and_hvp` raises.

    >>> ps.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), np.ones(2)).tolist()
    [6.0, 12.0]
    """
    if primals is None:
        if out is not None:
            raise SpecError(
                "hvp(f) makes no product yet that out could take",
                place=tracing.user_place(),
                cure="Call hvp(f).run_into(out, *args, v), or hvp(f, primals, v, out=out).",
            )
        return _products_of(function, wrt, branches=branches)
    if v is None:
        raise SpecError("hvp(f, primals, v) has no v", place=tracing.user_place(), cure="Give the vector, or hvp(f).")
    given = (*as_tuple(primals, "primals"), v)
    if _is_traced(given):
        if out is not None:
            refuse_traced()
        return value_gradient_and_product(function, given[:-1], {}, wrt, v)[2]
    product = _kept_products(Same(function), wrt if isinstance(wrt, int | str) else tuple(wrt), branches)
    return product(*given) if out is None else product.run_into(out, *given)


@remade
def _products_of(function: Function, wrt: Wrt, *, branches: Branches = "explore") -> Compiled:
    def product_of(*args: Any, **named: Any) -> Any:
        *positional, vector = _with_vector(args)
        return value_gradient_and_product(function, positional, named, wrt, vector)[2]

    return Compiled(product_of, function, last="v", branches=branches)


@functools.lru_cache(CACHE_SIZE)
def _kept_products(of: Same, wrt: Wrt, branches: Branches) -> Compiled:
    return _products_of(of.value, wrt, branches=branches)


def _with_vector(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(args) < 2:
        raise SpecError(
            "a Hessian-vector product takes the function's arguments and then the vector",
            place=tracing.user_place(),
            cure="Call it like hvp(f)(x, v).",
        )
    return args


@remade
def jacobian(
    function: Function,
    wrt: Wrt = 0,
    *,
    mode: Mode | None = None,
    chunk: int | None = None,
    branches: Branches = "explore",
) -> Compiled:
    """Return the Jacobian of a function, in the structure of the result and, in it, of the argument in `wrt`.

    Its arrays have the shape (*result, *argument); several arguments are a tuple. `mode="forward"` computes columns,
    which are tangents of the result's dtype, `"reverse"` rows, gradients of the argument's; by default whichever are
    fewer. `chunk` directions are computed at a time, by default all at once. Of a complex result, or by a complex
    argument (as `grad`), it is complex. Raises DtypeError for an argument or result that is not floating point, and if
    both are complex, SpecError for an unknown `mode` or an invalid `chunk`, MissingRule for an operator without a
    derivative.

    >>> ps.jacobian(lambda x: np.array([x[0] * x[1], x[1]]))(np.array([2.0, 3.0])).tolist()
    [[3.0, 2.0], [0.0, 1.0]]
    """

    def jacobian_at(*args: Any, **named: Any) -> Any:
        return jacobian_of(function, args, named, wrt, mode=mode, chunk=chunk)[1]

    return Compiled(jacobian_at, function, branches=branches)


@remade
def value_and_jacobian(
    function: Function,
    wrt: Wrt = 0,
    *,
    mode: Mode | None = None,
    chunk: int | None = None,
    branches: Branches = "explore",
) -> Compiled:
    """Return the function that returns `(f(*args), Jacobian)`; see `jacobian`."""

    def both_at(*args: Any, **named: Any) -> Any:
        return jacobian_of(function, args, named, wrt, mode=mode, chunk=chunk)

    return Compiled(both_at, function, branches=branches)


@remade
def hessian(function: Function, wrt: Wrt = 0, *, chunk: int | None = None, branches: Branches = "explore") -> Compiled:
    """The Hessian of a scalar function: arrays of shape (*a, *b) in the structure of the argument in `wrt`, twice.

    Here a and b are the shapes of the argument's arrays, whose dtypes they have. `chunk` directions are computed at a
    time, by default all at once. Raises SpecError for an invalid `chunk`, DtypeError for a complex argument, and what
    `value_and_grad` raises.

    >>> ps.hessian(lambda x: x[0] ** 2 * x[1])(np.array([2.0, 3.0])).tolist()
    [[6.0, 4.0], [4.0, 0.0]]
    """

    def hessian_at(*args: Any, **named: Any) -> Any:
        return hessian_of(function, args, named, wrt, chunk=chunk)[2]

    return Compiled(hessian_at, function, branches=branches)


@remade
def value_grad_and_hessian(
    function: Function, wrt: Wrt = 0, *, chunk: int | None = None, branches: Branches = "explore"
) -> Compiled:
    """Return the function that returns `(value, gradient, Hessian)` of a scalar function; see `hessian`."""

    def all_of(*args: Any, **named: Any) -> Any:
        return hessian_of(function, args, named, wrt, chunk=chunk)

    return Compiled(all_of, function, branches=branches)


@remade
def laplacian(
    function: Function, wrt: Wrt = 0, *, chunk: int | None = None, branches: Branches = "explore"
) -> Compiled:
    """Return the sum of the second derivatives of a scalar function, over the elements of the argument in `wrt`.

    It is a scalar of the argument's dtype; of several arguments all elements count. It is the trace of the Hessian, of
    which only the blocks of each array with itself are computed. `chunk` and errors are those of `hessian`.

    >>> float(ps.laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
    18.0
    """

    def laplacian_at(*args: Any, **named: Any) -> Any:
        return laplacian_of(function, args, named, wrt, chunk=chunk)

    return Compiled(laplacian_at, function, branches=branches)


@remade
def derivative(function: Function, wrt: int | str = 0, *, branches: Branches = "explore") -> Compiled:
    """Return the derivative of a function of a number, in the structure, shapes and dtypes of its result.

    The number is a Python float or a scalar floating-point array. It takes one forward pass, however many elements the
    result has. Raises ShapeError for an array with axes, DtypeError for an integer or a result that is not floating
    point, MissingRule for an operator without a derivative.

    >>> ps.derivative(lambda t: np.stack([t**2, t**3]))(2.0).tolist()
    [4.0, 12.0]
    """

    def derivative_at(*args: Any, **named: Any) -> Any:
        return _with_derivative(function, args, named, wrt)[1]

    return Compiled(derivative_at, function, branches=branches)


@remade
def value_and_derivative(function: Function, wrt: int | str = 0, *, branches: Branches = "explore") -> Compiled:
    """Return the function that returns `(f(x), derivative)` of a function of a number; see `derivative`."""

    def both_at(*args: Any, **named: Any) -> Any:
        return _with_derivative(function, args, named, wrt)

    return Compiled(both_at, function, branches=branches)


def _with_derivative(function: Function, args: tuple[Any, ...], named: dict[str, Any], wrt: int | str) -> Any:
    ((key, x),) = select_arguments(function, args, named, wrt).items()
    leaves, spec = trees.flatten(x)
    if not spec.is_leaf() or getattr(leaves[0], "shape", ()) != ():
        raise ShapeError(
            "derivative takes a function of a number",
            place=tracing.user_place(),
            cure="Use ps.jacobian for an array, or ps.jvp along a direction.",
        )
    if trees.is_complex(leaves[0]):
        raise DtypeError(
            "derivative takes a function of a real number, and this one is complex",
            place=tracing.user_place(),
            cure="Use ps.jvp along 1.0, which is the derivative of a holomorphic function, and along 1j.",
        )
    differentiable(function, *trees.flatten({key: x}))

    def along(number: Any) -> Any:
        positional = [number if i == key else a for i, a in enumerate(args)]
        return function(*positional, **{k: number if k == key else v for k, v in named.items()})

    value, slope = jacobian_vector(along, (x,), (1.0,))
    check_differentiable([a.type for a in trees.in_parts(value)[0]], "derivative")
    return value, slope
