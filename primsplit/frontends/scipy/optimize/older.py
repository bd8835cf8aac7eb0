"""scipy.optimize's older minimizers, by `minimize` and `minimize_scalar`, whichever method they name."""

from collections.abc import Callable
from typing import Any

from primsplit.frontends.scipy.operands import with_args
from primsplit.frontends.scipy.optimize.intervals import minimize_scalar
from primsplit.frontends.scipy.optimize.minima import minimize
from primsplit.tracing.array import unsupported

__all__ = ["brent", "fmin", "fmin_bfgs", "fmin_cg", "fmin_l_bfgs_b", "fmin_powell", "fminbound", "golden"]

TOLD = ("full_output", "retall", "callback")
"""Options that ask for what there is only of SciPy's own steps."""


def _quiet(name: str, options: dict[str, Any]) -> None:
    """Raise UnsupportedFunction for options that ask for more than the place; tolerances and counts mean nothing."""
    asked = next((option for option in TOLD if options.get(option)), None)
    if asked is not None:
        raise unsupported(f"scipy.optimize.{name} of traced values with {asked}")


def _downhill(name: str, *names: str) -> Callable[..., Any]:
    def search(func: Callable[..., Any], x0: Any, *rest: Any, **options: Any) -> Any:
        given = dict(zip(names, rest, strict=False)) | options
        _quiet(name, given)
        if len(rest) > len(names):
            raise unsupported(f"scipy.optimize.{name} of traced values with so many arguments that are not named")
        return minimize(func, x0, given.get("args", ())).x

    search.__name__ = name
    search.__doc__ = "The place of a least value near x0; a gradient that is given is not asked."
    return search


fmin, fmin_powell = (_downhill(name, "args") for name in ("fmin", "fmin_powell"))
fmin_bfgs, fmin_cg = (_downhill(name, "fprime", "args") for name in ("fmin_bfgs", "fmin_cg"))


def fmin_l_bfgs_b(
    func: Callable[..., Any],
    x0: Any,
    fprime: Any = None,
    args: Any = (),
    approx_grad: Any = 0,
    bounds: Any = None,
    **options: Any,
) -> tuple[Any, Any, dict[str, Any]]:
    """The place of a least value near x0 within bounds, the value, and the gradient there, in a dictionary."""
    _quiet("fmin_l_bfgs_b", options)
    gives_both = fprime is None and not approx_grad
    found = minimize(func, x0, args, jac=gives_both, bounds=bounds)
    return found.x, found.fun, {"grad": found.jac}


def fminbound(func: Callable[..., Any], x1: Any, x2: Any, args: Any = (), xtol: float = 1e-5, **options: Any) -> Any:
    """The place of a least value between two numbers."""
    _quiet("fminbound", options)
    return minimize_scalar(with_args(func, args), bounds=(x1, x2)).x


def _in_bracket(name: str) -> Callable[..., Any]:
    def search(func: Callable[..., Any], args: Any = (), brack: Any = None, tol: Any = None, **options: Any) -> Any:
        _quiet(name, options)
        return minimize_scalar(with_args(func, args), bracket=brack).x

    search.__name__ = name
    search.__doc__ = "The place of a least value, in a bracket if there is one."
    return search


brent, golden = _in_bracket("brent"), _in_bracket("golden")
