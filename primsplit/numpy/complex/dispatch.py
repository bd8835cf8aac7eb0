"""Chooses between the complex and the real form of a NumPy function, by whether an argument is complex.

np.exp(x)         calls the real form, which records Exp(x)
np.exp(1j * x)    calls the complex form, which records the cosine and sine of x
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.dims import broadcast_shapes
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy import ufuncs
from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX, ELEMENTWISE
from primsplit.numpy.complex.operands import (
    Pair,
    as_complex,
    holds_complex,
    is_complex_dtype,
    loop_part,
    made,
    operand,
    pair_of,
)
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import Held
from primsplit.tracing.broadcasting import expand_to
from primsplit.tracing.complex_array import OFFERED, ComplexArray, refused
from primsplit.tracing.hooks import HOOKS

Function = Callable[..., Any]
_Function = TypeVar("_Function", bound=Function)

PRODUCTS: dict[str, Function] = {}
"""The ufuncs that sum products, by their names: functions of ComplexArrays."""
REDUCED: dict[str, Function] = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}
"""The functions that equal the `reduce` of a ufunc."""
ACCUMULATED: dict[str, Function] = {"add": np.cumsum, "multiply": np.cumprod}
"""The functions that equal the `accumulate` of a ufunc."""


def offers(*keys: Any, dtype_at: int | None = None) -> Callable[[_Function], _Function]:
    """Register the complex form of these functions; it is called if an argument or the requested dtype is complex.

    `dtype_at` is the place of a dtype that may be given by position.
    """

    def register(function: _Function) -> _Function:
        for key in keys:
            real = FUNCTIONS[key]
            OFFERED[key] = function
            FUNCTIONS[key] = _either(real, function, dtype_at)
        return function

    return register


def _either(real: Function, whole: Function, dtype_at: int | None) -> Function:
    """Return a function that calls the complex form `whole` where needed, else `real`."""

    @functools.wraps(real)
    def call(*args: Any, **options: Any) -> Any:
        dtype = args[dtype_at] if dtype_at is not None and len(args) > dtype_at else options.get("dtype")
        is_complex = any(map(holds_complex, (*args, *options.values()))) or is_complex_dtype(dtype)
        return (whole if is_complex else real)(*args, **options)

    return call


def apply_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Return `ufunc.method(*inputs, **options)` for traced arrays, real or complex."""
    given = (*inputs[: ufunc.nin], *(v for k, v in options.items() if k != "out"))
    is_real = not any(map(holds_complex, given)) and not is_complex_dtype(options.get("dtype"))
    if is_real and not _is_always_complex(ufunc):
        return _of_real(ufunc, method, inputs, options)
    if method == "reduce" and ufunc.__name__ in REDUCED:
        options.setdefault("axis", 0)
        return OFFERED[REDUCED[ufunc.__name__]](*inputs, **{k: v for k, v in options.items() if v is not np._NoValue})
    if method == "accumulate" and ufunc.__name__ in ACCUMULATED:
        options.setdefault("axis", 0)
        return OFFERED[ACCUMULATED[ufunc.__name__]](*inputs, **options)
    if method != "__call__":
        raise refused(f"np.{ufunc.__name__}.{method}")
    return _called(ufunc, inputs, **options)


HOOKS.apply_ufunc = apply_ufunc


def _is_always_complex(ufunc: np.ufunc) -> bool:
    """Whether the results are complex for real arrays, too; those of NumPy's own ufuncs are not."""
    return getattr(np, ufunc.__name__, None) is not ufunc and ufunc.__name__ in ALWAYS_COMPLEX


def _of_real(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """The form for real arrays, whose result may be written to a complex one."""
    out = inputs[ufunc.nin :] or options.get("out")
    if method != "__call__" or not holds_complex(out if isinstance(out, tuple) else (out,)):
        return ufuncs.apply_ufunc(ufunc, method, *inputs, **options)
    if ufunc.nout > 1:
        raise refused(f"np.{ufunc.__name__} with out=")
    options = {name: value for name, value in options.items() if name != "out"}
    return delivered(ufuncs.apply_ufunc(ufunc, method, *inputs[: ufunc.nin], **options), out)


def _called(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    *,
    out: Any = None,
    where: Any = True,
    dtype: npt.DTypeLike | None = None,
    **unused: Any,
) -> Any:
    """A ufunc of complex operands, with NumPy's promotion. Raises DtypeError and ShapeError at the user's line."""
    name = ufunc.__name__
    given, out = [operand(x) for x in inputs[: ufunc.nin]], inputs[ufunc.nin :] or out
    if not (name in ELEMENTWISE or name in ALWAYS_COMPLEX or name in PRODUCTS):
        own = name.removeprefix("_").removeprefix("riemann_")
        error = refused(f"np.{name}" if hasattr(np, name) else f"scipy.special.{own}")
        error.again = name.startswith("_")  # SciPy's own, whose public function may be stood in for
        raise error
    if where is not True:
        raise refused(f"np.{name} with where=", "Choose with np.where afterwards.")
    if ufunc.nout > 1 and out:
        raise refused(f"np.{name} with out=")
    if name in PRODUCTS:
        return delivered(PRODUCTS[name](*given), out)
    try:
        broadcast_shapes(*(a.shape for a in given))
    except ShapeError as error:
        error.place = tracing.user_place()
        raise
    part = loop_part(ufunc, given, dtype)
    result = (ALWAYS_COMPLEX if name in ALWAYS_COMPLEX else ELEMENTWISE)[name](*(pair_of(a, part) for a in given))
    if ufunc.nout > 1:
        return tuple(map(made, result))
    found = made(result) if isinstance(result, Pair) else Array(result.value)
    found.scalar = True
    return delivered(found, out)


def delivered(result: Array, out: Any) -> Any:
    """Return `result`, written to `out` if that is given. Raises DtypeError for an `out` that is not complex."""
    target = next(iter(out), None) if isinstance(out, tuple) else out
    if target is None:
        return result
    target = target.read() if isinstance(target, Held) else target
    if not isinstance(target, Array):
        raise ufuncs.plain_out("out= is a NumPy array, which a traced result cannot be written to", target)
    if isinstance(result, ComplexArray) and not isinstance(target, ComplexArray):
        raise DtypeError(
            "a complex result cannot be written to a real array",
            place=tracing.user_place(),
            cure="Write x = x * z instead of x *= z, or make x complex: x.astype(complex).",
        )
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise DtypeError(f"cannot write {result.dtype} into an array of {target.dtype}", place=tracing.user_place())
    new = as_complex(result) if isinstance(target, ComplexArray) else result
    if isinstance(new, ComplexArray):
        parts = (expand_to(ufuncs.cast_to(p, target.real.dtype), target.shape) for p in (new.real, new.imag))
        target.assign(ComplexArray(*parts))
    else:
        target.assign(expand_to(ufuncs.cast_to(new, target.dtype), target.shape))
    return target
