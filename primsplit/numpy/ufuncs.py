"""NumPy's ufunc protocol for traced arrays: promotion, broadcasting, `out=`, `where=`, reduce, accumulate, outer, at.

    np.add(i, x)                  # i int32[N], x float64[N]
    becomes
    a: float64[N] = Cast(i, to=float64)
    b: float64[N] = Add(a, x)

`ELEMENTWISE` maps a ufunc's name to a function of Arrays that already have the loop's input dtypes. SciPy's ufuncs are
found by name too, so SciPy is never imported.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import BFLOAT16, Const, converted, is_held
from primsplit.ir.dims import broadcast_shapes
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.ir.families import Table
from primsplit.numpy.converted_run import is_converted, known_arrays, made_at
from primsplit.numpy.few_bits import to_few_bits
from primsplit.numpy.validity import lost_at_nan
from primsplit.numpy.writing import fitted
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array, numbers_of, unsupported
from primsplit.tracing.asarray import Held, array_like
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.registering import claim, entry_of, module_of
from primsplit.tracing.trees import as_list

Elementwise = Callable[..., Any]
ELEMENTWISE: Table[str, Elementwise] = Table()
METHODS: dict[str, Callable[..., Any]] = {}
Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
"""Which conversions NumPy admits."""


def elementwise(
    *names: str, is_total: bool = False, steps: tuple[int, ...] = (), replace: bool = False
) -> Callable[[Elementwise], Elementwise]:
    """Register the traced form of these ufuncs; it gets Arrays of the loop's input dtypes.

    Derivatives of SciPy's are NaN where their value is, but in the arguments `steps`, of which there is none. One that
    `is_total` has numbers everywhere: it is NaN at NaN alone, and so are its slopes by themselves. Derivatives of
    NumPy's are those of their formulas everywhere, as in other libraries: that of log is 1 / x below 0 too. Raises
    RuleError where another module has registered one, unless `replace` is True.
    """

    def register(function: Elementwise) -> Elementwise:
        for name in names:
            known = entry_of(ELEMENTWISE, name, function)
            claim("traced form", name, known and module_of(known), module_of(function), replace=replace)
            is_plain = is_total or isinstance(getattr(np, name, None), np.ufunc)
            ELEMENTWISE[name] = function if is_plain else lost_at_nan(function, steps)
        return function

    return register


def ufunc_method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the traced form of a ufunc's method: `reduce`, `accumulate`, `outer`, `at`, `reduceat`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        METHODS[name] = function
        return function

    return register


def apply_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """Return `ufunc.method(*inputs, **options)` for traced arrays."""
    if method != "__call__":
        if method not in METHODS:
            raise unsupported(f"{ufunc.__name__}.{method}")
        return numbers_of(method, METHODS[method](ufunc, *inputs, **options), options)
    if ufunc.__name__ not in ELEMENTWISE:
        if ufunc.types == [f"{'O' * ufunc.nin}->{'O' * ufunc.nout}"] and not options:
            return HOOKS.apply_ufunc_of_objects(ufunc, *inputs)
        error = unsupported(f"the ufunc {ufunc.__name__}")
        error.again = ufunc.__name__.startswith("_")  # SciPy's own, whose public function may be stood in for
        raise error
    if ufunc.signature is not None and not {"axes", "axis", "keepdims"}.isdisjoint(options):
        return METHODS["axes"](ufunc, *inputs, **options)
    return call_ufunc(ufunc, *inputs, **options)


def call_ufunc(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    casting: Casting = "same_kind",
    dtype: npt.DTypeLike | None = None,
    **unused: Any,
) -> Any:
    """A ufunc element by element, with NumPy's promotion. Raises DtypeError and ShapeError at the user's line."""
    given, out = list(inputs[: ufunc.nin]), inputs[ufunc.nin :] or out
    if any(x is None for x in given):
        raise _none_taken(ufunc)
    arrays = [array_like(x) for x in given]
    if ufunc.__name__ in COMPARISONS:
        arrays = _comparable(arrays)
    loop = loop_dtypes(ufunc, arrays, dtype, casting)
    if ufunc.signature is None:
        _check_broadcast(arrays)
    cast = [cast_to(a, d) for a, d in zip(arrays, loop[: ufunc.nin], strict=True)]
    if where is not True and ufunc.__name__ not in HARMLESS:
        cast = [_kept_harmless(a, where, ufunc.__name__) for a in cast]
    result = _known_result(ufunc, cast) or ELEMENTWISE[ufunc.__name__](*cast)
    results = [_own(r, arrays) for r in ((result,) if isinstance(result, Array) else result)]
    if out is None and where is True:
        return tuple(results) if ufunc.nout > 1 else results[0]
    outs = out if isinstance(out, tuple) else (out,) * ufunc.nout
    # Where outputs overlap, NumPy's first is written last.
    written = [write_out(r, o, where, casting) for r, o in zip(reversed(results), reversed(outs), strict=True)]
    return tuple(reversed(written)) if ufunc.nout > 1 else written[0]


def _none_taken(ufunc: np.ufunc) -> TraceError:
    """The error for None as an operand; NumPy's objects have truth values and are equal or not, and no more."""
    error = TraceError(
        f"None cannot be an operand of np.{ufunc.__name__}",
        place=tracing.user_place(),
        cure="Pass arrays or numbers.",
    )
    if ufunc not in _OF_OBJECTS:
        error.numpys = TypeError(error.what)
    return error


_OF_OBJECTS = frozenset({np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_not, np.logical_xor})


def _known_result(ufunc: np.ufunc, operands: Sequence[Array]) -> tuple[Array, ...] | None:
    """Return NumPy's result for known numbers in a converted function; None elsewhere."""
    known = known_arrays(operands)
    if known is None:
        return None
    found = tuple(Array(tracing.constant(f)) for f in as_list(ufunc(*known)))
    for each in found:
        each.contiguous = all(o.contiguous or o.ndim < 2 for o in operands)
    return found


HARMLESS = frozenset(
    {"absolute", "add", "copysign", "fabs", "fmax", "fmin", "maximum", "minimum", "negative", "subtract"}
)
"""Functions whose derivative is finite whatever their operands are."""


def _kept_harmless(operand: Array, where: Any, name: str) -> Array:
    """The operand with a number in the place of what `where=` leaves out.

    NumPy computes nothing there, so that a division by 0 must not give a gradient of 0 / 0 either.
    """
    if operand.dtype.kind not in "fiu":
        return operand
    safe = 2 if name == "arccosh" else 0.5 if operand.dtype.kind == "f" else 1
    return op.Where(array_like(where), operand, operand.dtype.type(safe))


COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


def _comparable(arrays: list[Array]) -> list[Array]:
    """The operands of a comparison: a Python integer that does not fit the other's dtype is an array of its own."""
    if all(a.dtype.kind in "iuO" for a in arrays):
        arrays = [_beyond(a) if a.dtype.kind == "O" else a for a in arrays]
    strong = [a.dtype for a in arrays if not a.weak]
    if not strong:
        return [Array(a.value) for a in arrays]  # of two Python integers NumPy would make objects
    if len(strong) != 1 or strong[0].kind not in "iu":
        return arrays
    return [Array(a.value) if a.weak and not _fits(a, strong[0]) else a for a in arrays]


def _beyond(array: Array) -> Array:
    """The infinity in the place of a Python integer that no dtype of integers holds."""
    known = array.known() if array.weak else None
    return array if known is None else Array(tracing.constant(np.asarray(math.copysign(math.inf, int(known)))))


def _fits(array: Array, dtype: np.dtype[Any]) -> bool:
    """Return whether a constant integer is in the range of an integer dtype; True for anything else."""
    known = array.known() if array.dtype.kind in "iu" and dtype.kind in "iu" else None
    return known is None or bool(np.iinfo(dtype).min <= int(known) <= np.iinfo(dtype).max)


def _own(result: Array, operands: Sequence[Array]) -> Array:
    """Return the result as an array of its own: writing to it writes to no operand, and it is not a Python number."""
    own = Array(result.value) if result.weak or any(result is a for a in operands) else result
    own.scalar = True
    return own


def _check_broadcast(arrays: Sequence[Array]) -> None:
    shapes = [shape for a in arrays if (shape := a.shape)]
    if len(shapes) < 2:
        return
    try:
        broadcast_shapes(*shapes)
    except ShapeError as error:
        error.place = tracing.user_place()
        raise


def loop_dtypes(
    ufunc: np.ufunc, arrays: Sequence[Array], dtype: npt.DTypeLike | None = None, casting: Casting = "same_kind"
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the inputs and outputs of the loop that NumPy would choose."""
    if any(a.dtype == BFLOAT16 for a in arrays):
        return _bfloat16_loop(ufunc, arrays)
    asked: list[Any] = [_promotable(a) for a in arrays]
    chosen: dict[str, Any] = (
        {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout}
    )
    # NumPy 2.4 ends the process where one of Python's numbers cannot be cast as strictly as this.
    is_strict = casting in {"no", "equiv"}
    try:
        found = ufunc.resolve_dtypes(
            (*asked, *(None,) * ufunc.nout), casting="unsafe" if is_strict else casting, **chosen
        )
        if is_strict and not all(
            a.weak or np.can_cast(a.dtype, d, casting) for a, d in zip(arrays, found, strict=False)
        ):
            raise TypeError
        return found
    except TypeError:
        told = " and ".join(str(a.dtype) for a in arrays)
        raise DtypeError(f"np.{ufunc.__name__} does not take {told}", place=tracing.user_place()) from None


def _promotable(array: Array) -> Any:
    """The array's dtype, or the Python type of a weak number."""
    if not array.weak or array.dtype == np.bool_:
        return array.dtype
    return int if array.dtype.kind in "iu" else float


def _bfloat16_loop(ufunc: np.ufunc, arrays: Sequence[Array]) -> tuple[np.dtype[Any], ...]:
    """NumPy has no bfloat16 loops: the float32 loop's dtypes, float32 replaced by bfloat16."""
    asked = [np.dtype(np.float32) if a.dtype == BFLOAT16 else _promotable(a) for a in arrays]
    found = ufunc.resolve_dtypes((*asked, *(None,) * ufunc.nout))
    return tuple(BFLOAT16 if d == np.float32 else d for d in found)


def cast_to(x: Array, dtype: npt.DTypeLike) -> Array:
    """`x` in this dtype. Raises DtypeError for Python's numbers that a dtype of integers does not hold."""
    wanted = np.dtype(dtype)
    if x.dtype == wanted:
        return x
    if not is_held(wanted):
        raise DtypeError(f"arrays of dtype {wanted} cannot be part of a program", place=tracing.user_place())
    known = None if x.dtype.kind == "c" else x.known()
    if known is not None:
        if x.weak and wanted.kind in "iu":
            check_fits(known, wanted)
        if isinstance(x.value, Const):
            return Array(Const(converted(x.value, wanted), place=x.value.place))
        return Array(Const(known.astype(wanted)))
    if wanted.kind in "SUT" and x.dtype.kind in "biuf":
        raise DtypeError(
            "numbers that only the run knows have no text in a program",
            place=tracing.user_place(),
            cure="Return the numbers from the function, and write them as text outside.",
        )
    if wanted.isbuiltin == 2 and wanted != BFLOAT16:
        return to_few_bits(x, wanted)
    return op.Cast(x, to=wanted)


def wrapped_to(x: Array, dtype: npt.DTypeLike) -> Array:
    """`x` in this dtype, in which Python's integers wrap as others do: as np.where and np.select have it."""
    return cast_to(Array(x.value), dtype)


def check_fits(numbers: "npt.NDArray[Any]", dtype: np.dtype[Any]) -> None:
    """Raise DtypeError where a dtype of integers does not hold these numbers of Python's, as NumPy OverflowError."""
    limits = np.iinfo(dtype)
    for number in numbers.ravel().tolist():
        if not limits.min - 1 < number < limits.max + 1:
            raise out_of_bounds(number, dtype)


def out_of_bounds(number: Any, dtype: np.dtype[Any]) -> DtypeError:
    """The error for a number of Python's that a dtype of integers does not hold."""
    kind = "integer" if isinstance(number, int) else "number"
    error = DtypeError(f"the Python {kind} {number} is out of bounds for {dtype}", place=tracing.user_place())
    error.numpys = (ValueError if math.isnan(number) else OverflowError)(error.what)
    return error


def plain_out(what: str, target: Any) -> DtypeError:
    """The error for traced values that are written to `target`, a NumPy array."""
    made = made_at(target)
    error = DtypeError(
        what,
        place=tracing.user_place(),
        cure=(
            "Write to a copy, made by table.copy(), and return it; what is kept from call to call is a ps.state."
            if is_converted() and made is None
            else "Make it from a traced array, np.zeros_like(x) say; what is kept from call to call is a ps.state."
        ),
    )
    error.again = True
    error.made_at = made
    return error


def write_out(result: Array, out: Any, where: Any, casting: Casting) -> Any:
    """Write `result` to `out` where `where` is True, and return it.

    An `out` that is not traced cannot be written to.
    """
    if out is None:
        return select(where, result, zeros_like(result))
    if isinstance(out, Held):
        out = out.read()
    if not isinstance(out, Array):
        raise plain_out("out= is a NumPy array, which a traced result cannot be written to", out)
    if not np.can_cast(result.dtype, out.dtype, casting=casting):
        raise DtypeError(
            f"cannot write {result.dtype} into an array of {out.dtype} with casting {casting!r}",
            place=tracing.user_place(),
        )
    wide = fitted(cast_to(result, out.dtype), out.shape)
    out.assign(wide if where is True else select(where, wide, out))
    return out


def select(condition: Any, x: Array, y: Array) -> Array:
    """`x` where the condition holds, else `y`."""
    if condition is True:
        return x
    return op.Where(array_like(condition), x, y)


def call(function: Any, *args: Any, **options: Any) -> Any:
    """A NumPy function on arguments of which any may be traced: what the function itself dispatches to."""
    return FUNCTIONS[function](*args, **options)
