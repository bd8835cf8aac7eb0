"""Raises errors of NumPy's and SciPy's linear algebra: the run fails, or the user's own `except` becomes a branch.

`nan_where_singular` is a namespace of the same functions without the error, for code that goes on with the NaN or
infinity of a singular matrix, such as searches and densities.
"""

import functools
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.numpy.axes import END, array_like, slab
from primsplit.numpy.dense.loop import identity_like
from primsplit.numpy.refusing import ENDLESS, NO_SINGULAR, refusing
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import holds_traced, plain_or_traced
from primsplit.tracing.complex_array import ComplexArray

SINGULAR = "Singular matrix"
NO_FACTOR = "Matrix is not positive definite"


NOT_FINITE = ValueError("array must not contain infs or NaNs")


def finite(x: Any, error: Exception = NOT_FINITE) -> Any:
    """Return `x`; a run with NaN or infinity among its numbers fails, as where SciPy has `check_finite`."""
    if not holds_traced(x):
        array = np.asarray(x)
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise error
        return x
    x = x if isinstance(x, ComplexArray) else array_like(x)
    return refusing(x, op.Not(are_finite([x])), error) if x.dtype.kind in "fc" else x


def are_finite(arrays: Iterable[Any]) -> Array:
    """Return whether all numbers of float and complex arrays are finite: 0 times infinity is NaN."""
    parts = [p for x in arrays for p in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    return functools.reduce(op.And, map(_is_finite, parts))


def _is_finite(x: Array) -> Array:
    zero = np.zeros((), x.dtype)
    found: Array = op.Equal(op.ReduceSum(op.Mul(x, zero), keepdims=0), zero)
    return found


def _raising(
    function: Callable[..., Any], is_failed: Callable[[Any], Array], excusing: Callable[[Any], Any], told: str
) -> Callable[..., Any]:
    """The function with NumPy's error: the run fails, or both ways are recorded if the user's code catches it.

    `excusing` gives of an operand the numbers whose NaN and infinities excuse that there is no result.
    """

    @functools.wraps(function)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        found = function(a, *args, **options)
        if tracing.current().path is None:  # a rule, whose pullback is linear in what it solves for
            return found
        failed = _unexcused(is_failed(found), map(excusing, (a, *args)))
        error = np.linalg.LinAlgError(told)
        if not tracing.is_caught(np.linalg.LinAlgError):
            return refusing(found, failed, error)
        if failed:
            raise error
        # The factor of a regular matrix in the place of none: of NaN the gradient would be NaN on the other way too.
        matrix = array_like(a)
        return function(FUNCTIONS[np.where](failed, identity_like(matrix.real), matrix), *args, **options)

    return call


def with_error(found: Any, failed: Array, operands: tuple[Any, ...], error: Exception) -> Any:
    """Return `found`; a run in which it `failed` raises the error, unless an operand holds NaN or infinity."""
    return refusing(found, _unexcused(failed, map(plain_or_traced, operands)), error)


def _unexcused(failed: Array, operands: Iterable[Any]) -> Array:
    given = [x for x in operands if x.dtype.kind in "fc"]
    answer: Array = op.And(failed, are_finite(given)) if given else failed
    return answer


def without_infinities(a: Any) -> Any:
    """Return an array with 0 for infinities, which excuse no lack of a Cholesky factor: NumPy has one or raises."""
    parts = [op.Where(op.IsInf(p), np.zeros((), p.dtype), p) for p in _parts(plain_or_traced(a))]
    return functools.reduce(op.Add, parts)


def solved(found: Any, operands: tuple[Any, ...], told: str) -> Any:
    """Return a solution of finite operands; a run in which it has NaN or infinity fails with a LinAlgError."""
    if not holds_traced(found):
        return found
    return with_error(found, op.Not(are_finite([found])), operands, np.linalg.LinAlgError(told))


def no_solution(found: Any) -> Array:
    """Return whether a solution or an inverse [..., n, m] or [n] failed to exist.

    Its first row is not finite in that case: substitution ends there, and neither infinity nor NaN becomes a number
    again.
    """
    first = [slab(part, max(len(part.shape) - 2, 0), 0, 1) for part in _parts(found)]
    answer: Array = op.Not(are_finite(first))
    return answer


def no_factor(found: Any) -> Array:
    """Return whether a Cholesky factor [..., n, n] failed to exist: its last element is then NaN or not positive."""
    real, *_ = _parts(found)
    last = slab(slab(real, len(real.shape) - 1, -1, END), len(real.shape) - 2, -1, END)
    wrong = op.Not(op.Greater(last, np.zeros((), last.dtype)))
    return op.Greater(op.ReduceMax(op.Cast(wrong, to=np.int32), keepdims=0), np.int32(0))


def _parts(x: Any) -> tuple[Array, ...]:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def _unchecked(function: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return (traced if holds_traced(args) else function)(*args, **options)

    return call


def _of_finite(function: Callable[..., Any], told: str) -> Callable[..., Any]:
    """The function, whose run fails with a LinAlgError for NaN or infinity in the first argument."""

    @functools.wraps(function)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        if tracing.current().path is not None and not options.get("hermitian"):  # no rule's; eigh has NaN
            a = finite(a, np.linalg.LinAlgError(told))
        return function(a, *args, **options)

    return call


_OF_FINITE = {
    **dict.fromkeys(("eig", "eigvals"), ENDLESS),
    **dict.fromkeys(("svd", "svdvals", "pinv", "lstsq", "matrix_rank"), NO_SINGULAR),
}
"""Functions of np.linalg of which LAPACK's iteration does not end with an answer for NaN or infinity, and the error."""
for _name, _told in _OF_FINITE.items():
    _function = getattr(np.linalg, _name)
    FUNCTIONS[_function] = _of_finite(FUNCTIONS[_function], _told)
_FAILING: dict[str, tuple[Callable[[Any], Array], Callable[[Any], Any], str]] = {
    "cholesky": (no_factor, without_infinities, NO_FACTOR),
    **dict.fromkeys(("inv", "solve", "tensorinv", "tensorsolve"), (no_solution, plain_or_traced, SINGULAR)),
}
"""Functions of np.linalg: whether a result says that there is none, what excuses that, and the error."""
nan_where_singular: Any = SimpleNamespace()
"""`cholesky`, `inv` and `solve`, whose results are NaN or infinite where those of np.linalg raise."""
for _name, (_is_failed, _excusing, _told) in _FAILING.items():
    _function = getattr(np.linalg, _name)
    setattr(nan_where_singular, _name, _unchecked(_function, FUNCTIONS[_function]))
    FUNCTIONS[_function] = _raising(FUNCTIONS[_function], _is_failed, _excusing, _told)
