"""The operators of a traced array: each calls a ufunc; the result of Python numbers is a Python number.

`x + 1` records Add(x, 1.0) for a float array x. The sum of two traced Python booleans adds them as int64, as in Python.
"""

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, TypeVar

import numpy as np

from primsplit.ir.dims import Size, at_least
from primsplit.ir.errors import TraceError
from primsplit.tracing import is_caught, user_place
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.handles.concretization import no_number, note_results, numpys_class
from primsplit.tracing.handles.truths import truths

_Operand = TypeVar("_Operand", bound="Operators")


def _binary(ufunc: np.ufunc) -> Callable[[_Operand, Any], _Operand]:
    def operator(self: _Operand, other: Any) -> Any:
        if _comes_first(other) or (_is_users(other, ufunc) and self.shape == ()):
            return NotImplemented
        left, right = _of_python(ufunc, self, other)
        is_compared = ufunc in integer_ranges.COMPARISONS and all(_is_pythons(o, "bi") for o in (left, right))
        if is_compared and (answer := integer_ranges.decided(ufunc, left, right)) is not None:
            return answer
        result = _weakened(ufunc, left.__array_ufunc__(ufunc, "__call__", left, right), left, right)
        if is_compared:
            integer_ranges.note_compared(ufunc, result.value, (left, right))
        return result

    return operator


def _raised() -> Callable[[_Operand, Any], Any]:
    """Return `**`: NumPy squares an array of booleans as int8, and takes its other powers as int64."""
    general = _binary(np.power)

    def operator(self: _Operand, other: Any, modulo: Any = None) -> Any:
        if modulo is not None:
            return general(self, other) % modulo
        if type(other) is int and other == 2 and not self.is_number() and self.dtype == np.bool_:
            return self.__array_ufunc__(np.square, "__call__", self)
        return general(self, other)

    return operator


def _compared(ufunc: np.ufunc) -> Callable[[_Operand, Any], Any]:
    """Return `==` or `!=`, for None and texts too, which equal no number."""
    general = _binary(ufunc)

    def operator(self: _Operand, other: Any) -> Any:
        if other is None or isinstance(other, str):
            return _each(self, ufunc is np.not_equal)
        return general(self, other)

    return operator


def _each(array: Any, answer: bool) -> Any:
    """Return the answer for each element, as NumPy does."""
    if array.is_number():
        return answer if array.weak else np.bool_(answer)
    is_known = all(isinstance(d, int) for d in array.shape)
    return np.full(array.shape, answer) if is_known else np.full_like(array, answer, dtype=bool)


_REFLECTED = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__", np.power: "__rpow__", np.matmul: "__rmatmul__",
    np.bitwise_and: "__rand__", np.bitwise_or: "__ror__", np.bitwise_xor: "__rxor__",
}  # fmt: skip
"""For each ufunc, the method by which a right operand may answer the operator."""


def _is_users(other: Any, ufunc: np.ufunc) -> bool:
    """Whether the object is no array and no number, and has the operator itself: NumPy's numbers let it answer."""
    kind = type(other)
    if kind in {float, int, bool, complex, list, tuple} or hasattr(kind, "__array_ufunc__"):
        return False
    is_known = isinstance(other, Number | Sequence | Size) or hasattr(kind, "__array__")
    return not is_known and hasattr(kind, _REFLECTED.get(ufunc, ""))


def _comes_first(other: Any) -> bool:
    """Whether NumPy would let the operand answer instead: it has no ufuncs, like a sparse matrix."""
    if hasattr(other, "__array_ufunc__"):
        return other.__array_ufunc__ is None
    return getattr(other, "__array_priority__", 0) > 0


def _weakened(ufunc: np.ufunc, result: Any, *operands: Any) -> Any:
    """Mark the result of a Python operator as a Python number if all operands are; note the classes it may have."""
    results = result if isinstance(result, tuple) else (result,)
    if all(o.weak if isinstance(o, Operators) else type(o) in {bool, int, float, Size} for o in operands):
        for array in results:
            array.weak = True
            truths.made += array.dtype == np.bool_
        if all(_is_integer(o) for o in operands):
            integer_ranges.note_result(ufunc, results, operands)
    if result is not NotImplemented:
        note_results(ufunc, results, operands)
    return result


def _is_integer(operand: Any) -> bool:
    """Whether a Python number, traced or not, is an integer or a boolean."""
    return operand.dtype.kind in "bi" if isinstance(operand, Operators) else type(operand) is not float


def _reflected(ufunc: np.ufunc) -> Callable[[_Operand, Any], _Operand]:
    def operator(self: _Operand, other: Any) -> Any:
        left, right = _of_python(ufunc, other, self)
        return _weakened(ufunc, right.__array_ufunc__(ufunc, "__call__", left, right), left, right)

    return operator


def _in_place(ufunc: np.ufunc) -> Callable[[_Operand, Any], _Operand]:
    def operator(self: _Operand, other: Any) -> Any:
        if self.is_number():
            left, right = _of_python(ufunc, self, other)
            return _weakened(ufunc, left.__array_ufunc__(ufunc, "__call__", left, right), left, right)
        self.__array_ufunc__(ufunc, "__call__", self, other, out=(self,))
        return self

    return operator


def _unary(ufunc: np.ufunc) -> Callable[[_Operand], _Operand]:
    def operator(self: _Operand) -> Any:
        (whole,) = _of_python(ufunc, self)
        return _weakened(ufunc, whole.__array_ufunc__(ufunc, "__call__", whole), whole)

    return operator


_KEEPING_TRUTH = frozenset({
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
    np.greater_equal,
})  # fmt: skip
"""Operators that do not convert Python's booleans to integers."""


_DIVIDING = frozenset({np.true_divide, np.floor_divide, np.remainder, np.divmod, np.power})


def _of_python(ufunc: np.ufunc, *operands: Any) -> tuple[Any, ...]:
    """Return the operands; if all are Python's booleans, as the integers that they are in arithmetic.

    Raises TypeError, or NumberAsked for a repetition, if one is a list that NumPy and Python do not take as an array.
    Raises TraceError for a power of Python's integers with a traced exponent: it is a float if that is negative. Raises
    ZeroDivisionError on a path of its own if the user's code catches it.
    """
    if any(type(o) in {list, tuple} for o in operands):
        _refuse_list(ufunc, *operands)
    if ufunc in _DIVIDING and all(_is_pythons(o, "bif") for o in operands) and is_caught(ZeroDivisionError):
        _raise_for_zero(ufunc, *operands)
    if ufunc is np.power and any(_is_pythons(o, "f") for o in operands) and is_caught(OverflowError):
        _raise_for_overflow(*operands)
    if ufunc in _KEEPING_TRUTH or not all(_is_pythons(o, "bi") for o in operands):
        return operands
    if ufunc is np.power and isinstance(operands[1], Operators) and not _is_size(operands[1]):
        raise TraceError(
            "a power of Python's integers, whose exponent only the run knows, is an integer or a float",
            place=user_place(),
            cure="Write the base as a float, 10.0 ** n.",
        )
    if ufunc is np.power and type(operands[1]) is int and operands[1] < 0:
        return (operands[0] / 1, float(operands[1]))  # Python's power of integers is a float here
    numbers = tuple(map(_whole, operands)) if all(_is_pythons(o, "b") for o in operands) else operands
    numbers = integer_ranges.fitted(ufunc, numbers)
    return (numbers[0], _checked(ufunc, numbers[1])) if ufunc in _REFUSING else numbers


def _refuse_list(ufunc: np.ufunc, *operands: Any) -> None:
    """Raise an error if Python repeats a list, or takes no list beside a number.

    `[a, b] * n` repeats the list for an integer of Python or NumPy; an array without axes multiplies its elements.
    """
    numbers = [o for o in operands if isinstance(o, Operators) and o.is_number()]
    if not numbers or ufunc in {np.equal, np.not_equal}:
        return
    (number,) = numbers
    if ufunc is np.multiply and (number.dtype.kind in "iu" or (number.weak and number.dtype == np.bool_)):
        raise no_number(number.value.type, "the number of repetitions of a list")
    if ufunc is np.multiply or number.weak:
        kind = numpys_class(number).__name__
        raise TypeError(f"unsupported operand type(s) for a list and a number: 'list' and '{kind}'")


_REFUSING: dict[np.ufunc, tuple[Callable[[Any], Any], Exception]] = {
    **dict.fromkeys(
        (np.floor_divide, np.remainder, np.divmod),
        (lambda n: n == 0, ZeroDivisionError("integer division or modulo by zero")),
    ),
    **dict.fromkeys((np.left_shift, np.right_shift), (lambda n: n < 0, ValueError("negative shift count"))),
}
"""For which second operands Python's operators raise, and what, for integers."""


def _checked(ufunc: np.ufunc, right: Any) -> Any:
    """Return the second operand; a run in which Python would raise for it fails. Sizes above 0 need no check."""
    if not isinstance(right, Operators):
        return right
    sizes = right.value.sizes
    if sizes is not None and all(at_least(size, 1) for size in sizes):
        return right
    is_wrong, error = _REFUSING[ufunc]
    right_checked = right.checked(is_wrong(right), error)
    right_checked.weak = True
    return right_checked


def _raise_for_zero(ufunc: np.ufunc, left: Any, right: Any) -> None:
    """Raise ZeroDivisionError if Python does for these numbers."""
    if ufunc is not np.power and right == 0:
        raise ZeroDivisionError("division by zero")
    if ufunc is np.power and right < 0 and left == 0:
        raise ZeroDivisionError("0.0 cannot be raised to a negative power")


def _raise_for_overflow(left: Any, right: Any) -> None:
    """Raise OverflowError if float64 does not hold the finite power of two Python numbers, one of them a float."""
    if not all(_is_pythons(o, "bif") for o in (left, right)):
        return
    power = np.power(left, right)
    if np.isinf(power) & np.isfinite(left) & np.isfinite(right) & (left != 0):
        raise OverflowError(34, "Numerical result out of range")


def _is_pythons(operand: Any, kinds: str) -> bool:
    """Whether the operand is a Python number, traced or not, of these kinds: "b", "i" and "f"."""
    traced: Any = operand if isinstance(operand, Operators) else None
    if traced is not None:
        return bool(traced.weak and traced.dtype.kind in kinds and traced.is_number())
    return {bool: "b", int: "i", float: "f"}.get(type(operand), "?") in kinds


def _is_size(number: Any) -> bool:
    """Whether the number is a size, or computed from sizes and not negative."""
    return number.value.sizes is not None and all(at_least(size, 0) for size in number.value.sizes)


def _whole(operand: Any) -> Any:
    traced: Any = operand
    if not isinstance(operand, Operators):
        return int(traced)
    whole = traced.astype(np.int64)
    whole.weak = True
    return whole


def _rounded(self: "Operators", ndigits: int | None = None) -> Any:
    """Return `round(x)` of a number: a Python integer without `ndigits`.

    Raises TypeError for an array, as NumPy does.
    """
    if np.ndim(self):  # type: ignore[arg-type]  # NumPy hands it over
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if ndigits is not None:
        return _weakened(np.rint, np.round(self, ndigits), self)  # type: ignore[call-overload]  # NumPy hands it over
    return self.integer(np.rint)


def _truncated(self: "Operators") -> Any:
    """Return `math.trunc(x)` of a number, a Python integer. Raises TypeError for an array, as NumPy does."""
    if np.ndim(self):  # type: ignore[arg-type]  # NumPy hands it over
        raise TypeError("type numpy.ndarray doesn't define __trunc__ method")
    return self.integer(np.trunc)


class Operators:
    """The operators of an array; the array itself implements ufuncs, and says what is a number."""

    __slots__ = ()
    weak: bool
    dtype: Any
    shape: Any
    is_number: Callable[[], bool]
    value: Any
    checked: Callable[[Any, Exception], Any]
    integer: Callable[[Callable[..., Any]], Any]
    __array_ufunc__: Callable[..., Any]

    __add__ = _binary(np.add)
    __radd__ = _reflected(np.add)
    __iadd__ = _in_place(np.add)
    __sub__ = _binary(np.subtract)
    __rsub__ = _reflected(np.subtract)
    __isub__ = _in_place(np.subtract)
    __mul__ = _binary(np.multiply)
    __rmul__ = _reflected(np.multiply)
    __imul__ = _in_place(np.multiply)
    __truediv__ = _binary(np.true_divide)
    __rtruediv__ = _reflected(np.true_divide)
    __itruediv__ = _in_place(np.true_divide)
    __floordiv__ = _binary(np.floor_divide)
    __rfloordiv__ = _reflected(np.floor_divide)
    __ifloordiv__ = _in_place(np.floor_divide)
    __mod__ = _binary(np.remainder)
    __rmod__ = _reflected(np.remainder)
    __imod__ = _in_place(np.remainder)
    __pow__ = _raised()
    __rpow__ = _reflected(np.power)
    __ipow__ = _in_place(np.power)
    __matmul__ = _binary(np.matmul)
    __rmatmul__ = _reflected(np.matmul)
    __imatmul__ = _in_place(np.matmul)
    __and__ = _binary(np.bitwise_and)
    __rand__ = _reflected(np.bitwise_and)
    __iand__ = _in_place(np.bitwise_and)
    __or__ = _binary(np.bitwise_or)
    __ror__ = _reflected(np.bitwise_or)
    __ior__ = _in_place(np.bitwise_or)
    __xor__ = _binary(np.bitwise_xor)
    __rxor__ = _reflected(np.bitwise_xor)
    __ixor__ = _in_place(np.bitwise_xor)
    __lshift__ = _binary(np.left_shift)
    __rlshift__ = _reflected(np.left_shift)
    __ilshift__ = _in_place(np.left_shift)
    __rshift__ = _binary(np.right_shift)
    __rrshift__ = _reflected(np.right_shift)
    __irshift__ = _in_place(np.right_shift)
    __divmod__ = _binary(np.divmod)
    __rdivmod__ = _reflected(np.divmod)
    __eq__ = _compared(np.equal)  # elementwise, as in NumPy
    __ne__ = _compared(np.not_equal)
    __lt__ = _binary(np.less)
    __le__ = _binary(np.less_equal)
    __gt__ = _binary(np.greater)
    __ge__ = _binary(np.greater_equal)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __round__ = _rounded
    __trunc__ = _truncated
    __invert__ = _unary(np.invert)
    __hash__ = None  # type: ignore[assignment]  # as in NumPy
