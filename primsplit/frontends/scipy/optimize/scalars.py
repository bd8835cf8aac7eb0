"""scipy.optimize's scalar root finders, with its names and arguments, for functions of traced values."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import not_empty, with_args
from primsplit.frontends.scipy.optimize.brackets import Stop, brent
from primsplit.frontends.scipy.optimize.brackets import bisect as halves
from primsplit.frontends.scipy.optimize.brackets import ridder as ridders
from primsplit.frontends.scipy.optimize.implicit import Function, recorded, root_of
from primsplit.frontends.scipy.optimize.steps import fixed_point as repeated
from primsplit.frontends.scipy.optimize.steps import newton as newtons
from primsplit.frontends.scipy.optimize.steps import secant
from primsplit.ir import Type
from primsplit.ir.errors import ShapeError
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.calls.primitive import stop_gradient
from primsplit.tracing.calls.recorded import StandIn

__all__ = ["bisect", "brenth", "brentq", "fixed_point", "newton", "ridder", "root_scalar", "toms748"]

NUMBER = StandIn(Type(np.float64, ()), weak=True, scalar=True)
"""The argument that SciPy's C code passes to a function: a Python number."""
RTOL = 4 * float(np.finfo(np.float64).eps)


class Root(NamedTuple):
    """The result of `root_scalar`, and of root finders beside the root with `full_output`."""

    root: Any
    converged: Any
    method: str


def _between(name: str, search: Callable[[Stop], Any]) -> Callable[..., Any]:
    """A search between two points; a run fails unless f has opposite signs there, or with `disp` has found no root."""

    def find(
        f: Function,
        a: Any,
        b: Any,
        args: Any = (),
        xtol: float = 2e-12,
        rtol: float = RTOL,
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        made = recorded(with_args(f, args), NUMBER)
        ends = [_number(x) for x in (a, b)]
        found = root_of(name, [made], ends, search(Stop(xtol, rtol, maxiter)))
        at_ends = [stop_gradient(made(x, [Array(c) for c in made.captures])) for x in ends]
        alike = op.Greater(op.Mul(*map(op.Sign, at_ends)), 0.0)
        found = refusing(found, alike, ValueError("f(a) and f(b) must have different signs"))
        if disp:
            lost = op.Or(*map(op.IsNaN, at_ends))
            found = refusing(found, lost, ValueError("The function value is NaN; solver cannot continue."))
        return _told(name, _ended(found, maxiter) if disp else found, full_output=full_output)

    return find


def _ended(x: Array, most: int) -> Array:
    """A root; a run in which it is NaN or infinite fails, since the search did not end."""
    found: Array = refusing(x, op.IsNaN(op.Mul(x, 0.0)), RuntimeError(f"Failed to converge after {most} iterations."))
    return found


def _number(x: Any) -> Array:
    """A float64 number without axes, which a search starts from. Raises ShapeError for an array."""
    found = cast_to(array_like(x), np.float64)
    if any(d != 1 for d in found.shape):
        raise ShapeError(f"a search of one root starts from numbers, not from {found.type}", place=tracing.user_place())
    start: Array = stop_gradient(op.Reshape(found, np.zeros(0, np.int64)) if found.shape else found)
    return start


def _told(name: str, x: Array, *, full_output: bool) -> Any:
    """The root as Python's number, as SciPy has it."""
    root = Array(x.value, weak=not x.shape, scalar=True)
    return (root, Root(root, op.Not(op.IsNaN(x)), name)) if full_output else root


brentq = _between("brentq", brent)
brenth = _between("brenth", lambda stop: brent(stop, hyperbolic=True))
bisect = _between("bisect", halves)
ridder = _between("ridder", ridders)


def toms748(f: Function, a: Any, b: Any, args: Any = (), k: int = 1, **options: Any) -> Any:
    """The root that `brentq` finds: the same one, where there is but one."""
    return brentq(f, a, b, args, **options)


def newton(
    func: Function,
    x0: Any,
    fprime: Function | None = None,
    args: Any = (),
    tol: float = 1.48e-8,
    maxiter: int = 50,
    fprime2: Function | None = None,
    x1: Any = None,
    rtol: float = 0.0,
    full_output: bool = False,
    disp: bool = True,
) -> Any:
    """A root by Newton's method, the secant's without `fprime`, Halley's with `fprime2`.

    A run fails where none is found from a number x0, unless `disp` is False. Of an array x0, each element of the
    function depends on that element of x alone, and one of which no root is found is NaN.
    """
    start = not_empty(stop_gradient(cast_to(array_like(x0), np.float64)))
    argument = StandIn(start.type, scalar=start.shape == ())
    functions = [recorded(with_args(f, tuple(args)), argument) for f in (func, fprime, fprime2) if f is not None]
    if fprime is None:
        # SciPy's second point: a little away from the first one.
        away = start * (1 + 1e-4) + np.where(start >= 0, 1e-4, -1e-4)
        second = away if x1 is None else stop_gradient(cast_to(array_like(x1), np.float64))
        found = root_of("newton", functions, [start, second], secant(tol, rtol, maxiter))
    else:
        search = newtons(tol, rtol, maxiter, halley=fprime2 is not None)
        found = root_of("newton", functions, [start], search)
    return _told("newton", _ended(found, maxiter) if disp and not start.shape else found, full_output=full_output)


def fixed_point(
    func: Function, x0: Any, args: Any = (), xtol: float = 1e-8, maxiter: int = 500, method: str = "del2"
) -> Any:
    """x = func(x), elements of an array x together; a run fails where one does not settle."""
    start = stop_gradient(cast_to(array_like(x0), np.float64))
    function = with_args(func, tuple(args))
    argument = StandIn(start.type, scalar=start.shape == ())
    residual = recorded(lambda x: x - cast_to(array_like(function(x)), np.float64), argument)
    search = repeated(xtol, maxiter, accelerated=method == "del2")
    return _ended(root_of("fixed_point", [residual], [start], search, coupled=start.shape != ()), maxiter)


BRACKETING: dict[str, Callable[..., Any]] = {
    "brentq": brentq, "brenth": brenth, "bisect": bisect, "ridder": ridder, "toms748": toms748,
}  # fmt: skip


def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: Any = None,
) -> Root:
    """A root by the method that is named, or by the first that what is given is enough for, as in SciPy.

    Its result has `root` and `converged`. Raises UnsupportedFunction for `fprime=True`.
    """
    given: dict[str, Any] = {"rtol": rtol, "maxiter": maxiter} | dict(options or {})
    if isinstance(fprime, bool) or isinstance(fprime2, bool):
        raise unsupported("scipy.optimize.root_scalar with derivatives beside the function's value")
    method = (method or ("brentq" if bracket is not None else "newton")).lower()
    if method in BRACKETING:
        known = {k: v for k, v in ({"xtol": xtol} | given).items() if v is not None}
        between: tuple[Any, Root] = BRACKETING[method](f, *bracket, args, full_output=True, disp=False, **known)
        return between[1]
    known = {k: v for k, v in ({"tol": xtol} | given).items() if v is not None}
    slopes = {"newton": (fprime, None), "halley": (fprime, fprime2), "secant": (None, None)}.get(method, (None, None))
    known |= {"fprime2": slopes[1], "x1": x1, "full_output": True, "disp": False}
    found: tuple[Any, Root] = newton(f, x0, slopes[0], args, **known)
    return found[1]._replace(method=method)
